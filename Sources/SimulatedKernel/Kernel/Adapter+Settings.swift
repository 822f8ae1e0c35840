import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

extension Adapter {
    /// How long powering on or off takes.
    private static let powerLatency = Duration.milliseconds(5)

    /// Carries out a management command.
    func perform(_ command: ManagementCommand, for request: ManagementRequest) {
        switch command {
        case .readControllerInformation: request.complete(.controllerInformation(information))
        case .setPowered(let isOn): setPowered(isOn, for: request)
        case .setConnectable(let isOn): change(request) { $0.configured.isConnectable = isOn }
        case .setBondable(let isOn): change(request) { $0.configured.isBondable = isOn }
        case .setLowEnergy(let isOn): setLowEnergy(isOn, for: request)
        case .setBREDR(let isOn): setBREDR(isOn, for: request)
        case .setSecureSimplePairing(let isOn):
            guard controller.configuration.isDualMode else { return request.fail(.notSupported) }
            guard configured.isBREDREnabled else { return request.fail(.rejected) }
            change(request) { $0.configured.isSSPEnabled = isOn }
        case .setSecureConnections(let mode):
            guard configured.isLEEnabled else { return request.fail(.notSupported) }
            guard !configured.isBREDREnabled || configured.isSSPEnabled else { return request.fail(.rejected) }
            guard mode.rawValue <= SecureConnectionsMode.only.rawValue else { return request.fail(.invalidParameters) }
            change(request) { adapter in
                adapter.configured.isSecureConnectionsEnabled = mode != .off
                adapter.configured.isSecureConnectionsOnly = mode == .only
            }
        case .setStaticAddress(let address):
            guard controller.configuration.hasLE else { return request.fail(.notSupported) }
            guard !isRunning else { return request.fail(.rejected) }
            guard address.isZero || address.randomKind == .static else { return request.fail(.invalidParameters) }
            change(request) { $0.configured.staticAddress = address.isZero ? nil : address }
        case .setPrivacy(let mode, let key):
            guard controller.configuration.hasLE else { return request.fail(.notSupported) }
            guard mode.rawValue <= PrivacyMode.limited.rawValue else { return request.fail(.invalidParameters) }
            guard !isRunning else { return request.fail(.rejected) }
            change(request) { adapter in
                adapter.privacy = AdapterPrivacy(mode: mode, key: key)
                adapter.keys.exchangesIdentities = true
            }
        case .setIOCapability(let capability):
            guard capability.rawValue <= IOCapability.keyboardDisplay.rawValue else {
                return request.fail(.invalidParameters)
            }
            configured.ioCapability = capability
            request.complete()
        case .setAppearance: request.complete()
        case .loadLongTermKeys(let keys):
            // One that cannot be refuses the whole list.
            guard keys.allSatisfy({ $0.address.isIdentity && $0.encryptionSize <= 16 }) else {
                return request.fail(.invalidParameters)
            }
            self.keys.longTermKeys = keys
            request.complete()
        case .loadIdentityResolvingKeys(let keys):
            guard keys.allSatisfy(\.address.isIdentity) else { return request.fail(.invalidParameters) }
            self.keys.identityResolvingKeys = keys
            self.keys.exchangesIdentities = true
            request.complete()
        case .loadConnectionParameters(let all):
            keys.connectionParameters = [:]
            for parameters in all { keys.connectionParameters[parameters.address] = parameters }
            request.complete()
        case .startDiscovery, .stopDiscovery, .startServiceDiscovery: performDiscovery(command, for: request)
        case .setAdvertising, .readAdvertisingFeatures, .addAdvertising, .removeAdvertising,
            .addExtendedAdvertisingParameters, .addExtendedAdvertisingData:
            performAdvertising(command, for: request)
        default: performOnDevice(command, for: request)
        }
    }

    private var information: ControllerInformation {
        ControllerInformation(
            address: controller.publicAddress, bluetoothVersion: controller.configuration.version.hciVersion,
            manufacturer: controller.configuration.version.companyIdentifier, supportedSettings: supportedSettings,
            currentSettings: currentSettings, name: configured.localName)
    }

    /// Changes settings, answers with all of them, and tells the others if any is different.
    func change(_ request: ManagementRequest, _ body: (Adapter) -> Void) {
        let before = currentSettings
        body(self)
        request.complete(.settings(currentSettings))
        if currentSettings != before { settingsChanged(skipping: request.socket) }
    }

    private func setPowered(_ isOn: Bool, for request: ManagementRequest) {
        guard !isPowerChanging else { return request.fail(.busy) }
        guard isOn != isRunning else { return request.complete(.settings(currentSettings)) }
        guard !isOn || !isBlocked else { return request.fail(.failed) }
        isPowerChanging = true
        if !isOn { sayGoodbye() }
        world.schedule(after: Self.powerLatency) { [weak self] in
            guard let self, power.isPluggedIn else { return }
            isPowerChanging = false
            guard !isOn || !isBlocked else { return request.fail(.failed) }
            setPowered(isOn, skipping: request.socket)
            request.complete(.settings(currentSettings))
        }
    }

    private func setLowEnergy(_ isOn: Bool, for request: ManagementRequest) {
        guard controller.configuration.hasLE else { return request.fail(.notSupported) }
        guard isOn || configured.isBREDREnabled else { return request.fail(.rejected) }
        change(request) { adapter in
            adapter.configured.isLEEnabled = isOn
            if !isOn { adapter.removeAllAdvertising() }
        }
    }

    private func setBREDR(_ isOn: Bool, for request: ManagementRequest) {
        guard controller.configuration.isDualMode else { return request.fail(.notSupported) }
        guard configured.isLEEnabled else { return request.fail(.rejected) }
        guard isOn != configured.isBREDREnabled else { return request.complete(.settings(currentSettings)) }
        guard isOn || !isRunning else { return request.fail(.rejected) }
        guard !isOn || configured.staticAddress == nil || !isRunning else { return request.fail(.rejected) }
        change(request) { adapter in
            adapter.configured.isBREDREnabled = isOn
            if !isOn { adapter.configured.isSSPEnabled = false }
        }
    }

    // MARK: Devices

    private func performOnDevice(_ command: ManagementCommand, for request: ManagementRequest) {
        switch command {
        case .disconnect(let device): disconnect(device, for: request)
        case .getConnections:
            guard isRunning else { return request.fail(.notPowered) }
            request.complete(
                .connections(connections.filter { $0.end != nil }.map { ManagementAddress($0.peer) }))
        case .getConnectionInformation(let device): getConnectionInformation(device, for: request)
        case .addDevice(let device, let action): addDevice(device, action, for: request)
        case .removeDevice(let device):
            if device == .any {
                autoConnected = []
            } else {
                guard addedDevices.contains(device) else {
                    return request.complete(.device(device), status: .invalidParameters)
                }
                autoConnected.removeAll { $0 == device.address }
            }
            addedDevices = device == .any ? [] : addedDevices.filter { $0 != device }
            updatePassiveScan()
            request.complete(.device(device))
            send(.deviceRemoved(device), skipping: request.socket)
        default: performPairing(command, for: request)
        }
    }

    private func disconnect(_ device: ManagementAddress, for request: ManagementRequest) {
        guard isRunning else { return request.complete(.device(device), status: .notPowered) }
        guard let connection = connections.first(where: { $0.peer == device.address }) else {
            return request.complete(.device(device), status: .notConnected)
        }
        guard connection.requestEnd({ request.complete(.device(device)) }) else {
            return request.complete(.device(device), status: .busy)
        }
        if let end = connection.end {
            perform(.disconnect(end.handle, reason: .remoteUserTerminatedConnection))
        } else {
            cancelInitiation(of: connection)
            remove(connection, error: .connectionReset)
        }
    }

    private func getConnectionInformation(_ device: ManagementAddress, for request: ManagementRequest) {
        let none = ConnectionInformation(
            address: device, rssi: nil, transmitPower: nil, maximumTransmitPower: nil)
        guard isRunning else { return request.complete(.connectionInformation(none), status: .notPowered) }
        guard let end = connections.first(where: { $0.peer == device.address })?.end else {
            return request.complete(.connectionInformation(none), status: .notConnected)
        }
        request.complete(
            .connectionInformation(
                ConnectionInformation(
                    address: device, rssi: end.other.side.node.signalStrength, transmitPower: 0,
                    maximumTransmitPower: nil)))
    }

    private func addDevice(_ device: ManagementAddress, _ action: AddDeviceAction, for request: ManagementRequest) {
        guard action.rawValue <= AddDeviceAction.autoConnect.rawValue, device.isLowEnergy,
            device.address.kind == .public || device.address.randomKind == .static
        else { return request.complete(.device(device), status: .invalidParameters) }
        if !addedDevices.contains(device) { addedDevices.append(device) }
        autoConnected.removeAll { $0 == device.address }
        if action == .autoConnect { autoConnected.append(device.address) }
        updatePassiveScan()
        request.complete(.device(device))
        send(.deviceAdded(device, action), skipping: request.socket)
    }
}
