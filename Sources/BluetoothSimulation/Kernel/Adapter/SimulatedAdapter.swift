import BluetoothLoop
import BluetoothSockets
import BluetoothHCI
import BluetoothManagement

/// An adapter in the simulated kernel: its power, settings, links and raw sockets.
//
// Holds more than ten variables: the parts of an adapter, and the states of its power.
final class SimulatedAdapter {
    unowned let kernel: HostKernel
    let index: UInt16
    let controller: Controller
    var world: KernelWorld { kernel.world }

    private(set) var power: Power
    private(set) lazy var settings = AdapterSettings(adapter: self)
    private(set) lazy var privacy = AdapterPrivacy(adapter: self)
    let keys = KeyStore()
    private(set) lazy var devices = AdapterDevices(adapter: self)
    private(set) lazy var connections = AdapterConnections(adapter: self)
    private(set) lazy var pairing = AdapterPairing(adapter: self)
    private(set) lazy var discovery = Discovery(adapter: self)
    private(set) lazy var advertising = AdapterAdvertising(adapter: self)

    /// The presence and power of an adapter.
    struct Power {
        fileprivate(set) var isPluggedIn = true
        fileprivate(set) var isUp = false
        /// Whether it is being unplugged.
        fileprivate(set) var isLeaving = false
        /// The end of the time for which the kernel keeps a new adapter up to read it, though it is not powered.
        fileprivate var settlesAt: KernelInstant
        fileprivate(set) var isSoftBlocked = false
        fileprivate(set) var isHardBlocked = false
        /// Whether it is being powered on or off.
        fileprivate(set) var isChanging = false
    }

    /// The round trip of a raw command to the chip.
    private static let commandLatency = Duration.microseconds(300)
    /// The duration of powering on or off.
    private static let powerLatency = Duration.milliseconds(5)
    /// The time for which the kernel keeps a new adapter up that is not powered.
    private static let settlingTime = Duration.seconds(2)
    /// The time for which the kernel waits for a controller that does not answer.
    static let controllerPatience = Duration.seconds(10)

    init(
        kernel: HostKernel, index: UInt16, controller: SimulatedController, address: BluetoothAddress,
        fault: ControllerFault?, isSettled: Bool
    ) {
        self.kernel = kernel
        self.index = index
        self.controller = Controller(
            world: kernel.world, configuration: controller, address: address, fault: fault)
        power = Power(
            settlesAt: isSettled ? kernel.world.now : kernel.world.now.advanced(by: Self.settlingTime))
        self.controller.host = connections
    }

    /// Whether it is up and not unplugged.
    var isRunning: Bool { power.isUp && power.isPluggedIn }
    var isBlocked: Bool { power.isSoftBlocked || power.isHardBlocked }
    /// Whether it is new, and kept up by the kernel for a moment though not powered.
    var isSettling: Bool { power.isPluggedIn && !power.isUp && world.now < power.settlesAt }

    /// The adapter's identity address: the static one if there is no public one, or if BR/EDR is off.
    var identityAddress: BluetoothAddress {
        if let staticAddress = settings.staticAddress, controller.publicAddress.isZero || !settings.isBREDREnabled {
            return staticAddress
        }
        return controller.publicAddress
    }

    var ownAddressType: LEOwnAddressType {
        privacy.mode != .off || identityAddress.kind == .random ? .random : .public
    }

    // MARK: Power

    /// Handles plugging in: the kernel opens the adapter to read it, and closes it again if it is not powered on.
    func plugged() {
        monitorPlugged()
        guard isSettling else { return }
        monitorOpened(isOpen: false)
        world.schedule(after: Self.settlingTime) { [weak self] in
            guard let self, power.isPluggedIn, !power.isUp else { return }
            kernel.monitor.report(.closedIndex, adapter: index)
        }
    }

    /// Powers the adapter on or off.
    ///
    /// - Parameter linkError: the error of the sockets of links that end with it.
    func setPowered(
        _ isOn: Bool, linkError: ErrorNumber = .connectionAborted, skipping socket: ManagementSocketState? = nil
    ) {
        guard isOn != power.isUp else { return }
        if isOn {
            let isOpen = isSettling
            power.isUp = true
            monitorOpened(isOpen: isOpen)
            power.settlesAt = world.now
            controller.isRunning = true
            settings.poweredOn()
            if let staticAddress = settings.staticAddress { controller.randomAddress = staticAddress }
            privacy.begin()
        } else {
            connections.endAll(with: linkError)
            discovery.stop()
            if !power.isLeaving { advertising.powerOff() }
            privacy.end()
            power.isUp = false
            controller.isRunning = false
            controller.intervene(.powerOff)
            kernel.monitor.report(.closedIndex, adapter: index)
        }
        settings.changed(skipping: socket)
        if isOn {
            advertising.resume()
            connections.updatePassiveScan()
        }
    }

    func setBlocked(soft: Bool, hard: Bool) {
        guard soft != power.isSoftBlocked || hard != power.isHardBlocked else { return }
        power.isSoftBlocked = soft
        power.isHardBlocked = hard
        world.radioSwitchesChanged(of: kernel)
        if isBlocked, power.isUp { setPowered(false, linkError: .connectionReset) }
    }

    /// Set Powered.
    private func setPowered(_ isOn: Bool, for request: ManagementRequest) {
        guard !power.isChanging else { return request.fail(.busy) }
        guard isOn != isRunning else { return request.complete(settings.current) }
        guard !isOn || !isBlocked else { return request.fail(.failed) }
        power.isChanging = true
        if !isOn {
            stopScan()
            connections.terminateAll(after: Self.commandLatency)
        }
        world.schedule(after: Self.powerLatency) { [weak self] in
            guard let self, power.isPluggedIn else { return }
            power.isChanging = false
            guard !isOn || !isBlocked else { return request.fail(.failed) }
            guard !isOn || !controller.isSilent else {
                // The kernel waits for the controller.
                power.isChanging = true
                world.schedule(after: Self.controllerPatience) { [weak self] in
                    self?.power.isChanging = false
                    request.fail(.failed)
                }
                return
            }
            setPowered(isOn, skipping: request.socket)
            request.complete(settings.current)
        }
    }

    /// Intervenes as the ioctls and sysfs do; returns the error.
    func control(_ control: AdapterControl) -> ErrorNumber? {
        switch control {
        case .reset:
            guard power.isUp else { return .networkDown }
            connections.endAll(with: .connectionAborted)
            controller.intervene(.reset)
            controller.reset()
        case .down:
            controller.intervene(.takingDown)
            setPowered(false)
        case .up:
            guard !isBlocked else { return .radioBlocked }
            guard !controller.isSilent else { return .timedOut }
            setPowered(true)
        case .rebind: return nil
        }
        return controller.isSilent ? .timedOut : nil
    }

    /// Reports Hardware Error (Core Vol 4 Part E §7.7.16), after which the kernel closes and opens the adapter.
    func reportHardwareError(_ code: UInt8) {
        controller.emit(HCIHardwareError(code))
        guard power.isUp else { return }
        setPowered(false)
        setPowered(true)
    }

    func unplugged() {
        power.isLeaving = true
        setPowered(false)
        power.isPluggedIn = false
        kernel.rawSockets.fail(of: index)
    }

    // MARK: Management

    /// Executes a management command.
    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        switch command {
        case let command as ManagementSetPowered: setPowered(command.value, for: request)
        case let command as ManagementSetPrivacy: privacy.set(command.mode, command.key, for: request)
        case is ManagementLoadLongTermKeys, is ManagementLoadIdentityResolvingKeys,
            is ManagementLoadConnectionParameters, is ManagementReadDefaultSystemConfiguration,
            is ManagementSetDefaultSystemConfiguration:
            keys.perform(command, for: request)
        case let command as ManagementStartDiscovery: discovery.start(command.value, for: request)
        case let command as ManagementStartServiceDiscovery:
            // The program filters for services; the kernel's filter passes more.
            discovery.start(command.types, for: request, isForServices: true, rssiThreshold: command.rssiThreshold)
        case let command as ManagementStopDiscovery: discovery.stop(command.value, for: request)
        case is ManagementSetAdvertising, is ManagementReadAdvertisingFeatures, is ManagementAddAdvertising,
            is ManagementRemoveAdvertising, is ManagementAddExtendedAdvertisingParameters,
            is ManagementAddExtendedAdvertisingData:
            advertising.perform(command, for: request)
        case let command as ManagementDisconnect: devices.disconnect(command.value, for: request)
        case is ManagementGetConnections: devices.getConnections(for: request)
        case let command as ManagementGetConnectionInformation:
            devices.getConnectionInformation(command.value, for: request)
        case let command as ManagementAddDevice: devices.add(command.value.address, command.value.detail, for: request)
        case let command as ManagementRemoveDevice: devices.remove(command.value, for: request)
        case is any ManagementSettingCommand, is ManagementReadControllerInformation, is ManagementSetIOCapability,
            is ManagementSetAppearance, is ManagementGetPHYConfiguration, is ManagementSetPHYConfiguration:
            settings.perform(command, for: request)
        default: pairing.perform(command, for: request)
        }
    }

    func send(_ event: some ManagementEvent, skipping skipped: ManagementSocketState? = nil) {
        kernel.management.send(event, index: index, skipping: skipped)
    }

    // MARK: Commands

    /// Sends a raw socket's command. The other sockets see it as it goes to the controller.
    func sendRaw(_ command: AnyHCICommand, packet: [UInt8], from sender: HCISocketState) {
        kernel.monitor.report(.command, adapter: index, Array(packet.dropFirst()))
        world.schedule(after: Self.commandLatency) { [weak self, weak sender] in
            guard let self, controller.isRunning else { return }
            kernel.rawSockets.offer(packet, of: index, except: sender)
            discovery.scanChanged(by: command, controller.perform(command))
        }
    }

    /// Executes a command of the kernel, answered at once; raw sockets see it and its answer like any other.
    @discardableResult
    func perform(_ command: some HCICommand) -> HCIStatus {
        guard let command = try? AnyHCICommand(command) else { return .invalidHCICommandParameters }
        show(command)
        let status = controller.perform(command)
        discovery.scanChanged(by: command, status)
        return status
    }

    /// Shows a command of the kernel to the raw sockets.
    func show(_ command: AnyHCICommand) {
        // The kernel's commands fit.
        guard let packet = try? command.packet() else { return }
        kernel.monitor.report(.command, adapter: index, Array(packet.dropFirst()))
        kernel.rawSockets.offer(packet, of: index)
    }

    // MARK: Scanning

    private var scansExtended: Bool { controller.configuration.commands.scanFamily == .extended }

    /// Disables a scan, whichever program has enabled it.
    func stopScan() {
        guard controller.scanner.isEnabled else { return }
        if scansExtended {
            perform(LESetExtendedScanEnable(isEnabled: false))
        } else {
            perform(LESetScanEnable(false))
        }
    }

    func startScan(
        _ type: LEScanType, interval: UInt16, window: UInt16, policy: LEScanFilterPolicy, filtersDuplicates: Bool
    ) {
        let timing = LEScanTiming(type: type, interval: interval, window: window)
        // On LE Coded three times as long.
        let coded =
            settings.phys.selected.lePHYs.contains(.leCoded)
            ? LEScanTiming(type: type, interval: interval * 3, window: window * 3) : nil
        let duplicates: LEDuplicateFilter = filtersDuplicates ? .enabled : .disabled
        privacy.updateRandomAddress()
        if scansExtended {
            perform(
                LESetExtendedScanParameters(
                    ownAddressType: ownAddressType, filterPolicy: policy, le1M: timing, leCoded: coded))
            perform(LESetExtendedScanEnable(isEnabled: true, duplicates: duplicates))
        } else {
            perform(LESetScanParameters(timing: timing, ownAddressType: ownAddressType, filterPolicy: policy))
            perform(LESetScanEnable(true, duplicates: duplicates))
        }
    }
}
