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
        case .leSetDataLength(_, let octets, _):
            guard (27...251).contains(octets) else { return answer(command, .invalidHCICommandParameters) }
            answer(command, .dataLengthSet(handle))
            // Reported only if it has changed (Core Vol 4 Part E §7.7.65.7).
            if octets != end.link.dataLength { change(end, .dataLength) { $0.dataLength = octets } }
        case .leSetPHY(_, let preference):
            answer(command, .success)
            let both = supportedPHYs.intersection(end.other.side.node.supportedPHYs)
            let wanted = (preference.transmit ?? both).intersection(preference.receive ?? both).intersection(both)
            // The fastest PHY that both sides prefer; a link keeps its own when there is none. Reported in any case, as
            // it was requested (§7.7.65.12).
            let phy: LEPHY? =
                wanted.contains(.le2M)
                ? .le2M : wanted.contains(.le1M) ? .le1M : wanted.contains(.leCoded) ? .leCoded : nil
            change(end, .phy) { $0.phy = phy ?? $0.phy }
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
            .procedure { [world] in
                world.schedule(after: end.link.parameters.intervalDuration * 6) {
                    guard !end.link.isEnded else { return }
                    end.link.setParameters(
                        LEActiveConnectionParameters(
                            interval: parameters.intervalMinimum, latency: parameters.latency,
                            supervisionTimeout: parameters.supervisionTimeout))
                    for end in end.link.ends { end.side.node.linkChanged(end, .parameters) }
                }
            })
    }

    /// Changes a link at the next connection event and reports the change to both sides.
    private func change(_ end: LinkEnd, _ change: LinkChange, _ action: @escaping (Link) -> Void) {
        end.send(
            .procedure {
                action(end.link)
                for end in end.link.ends { end.side.node.linkChanged(end, change) }
            })
    }
}

extension LEConnectionParameters {
    /// Whether a controller accepts the parameters (Core Vol 4 Part E §7.8.12).
    var isValid: Bool {
        guard (6...3200).contains(intervalMinimum), (intervalMinimum...3200).contains(intervalMaximum), latency <= 499,
            (10...3200).contains(supervisionTimeout)
        else { return false }
        // In units of 1.25 ms: twice the longest silence must fit into the supervision time-out.
        return Int(supervisionTimeout) * 8 > (1 + Int(latency)) * Int(intervalMaximum) * 2
    }
}
