import BluetoothKernel
import BluetoothPrimitives
import HCI

extension Controller {
    /// Carries out a command and sends the events that answer it.
    ///
    /// - Returns: how the command ended, or how it began where more follows.
    @discardableResult
    func perform(_ command: HCICommand) -> HCIStatus {
        guard isRunning, !isSilent else { return .hardwareFailure }
        if let family = command.family {
            guard family == configuration.family, usedFamily ?? family == family else {
                return answer(command, .commandDisallowed)
            }
            usedFamily = family
        }
        switch command {
        case .reset:
            reset()
            return answer(command, .success)
        case .setEventMask, .leSetEventMask: return answer(command, .success)
        case .readLocalVersionInformation: return answer(command, .versionInformation(configuration.version))
        case .readLocalSupportedCommands: return answer(command, .supportedCommands(configuration.commands))
        case .readLocalSupportedFeatures:
            return answer(command, .supportedFeatures(configuration.linkManagerFeatures))
        case .readBDADDR: return answer(command, .address(publicAddress))
        case .leReadLocalSupportedFeatures: return answer(command, .leFeatures(configuration.features))
        case .leSetRandomAddress(let address):
            guard !scan.isEnabled, legacy.advertiser?.isEnabled != true else {
                return answer(command, .commandDisallowed)
            }
            randomAddress = address
            return answer(command, .success)
        case .leClearFilterAcceptList, .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList:
            return answer(command, changeAcceptList(command))
        case .leSetScanParameters, .leSetScanEnable, .leSetExtendedScanParameters, .leSetExtendedScanEnable:
            return answer(command, performScan(command))
        case .leCreateConnection, .leExtendedCreateConnection, .leCreateConnectionCancel:
            return performInitiation(command)
        case .disconnect, .readRSSI, .readTransmitPowerLevel, .leConnectionUpdate, .leReadRemoteFeatures,
            .leSetDataLength, .leReadPHY,
            .leSetPHY:
            return performOnLink(command)
        case .unknown: return answer(command, .unknownHCICommand)
        default: return performAdvertising(command)
        }
    }

    /// Command Complete with a status, or Command Status for the commands that answer with one.
    @discardableResult
    func answer(_ command: HCICommand, _ status: HCIStatus) -> HCIStatus {
        if command.isAnsweredByStatus {
            emit(.commandStatus(HCICommandStatus(status: status, opcode: command.opcode)))
        } else {
            answer(command, .status(status))
        }
        return status
    }

    @discardableResult
    func answer(_ command: HCICommand, _ parameters: HCIReturnParameters) -> HCIStatus {
        // Every answer fits.
        if let packet = try? parameters.commandComplete(command.opcode) { emit(packet) }
        if case .status(let status) = parameters { return status }
        return .success
    }

    // MARK: Accept list

    private func changeAcceptList(_ command: HCICommand) -> HCIStatus {
        // Not while it is in use (Core Vol 4 Part E §7.8.16).
        let isUsed =
            (scan.isEnabled && scan.filterPolicy.rawValue & 1 == 1)
            || (initiation.map { $0.peer == nil } ?? false)
        guard !isUsed else { return .commandDisallowed }
        switch command {
        case .leAddDeviceToFilterAcceptList(let entry):
            if !acceptList.contains(entry) { acceptList.append(entry) }
        case .leRemoveDeviceFromFilterAcceptList(let entry): acceptList.removeAll { $0 == entry }
        default: acceptList = []
        }
        return .success
    }

    // MARK: Scanning

    private func performScan(_ command: HCICommand) -> HCIStatus {
        switch command {
        case .leSetScanParameters(let parameters):
            return setScan(parameters.timing, nil, policy: parameters.filterPolicy)
        case .leSetExtendedScanParameters(let parameters):
            guard parameters.leCoded == nil || configuration.hasCoded else {
                return .unsupportedFeatureOrParameterValue
            }
            return setScan(parameters.le1M, parameters.leCoded, policy: parameters.filterPolicy)
        case .leSetScanEnable(let isOn, let duplicates):
            return setScanEnabled(isOn, isExtended: false, duplicates: duplicates, duration: 0)
        case .leSetExtendedScanEnable(let enable):
            return setScanEnabled(
                enable.isEnabled, isExtended: true, duplicates: enable.duplicates,
                duration: enable.period == 0 ? enable.duration : 0)
        default: return .unknownHCICommand
        }
    }

    private func setScan(
        _ timing: LEScanTiming?, _ coded: LEScanTiming?, policy: LEScanFilterPolicy
    ) -> HCIStatus {
        guard !scan.isEnabled else { return .commandDisallowed }
        let timings = [timing, coded].compactMap { $0 }
        guard !timings.isEmpty,
            timings.allSatisfy({ $0.interval >= 4 && $0.window >= 4 && $0.window <= $0.interval })
        else { return .invalidHCICommandParameters }
        scan.timing = timing
        scan.coded = coded
        scan.filterPolicy = policy
        return .success
    }

    private func setScanEnabled(
        _ isOn: Bool, isExtended: Bool, duplicates: LEDuplicateFilter, duration: UInt16
    ) -> HCIStatus {
        // Switching off what is off is refused; switching on what is on begins anew.
        guard isOn || scan.isEnabled else { return .commandDisallowed }
        scan.isEnabled = isOn
        scan.isExtended = isExtended
        scan.duplicates = duplicates
        scan.reported = []
        scan.end?.cancel()
        scan.end = nil
        if isOn, duration > 0 {
            scan.end = world.schedule(after: .milliseconds(10) * Int(duration)) { [unowned self] in
                scan.isEnabled = false
                world.updateAdvertising()
                emit(.leMeta(.scanTimeout))
            }
        }
        world.updateAdvertising()
        return .success
    }

    // MARK: Initiating

    private func performInitiation(_ command: HCICommand) -> HCIStatus {
        switch command {
        case .leCreateConnection(let parameters):
            return initiate(
                command,
                Initiation(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: address(parameters.ownAddressType), parameters: parameters.parameters,
                    isExtended: false))
        case .leExtendedCreateConnection(let parameters):
            guard let phy = parameters.le1M ?? parameters.le2M ?? parameters.leCoded else {
                return answer(command, .invalidHCICommandParameters)
            }
            return initiate(
                command,
                Initiation(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: address(parameters.ownAddressType), parameters: phy.parameters, isExtended: true))
        default:
            guard let cancelled = initiation else { return answer(command, .commandDisallowed) }
            initiation = nil
            world.updateAdvertising()
            answer(command, .success)
            emit(
                .leMeta(
                    .enhancedConnectionComplete(
                        LEConnectionComplete(
                            status: .unknownConnectionIdentifier, handle: 0, role: .central,
                            peer: LEPeerAddress(cancelled.peer ?? .zero),
                            parameters: LEActiveConnectionParameters(
                                interval: 0, latency: 0, supervisionTimeout: 0)))))
            return .success
        }
    }

    private func initiate(_ command: HCICommand, _ wanted: Initiation) -> HCIStatus {
        guard initiation == nil else { return answer(command, .commandDisallowed) }
        if let peer = wanted.peer, world.links(of: self).contains(where: { $0.peerAddress == peer }) {
            return answer(command, .connectionAlreadyExists)
        }
        guard wanted.parameters.isValid else { return answer(command, .invalidHCICommandParameters) }
        initiation = wanted
        world.updateAdvertising()
        return answer(command, .success)
    }

    // MARK: Links

    private func performOnLink(_ command: HCICommand) -> HCIStatus {
        guard let handle = command.connectionHandle, let end = end(of: handle) else {
            return answer(command, .unknownConnectionIdentifier)
        }
        switch command {
        case .disconnect(_, let reason):
            answer(command, .success)
            end.disconnect(reason: reason)
        case .readRSSI:
            answer(command, .rssi(handle, end.other.side.node.signalStrength))
        case .readTransmitPowerLevel:
            answer(command, .transmitPower(handle, configuration.transmitPower))
        case .leReadPHY:
            answer(command, .phys(LEPHYUpdate(handle: handle, transmit: end.link.phy, receive: end.link.phy)))
        case .leReadRemoteFeatures:
            answer(command, .success)
            // The question goes out at one connection event, the answer comes at a later one.
            end.send(
                .procedure {
                    end.other.send(
                        .procedure { [weak self] in
                            guard let self else { return }
                            emit(
                                .leMeta(
                                    .readRemoteFeaturesComplete(
                                        LERemoteFeatures(handle: handle, features: configuration.features))))
                            host?.receivedRemoteFeatures(end)
                        })
                })
        case .leConnectionUpdate(_, let parameters, _):
            guard parameters.isValid else { return answer(command, .invalidHCICommandParameters) }
            answer(command, .success)
            changeParameters(end, to: parameters)
        case .leSetDataLength(_, let octets, _):
            guard (27...251).contains(octets) else { return answer(command, .invalidHCICommandParameters) }
            answer(command, .dataLengthSet(handle))
            // Told only when it is news (Core Vol 4 Part E §7.7.65.7).
            if octets != end.link.dataLength { change(end, .dataLength) { $0.dataLength = octets } }
        case .leSetPHY(_, let preference):
            answer(command, .success)
            let both = supportedPHYs.intersection(end.other.side.node.supportedPHYs)
            let wanted = (preference.transmit ?? both).intersection(preference.receive ?? both).intersection(both)
            // The fastest that both want; a link keeps what it has when there is none. Told in any case, as it was asked
            // for (§7.7.65.12).
            let phy: LEPHY? =
                wanted.contains(.le2M)
                ? .le2M : wanted.contains(.le1M) ? .le1M : wanted.contains(.leCoded) ? .leCoded : nil
            change(end, .phy) { $0.phy = phy ?? $0.phy }
        default: break
        }
        return .success
    }

    /// Changes a link's rhythm six connection events from now, when both sides are sure to know of it, unless the peer
    /// refuses (Core Vol 6 Part B §5.1.1).
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

    /// Changes a link at the next connection event and tells both sides.
    private func change(_ end: LinkEnd, _ change: LinkChange, _ action: @escaping (Link) -> Void) {
        end.send(
            .procedure {
                action(end.link)
                for end in end.link.ends { end.side.node.linkChanged(end, change) }
            })
    }
}

extension LEConnectionParameters {
    /// Whether a controller takes them (Core Vol 4 Part E §7.8.12).
    var isValid: Bool {
        guard (6...3200).contains(intervalMinimum), (intervalMinimum...3200).contains(intervalMaximum),
            latency <= 499, (10...3200).contains(supervisionTimeout)
        else { return false }
        // In units of 1.25 ms: twice the longest silence has to fit into the supervision time-out.
        return Int(supervisionTimeout) * 8 > (1 + Int(latency)) * Int(intervalMaximum) * 2
    }
}

extension HCICommand {
    /// Which generation it belongs to, if it matters.
    var family: HCICommandFamily? {
        switch self {
        case .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
            .leSetScanParameters, .leSetScanEnable, .leCreateConnection:
            return .legacy
        case .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
            .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet,
            .leClearAdvertisingSets, .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets,
            .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection:
            return .extended
        default: return nil
        }
    }

    /// Whether Command Status answers it, and another event follows later.
    var isAnsweredByStatus: Bool {
        switch self {
        case .disconnect, .leCreateConnection, .leExtendedCreateConnection, .leConnectionUpdate,
            .leReadRemoteFeatures, .leSetPHY:
            return true
        // A controller answers commands it does not know with Command Status as well.
        case .unknown: return true
        default: return false
        }
    }

    /// The connection it is about.
    var connectionHandle: ConnectionHandle? {
        switch self {
        case .disconnect(let handle, _), .readRSSI(let handle), .readTransmitPowerLevel(let handle, _),
            .leConnectionUpdate(let handle, _, _),
            .leReadRemoteFeatures(let handle), .leSetDataLength(let handle, _, _), .leReadPHY(let handle),
            .leSetPHY(let handle, _):
            return handle
        default: return nil
        }
    }
}
