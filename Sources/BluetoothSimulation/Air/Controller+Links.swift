import BluetoothPrimitives
import BluetoothHCI

extension Controller {
    /// The commands about one of the controller's links.
    func performOnLink(_ command: HCICommand) -> HCIStatus {
        guard let handle = command.connectionHandle, let end = end(of: handle) else {
            return answer(command, .unknownConnectionIdentifier)
        }
        switch command {
        case .disconnect(_, let reason):
            answer(command, .success)
            end.disconnect(reason: reason)
        case .readRSSI: answer(command, .rssi(handle, end.other.side.node.signalStrength))
        case .readTransmitPowerLevel: answer(command, .transmitPower(handle, configuration.transmitPower))
        case .leReadPHY:
            answer(command, .phys(LEPHYUpdate(handle: handle, transmit: end.link.phy, receive: end.link.phy)))
        case .leReadRemoteFeatures:
            answer(command, .success)
            // The request goes out at one connection event, the response comes at a later one.
            end.send(.procedure { end.other.send(.procedure { [weak self] in self?.receivedRemoteFeatures(end) }) })
        case .leConnectionUpdate(_, let parameters, _):
            guard parameters.isValid else { return answer(command, .invalidHCICommandParameters) }
            answer(command, .success)
            changeParameters(end, to: parameters)
        case .leSetDataLength(_, let octets, let time):
            guard (27...251).contains(octets), (328...17040).contains(time) else {
                return answer(command, .invalidHCICommandParameters)
            }
            answer(command, .dataLengthSet(handle))
            let limits = DataLengthLimits(octets: Int(octets), time: Int(time))
            end.send(
                .procedure {
                    end.other.send(.procedure { end.link.changeDataLength(of: end, to: limits) })
                })
        case .leSetPHY(_, let preference):
            answer(command, .success)
            changePHY(end, preference)
        default: break
        }
        return .success
    }

    /// Changes a link's parameters after six connection events, when both sides are sure to have the instant, unless
    /// the peer refuses (Core Vol 6 Part B §5.1.1).
    private func changeParameters(_ end: LinkEnd, to parameters: LEConnectionParameters) {
        if let refusal = end.other.side.node.parameterRefusal {
            end.send(
                .procedure {
                    end.other.send(
                        .procedure { [weak self] in
                            self?.emit(
                                .leMeta(
                                    .connectionUpdateComplete(
                                        LEConnectionUpdateComplete(
                                            status: refusal, handle: end.handle, parameters: end.link.parameters))))
                        })
                })
            return
        }
        end.send(
            .procedure {
                end.link.atInstant {
                    end.link.change(.parameters) {
                        $0.setParameters(
                            LEActiveConnectionParameters(
                                interval: parameters.intervalMinimum, latency: parameters.latency,
                                supervisionTimeout: parameters.supervisionTimeout))
                    }
                }
            })
    }

    /// Changes a link's PHY after six connection events to the fastest one that both sides prefer; it keeps its own when
    /// there is none. Reported in any case, as it was requested (Core Vol 4 Part E §7.7.65.12).
    private func changePHY(_ end: LinkEnd, _ preference: LEPHYPreference) {
        let both = supportedPHYs.intersection(end.other.side.node.acceptedPHYs)
        let wanted = (preference.transmit ?? both).intersection(preference.receive ?? both).intersection(both)
        let phy: LEPHY? =
            wanted.contains(.le2M)
            ? .le2M : wanted.contains(.le1M) ? .le1M : wanted.contains(.leCoded) ? .leCoded : nil
        end.side.prefersS2 = preference.codedOptions == 0 ? nil : preference.codedOptions == 1
        end.send(
            .procedure {
                end.other.send(
                    .procedure {
                        guard let phy, phy != end.link.phy else { return end.link.change(.phy) { _ in } }
                        end.link.atInstant { end.link.change(.phy) { $0.phy = phy } }
                    })
            })
    }
}

extension LEConnectionParameters {
    /// Whether a controller accepts the parameters (Core Vol 4 Part E §7.8.12).
    var isValid: Bool {
        guard (6...3200).contains(intervalMinimum), (intervalMinimum...3200).contains(intervalMaximum), latency <= 499,
            (10...3200).contains(supervisionTimeout)
        else { return false }
        // In units of 1.25 ms: twice the longest silence must fit into the supervision timeout.
        return Int(supervisionTimeout) * 8 > (1 + Int(latency)) * Int(intervalMaximum) * 2
    }
}
