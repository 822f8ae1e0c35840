import BluetoothHCI
import BluetoothManagement

/// The settings that programs have made on an adapter.
final class AdapterSettings {
    private unowned let adapter: SimulatedAdapter
    private(set) var isLEEnabled: Bool
    private(set) var isBREDREnabled: Bool
    private(set) var isConnectable = false
    private(set) var isBondable = false
    private var isSSPEnabled = false
    private(set) var secureConnections = SecureConnectionsMode.off
    var ioCapability = IOCapability.noInputNoOutput
    private(set) var staticAddress: BluetoothAddress?
    private(set) var phys: PHYConfiguration {
        didSet { adapter.controller.preferredPHYs = phys.selected.lePHYs }
    }
    var localName: String { "simulated" }

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
        let controller = adapter.controller.configuration
        isLEEnabled = controller.hasLE && (controller.isLEEnabled || !controller.isDualMode)
        isBREDREnabled = controller.isDualMode
        phys = PHYConfiguration(of: controller)
    }

    /// Handles powering on.
    func poweredOn() { phys.selected = phys.supported }

    private var controller: SimulatedController { adapter.controller.configuration }

    // MARK: Commands

    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        switch command {
        case is ManagementReadControllerInformation: request.complete(information)
        case let command as ManagementSetConnectable: change(request) { isConnectable = command.value }
        case let command as ManagementSetBondable: change(request) { isBondable = command.value }
        case let command as ManagementSetLowEnergy: setLowEnergy(command.value, for: request)
        case let command as ManagementSetBREDR: setBREDR(command.value, for: request)
        case let command as ManagementSetSecureSimplePairing:
            guard controller.isDualMode else { return request.fail(.notSupported) }
            guard isBREDREnabled else { return request.fail(.rejected) }
            change(request) { isSSPEnabled = command.value }
        case let command as ManagementSetSecureConnections:
            let mode = command.value
            guard isLEEnabled else { return request.fail(.notSupported) }
            guard !isBREDREnabled || isSSPEnabled else { return request.fail(.rejected) }
            guard mode.rawValue <= SecureConnectionsMode.only.rawValue else { return request.fail(.invalidParameters) }
            change(request) { secureConnections = mode }
        case let command as ManagementSetStaticAddress:
            let address = command.value
            guard controller.hasLE else { return request.fail(.notSupported) }
            guard !adapter.isRunning else { return request.fail(.rejected) }
            guard address.isZero || address.randomKind == .static else { return request.fail(.invalidParameters) }
            change(request) { staticAddress = address.isZero ? nil : address }
        case let command as ManagementSetIOCapability:
            guard command.value.rawValue <= IOCapability.keyboardDisplay.rawValue else {
                return request.fail(.invalidParameters)
            }
            ioCapability = command.value
            request.complete()
        case is ManagementSetAppearance: request.complete()
        case is ManagementGetPHYConfiguration: request.complete(phys)
        case let command as ManagementSetPHYConfiguration:
            let refusal = phys.select(command.value, isPowered: adapter.isRunning)
            if let refusal { request.fail(refusal) } else { request.complete() }
        default: request.fail(.unknownCommand)
        }
    }

    private func setLowEnergy(_ isOn: Bool, for request: ManagementRequest) {
        guard controller.hasLE else { return request.fail(.notSupported) }
        guard isOn || isBREDREnabled else { return request.fail(.rejected) }
        change(request) {
            isLEEnabled = isOn
            if !isOn { adapter.advertising.removeAll() }
        }
    }

    private func setBREDR(_ isOn: Bool, for request: ManagementRequest) {
        guard controller.isDualMode else { return request.fail(.notSupported) }
        guard isLEEnabled else { return request.fail(.rejected) }
        guard isOn != isBREDREnabled else { return request.complete(current) }
        guard isOn || !adapter.isRunning else { return request.fail(.rejected) }
        guard !isOn || staticAddress == nil || !adapter.isRunning else { return request.fail(.rejected) }
        change(request) {
            isBREDREnabled = isOn
            if !isOn { isSSPEnabled = false }
        }
    }

    /// Changes settings, answers with all of them, and notifies the other sockets if any has changed.
    func change(_ request: ManagementRequest, _ body: () -> Void) {
        let before = current
        body()
        request.complete(current)
        if current != before { changed(skipping: request.socket) }
    }

    /// Notifies all sockets but the one that sent the command.
    func changed(skipping skipped: ManagementSocketState? = nil) {
        adapter.send(ManagementNewSettings(current), skipping: skipped)
    }

    // MARK: All settings

    private var information: ControllerInformation {
        ControllerInformation(
            address: adapter.controller.publicAddress, bluetoothVersion: controller.version.hciVersion,
            manufacturer: controller.version.companyIdentifier, supportedSettings: supported,
            currentSettings: current, name: localName)
    }

    private var supported: ManagementSettings {
        var settings: ManagementSettings = [.powered, .connectable, .discoverable, .bondable]
        if controller.hasLE {
            settings.formUnion([
                .lowEnergy, .advertising, .secureConnections, .privacy, .staticAddress, .debugKeys,
            ])
        }
        if controller.isDualMode {
            settings.formUnion([.brEDR, .fastConnectable, .linkSecurity, .secureSimplePairing, .secureConnections])
        }
        return settings
    }

    var current: ManagementSettings {
        var settings: ManagementSettings = []
        if adapter.isRunning { settings.insert(.powered) }
        if isConnectable { settings.insert(.connectable) }
        if isBondable { settings.insert(.bondable) }
        if isSSPEnabled { settings.insert(.secureSimplePairing) }
        if isBREDREnabled { settings.insert(.brEDR) }
        if isLEEnabled { settings.insert(.lowEnergy) }
        if adapter.advertising.isSettingOn { settings.insert(.advertising) }
        if secureConnections != .off { settings.insert(.secureConnections) }
        if adapter.privacy.mode != .off { settings.insert(.privacy) }
        if let staticAddress, adapter.identityAddress == staticAddress { settings.insert(.staticAddress) }
        return settings
    }
}
