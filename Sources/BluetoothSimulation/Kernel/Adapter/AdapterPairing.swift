import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// An adapter's side of pairings: its features, the questions to its programs, and their commands.
final class AdapterPairing: PairingParty {
    private unowned let adapter: SimulatedAdapter
    private(set) var localOutOfBandValues: OutOfBandValues?
    /// By the address of a device: the values that a program has set.
    private var remoteOutOfBandValues: [BluetoothAddress: OutOfBandValues] = [:]
    /// The longest encryption key that the kernel offers, in bytes.
    var maximumKeySize: UInt8 = 16

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    private var connections: AdapterConnections { adapter.connections }

    func pairingFeatures(for level: SecurityLevel, on end: LinkEnd) -> PairingFeatures {
        let settings = adapter.settings
        // A link keeps the one that it began with.
        let ioCapability = connections.connection(of: end)?.security.ioCapability ?? settings.ioCapability
        return PairingFeatures(
            ioCapability: ioCapability,
            // The kernel requests MITM protection whenever its user interface allows it.
            requiresProtection: level >= .high || ioCapability != .noInputNoOutput,
            hasSecureConnections: settings.secureConnections != .off,
            needsSecureConnections: settings.secureConnections == .only,
            bonds: settings.isBondable, maximumKeySize: maximumKeySize)
    }

    func outOfBandValues(on end: LinkEnd) -> OutOfBandValues? {
        connections.connection(of: end).flatMap { remoteOutOfBandValues[$0.peer] }
    }

    func respond(to pairing: Pairing, on end: LinkEnd) -> PairingResponse {
        guard let connection = connections.connection(of: end) else { return .refuse }
        connection.security.pairing = pairing
        return .accept(pairingFeatures(for: .medium, on: end))
    }

    func ask(_ question: SimulatedPairingQuestion, for pairing: Pairing, on end: LinkEnd) {
        guard let connection = connections.connection(of: end) else { return }
        let peer = ManagementAddress(connection.peer)
        switch question {
        case .confirm(let value, let isSimple):
            adapter.send(ManagementUserConfirmationRequest(peer, isSimple: isSimple, value: value))
        case .enterPasskey: adapter.send(ManagementUserPasskeyRequest(peer))
        case .showPasskey(let passkey):
            adapter.send(ManagementPasskeyNotify(peer, passkey: passkey, enteredCount: 0))
            pairing.answer(.yes, from: end)
        }
    }

    func ended(_ pairing: Pairing, _ outcome: SimulatedPairingOutcome, on end: LinkEnd) {
        connections.connection(of: end)?.security.ended(pairing, outcome, on: end)
    }

    func key(on end: LinkEnd) -> LongTermKey? {
        guard let connection = connections.connection(of: end) else { return nil }
        return adapter.keys.longTermKey(of: connection.peer, isCentral: connection.isCentral)
    }

    func securityRequested(_ level: SecurityLevel, bonds: Bool, on end: LinkEnd) {
        connections.connection(of: end)?.security.peerRequests(level, bonds: bonds, on: end)
    }

    func securityRefused(on end: LinkEnd) { connections.connection(of: end)?.security.refused() }

    // MARK: Commands

    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        switch command {
        case let command as ManagementPairDevice: pair(command.value.address, command.value.detail, for: request)
        case let command as ManagementCancelPairDevice:
            let device = command.value
            guard
                let connection = connections.all.first(where: {
                    $0.peer == device.address && $0.security.isAwaited
                })
            else { return request.fail(.invalidParameters, device) }
            connection.security.cancel()
            request.complete(device)
        case let command as ManagementUnpairDevice: unpair(command.address, command.disconnects, for: request)
        case let command as ManagementUserConfirmationReply: answer(.yes, command.value, for: request)
        case let command as ManagementUserConfirmationNegativeReply: answer(.no, command.value, for: request)
        case let command as ManagementUserPasskeyNegativeReply: answer(.no, command.value, for: request)
        case let command as ManagementUserPasskeyReply:
            answer(.passkey(command.passkey), command.address, for: request)
        case let command as ManagementReadLocalOutOfBandExtendedData: readOutOfBandData(command.value, for: request)
        case let command as ManagementAddRemoteOutOfBandData:
            let device = command.address
            guard device.isLowEnergy else { return request.fail(.invalidParameters, device) }
            remoteOutOfBandValues[device.address] =
                command.confirmation == .zero || command.random == .zero
                ? nil : OutOfBandValues(command.confirmation, command.random)
            request.complete(device)
        case let command as ManagementRemoveRemoteOutOfBandData:
            let device = command.value
            // For BR/EDR only, or for all devices.
            guard device == .any else { return request.fail(.invalidParameters, device) }
            remoteOutOfBandValues = [:]
            request.complete(device)
        default: request.fail(.unknownCommand)
        }
    }

    /// Read Local Out Of Band Extended Data: new values, as AD structures in the kernel's order.
    private func readOutOfBandData(_ types: ManagementAddressTypes, for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered) }
        guard types == .lowEnergy else { return request.fail(.invalidParameters) }
        guard adapter.settings.isLEEnabled else { return request.fail(.rejected) }
        // The kernel demands Secure Simple Pairing of the controller, although LE does not use it.
        guard adapter.controller.configuration.isDualMode else { return request.fail(.notSupported) }
        // The private address is not known in advance.
        guard adapter.privacy.mode == .off else { return request.fail(.rejected) }
        let address = adapter.identityAddress
        var structures: [UInt8] = [8, 0x1B]
        structures += (0..<6).map { UInt8(truncatingIfNeeded: address.value >> (8 * UInt64($0))) }
        structures += [address.kind == .random ? 1 : 0, 2, 0x1C, 1]
        if adapter.settings.secureConnections != .off {
            let values = OutOfBandValues(
                .random(using: &adapter.world.generator), .random(using: &adapter.world.generator))
            localOutOfBandValues = values
            structures += [17, 0x22] + values.confirmation.bytes + [17, 0x23] + values.random.bytes
        }
        structures += [2, 0x01, 0x06]
        request.complete(ManagementReadLocalOutOfBandExtendedData.Reply(types, structures))
    }

    private func answer(_ answer: SimulatedPairingAnswer, _ device: ManagementAddress, for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered, device) }
        guard let connection = connections.connection(with: device.address), let end = connection.end else {
            return request.fail(.notConnected, device)
        }
        guard let pairing = connection.security.pairing else { return request.fail(.failed, device) }
        request.complete(device)
        pairing.answer(answer, from: end)
    }

    private func pair(_ device: ManagementAddress, _ capability: IOCapability, for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered, device) }
        guard adapter.settings.isLEEnabled, device.isLowEnergy else { return request.fail(.rejected, device) }
        if let key = adapter.keys.longTermKey(of: device.address, isCentral: true), key.value != .zero {
            return request.fail(.alreadyPaired, device)
        }
        adapter.settings.ioCapability = capability
        let known = connections.connection(with: device.address)
        guard known?.security.isAwaited != true else { return request.fail(.busy, device) }
        let connection = known ?? HostConnection(adapter: adapter, peer: device.address, isCentral: true)
        connection.security.pair { [weak connection] status in
            request.complete(device, status: status)
            connection?.dropIfUnused()
        }
        if known == nil { connections.add(connection) }
    }

    private func unpair(_ device: ManagementAddress, _ isDisconnecting: Bool, for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered, device) }
        guard adapter.keys.forget(device.address) else { return request.fail(.notPaired, device) }
        adapter.send(ManagementDeviceUnpaired(device), skipping: request.socket)
        guard isDisconnecting, let connection = connections.connection(with: device.address),
            let end = connection.end
        else { return request.complete(device) }
        connection.onEnd = { request.complete(device) }
        adapter.perform(HCIDisconnect(end.handle, reason: .remoteUserTerminatedConnection))
    }
}
