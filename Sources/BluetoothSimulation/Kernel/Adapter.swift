import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// The kernel's side of an adapter: whether it is up, what is switched on, its links, and who has raw sockets of it.
final class Adapter {
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

    /// Whether it is there and on.
    struct Power {
        fileprivate(set) var isPluggedIn = true
        fileprivate(set) var isUp = false
        /// It is being pulled out.
        fileprivate(set) var isLeaving = false
        /// Until when the kernel holds a new adapter up to look at it, though nobody has powered it.
        fileprivate var settlesAt: KernelInstant
        fileprivate(set) var isSoftBlocked = false
        fileprivate(set) var isHardBlocked = false
        /// It is being powered on or off.
        fileprivate(set) var isChanging = false
    }

    /// How long a raw command takes to the chip and back.
    private static let commandLatency = Duration.microseconds(300)
    /// How long powering on or off takes.
    private static let powerLatency = Duration.milliseconds(5)
    /// How long the kernel keeps a new adapter up that nobody powers.
    private static let settlingTime = Duration.seconds(2)

    init(kernel: HostKernel, index: UInt16, controller: SimulatedController, address: BluetoothAddress, isSettled: Bool)
    {
        self.kernel = kernel
        self.index = index
        self.controller = Controller(world: kernel.world, configuration: controller, address: address)
        power = Power(
            settlesAt: isSettled ? kernel.world.now : kernel.world.now.advanced(by: Self.settlingTime))
        self.controller.host = connections
    }

    /// Up, and not taken away.
    var isRunning: Bool { power.isUp && power.isPluggedIn }
    var isBlocked: Bool { power.isSoftBlocked || power.isHardBlocked }
    /// New, and held up by the kernel for a moment though not powered.
    var isSettling: Bool { power.isPluggedIn && !power.isUp && world.now < power.settlesAt }

    /// The address the adapter goes by: the static one where there is no public one, or where BR/EDR is off.
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

    /// It is new: the kernel opens it to look at it, and closes it again if nobody powers it.
    func plugged() {
        monitorPlugged()
        guard isSettling else { return }
        monitorOpened(isOpen: false)
        world.schedule(after: Self.settlingTime) { [weak self] in
            guard let self, power.isPluggedIn, !power.isUp else { return }
            kernel.monitor.tell(.closedIndex, adapter: index)
        }
    }

    /// Powers the adapter on or off.
    ///
    /// - Parameter linkError: what sockets of links that end with it are told.
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
            if let staticAddress = settings.staticAddress { controller.randomAddress = staticAddress }
            privacy.begin()
        } else {
            connections.endAll(with: linkError)
            discovery.stop()
            if !power.isLeaving { advertising.powerOff() }
            privacy.end()
            power.isUp = false
            controller.isRunning = false
            kernel.monitor.tell(.closedIndex, adapter: index)
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
        guard isOn != isRunning else { return request.complete(.settings(settings.current)) }
        guard !isOn || !isBlocked else { return request.fail(.failed) }
        power.isChanging = true
        if !isOn {
            stopScan()
            connections.sayGoodbye(after: Self.commandLatency)
        }
        world.schedule(after: Self.powerLatency) { [weak self] in
            guard let self, power.isPluggedIn else { return }
            power.isChanging = false
            guard !isOn || !isBlocked else { return request.fail(.failed) }
            setPowered(isOn, skipping: request.socket)
            request.complete(.settings(settings.current))
        }
    }

    func unplugged() {
        power.isLeaving = true
        setPowered(false)
        power.isPluggedIn = false
        kernel.rawSockets.fail(of: index)
    }

    // MARK: Management

    /// Carries out a management command.
    func perform(_ command: ManagementCommand, for request: ManagementRequest) {
        switch command {
        case .setPowered(let isOn): setPowered(isOn, for: request)
        case .readControllerInformation, .setConnectable, .setBondable, .setLowEnergy, .setBREDR,
            .setSecureSimplePairing, .setSecureConnections, .setStaticAddress, .setIOCapability, .setAppearance:
            settings.perform(command, for: request)
        case .setPrivacy(let mode, let key): privacy.set(mode, key, for: request)
        case .loadLongTermKeys, .loadIdentityResolvingKeys, .loadConnectionParameters:
            keys.perform(command, for: request)
        case .startDiscovery, .stopDiscovery, .startServiceDiscovery: discovery.perform(command, for: request)
        case .setAdvertising, .readAdvertisingFeatures, .addAdvertising, .removeAdvertising,
            .addExtendedAdvertisingParameters, .addExtendedAdvertisingData:
            advertising.perform(command, for: request)
        case .disconnect, .getConnections, .getConnectionInformation, .addDevice, .removeDevice:
            devices.perform(command, for: request)
        default: pairing.perform(command, for: request)
        }
    }

    func send(_ event: borrowing ManagementEvent, skipping skipped: ManagementSocketState? = nil) {
        kernel.management.send(event, index: index, skipping: skipped)
    }

    // MARK: Commands

    /// A command that a raw socket sends. The others see it as it goes to the controller.
    func sendRaw(_ command: HCICommand, packet: [UInt8], from sender: HCISocketState) {
        kernel.monitor.tell(.command, adapter: index, packet.dropFirst())
        controller.emitSoon(after: Self.commandLatency) { [weak self, weak sender] controller in
            guard let self else { return }
            kernel.rawSockets.offer(packet, of: index, except: sender)
            discovery.scanChanged(by: command, controller.perform(command))
        }
    }

    /// A command of the kernel's own, answered at once; raw sockets see it and its answer like any other.
    @discardableResult
    func perform(_ command: HCICommand) -> HCIStatus {
        show(command)
        let status = controller.perform(command)
        discovery.scanChanged(by: command, status)
        return status
    }

    /// Shows a command of the kernel's own to whoever listens.
    func show(_ command: HCICommand) {
        // Those made by the kernel fit.
        guard let packet = try? command.packet() else { return }
        kernel.monitor.tell(.command, adapter: index, packet.dropFirst())
        kernel.rawSockets.offer(packet, of: index)
    }

    // MARK: Scanning

    private var scansExtended: Bool { controller.configuration.commands.scanFamily == .extended }

    /// Switches a scan off, whoever switched it on.
    func stopScan() {
        guard controller.scanner.isEnabled else { return }
        if scansExtended {
            perform(.leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: false)))
        } else {
            perform(.leSetScanEnable(false, duplicates: .disabled))
        }
    }

    func startScan(
        _ type: LEScanType, interval: UInt16, window: UInt16, policy: LEScanFilterPolicy, filtersDuplicates: Bool
    ) {
        let timing = LEScanTiming(type: type, interval: interval, window: window)
        let duplicates: LEDuplicateFilter = filtersDuplicates ? .enabled : .disabled
        privacy.updateRandomAddress()
        if scansExtended {
            perform(
                .leSetExtendedScanParameters(
                    LEExtendedScanParameters(ownAddressType: ownAddressType, filterPolicy: policy, le1M: timing)))
            perform(.leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: true, duplicates: duplicates)))
        } else {
            perform(
                .leSetScanParameters(
                    LEScanParameters(timing: timing, ownAddressType: ownAddressType, filterPolicy: policy)))
            perform(.leSetScanEnable(true, duplicates: duplicates))
        }
    }
}
