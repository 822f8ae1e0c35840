import BluetoothHCI

extension Controller {
    /// Performs a command about one of the controller's links; nil for another command.
    func performOnLink(_ command: AnyHCICommand) -> HCIStatus? {
        guard let handle = command.connectionHandle else { return nil }
        guard let end = end(of: handle) else { return answer(command, .unknownConnectionIdentifier) }
        switch command.opcode {
        case HCIReadRSSI.opcode:
            return answer(HCIReadRSSI.self, HCILinkPower(handle: handle, power: end.other.side.node.signalStrength))
        case HCIReadTransmitPowerLevel.opcode:
            return answer(
                HCIReadTransmitPowerLevel.self, HCILinkPower(handle: handle, power: configuration.transmitPower))
        case LEReadPHY.opcode: return answer(LEReadPHY.self, phys(of: end))
        case LEReadRemoteFeatures.opcode:
            answer(command, .success)
            // The request goes out at one connection event, the response comes at a later one.
            end.ask { end.receive(.featuresReceived) }
            return .success
        default: break
        }
        if let disconnect = command.as(HCIDisconnect.self) {
            answer(command, .success)
            end.disconnect(reason: disconnect.reason)
        } else if let update = command.as(LEConnectionUpdate.self), update.parameters.isValid {
            answer(command, .success)
            changeParameters(end, to: update.parameters)
        } else if let length = command.as(LESetDataLength.self), (27...251).contains(length.octets),
            (328...17040).contains(length.time)
        {
            answer(LESetDataLength.self, handle)
            let limits = DataLengthLimits(octets: Int(length.octets), time: Int(length.time))
            // Reported if it is another data length than before (Core Vol 4 Part E §7.7.65.7).
            end.ask { end.link.change { _ in end.side.transmitLimits = limits } }
        } else if let preference = command.as(LESetPHY.self)?.preference {
            answer(command, .success)
            changePHY(end, preference)
        } else {
            return answer(command, .invalidHCICommandParameters)
        }
        return .success
    }

    /// The PHYs of a link; the simulated ones are the same in both directions.
    func phys(of end: LinkEnd) -> LELinkPHYs {
        LELinkPHYs(handle: end.handle, transmit: end.link.phy, receive: end.link.phy)
    }

    /// Changes a link's parameters after six connection events, when both sides are sure to have the instant, unless
    /// the peer refuses (Core Vol 6 Part B §5.1.1).
    private func changeParameters(_ end: LinkEnd, to parameters: LEConnectionParameters) {
        if let refusal = end.other.side.node.parameterRefusal {
            return end.ask { [weak self] in
                self?.emit(
                    LEConnectionUpdateComplete(status: refusal, handle: end.handle, parameters: end.link.parameters))
            }
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
        end.ask {
            guard let phy, phy != end.link.phy else { return end.link.change(.phy) { _ in } }
            end.link.atInstant { end.link.change(.phy) { $0.phy = phy } }
        }
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

extension AnyHCICommand {
    /// The connection that it is about; nil for a command that is about none.
    fileprivate var connectionHandle: ConnectionHandle? {
        switch opcode {
        case HCIDisconnect.opcode, HCIReadRSSI.opcode, HCIReadTransmitPowerLevel.opcode, LEConnectionUpdate.opcode,
            LEReadRemoteFeatures.opcode, LESetDataLength.opcode, LEReadPHY.opcode, LESetPHY.opcode:
            var reader = ByteReader(parameters.span.bytes)
            return try? reader.read()
        default: return nil
        }
    }
}
