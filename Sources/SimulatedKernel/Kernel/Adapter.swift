import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// The kernel's side of an adapter: whether it is up, what is switched on, its links, and who has raw sockets of it.
final class Adapter {
    unowned let kernel: HostKernel
    let index: UInt16
    let controller: Controller
    var world: KernelWorld { kernel.world }

    private(set) var power: Power
    var configured: Configuration
    var privacy = AdapterPrivacy()

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

    /// What programs have switched on and told it.
    struct Configuration {
        var isLEEnabled: Bool
        var isBREDREnabled: Bool
        var isConnectable = false
        var isBondable = false
        var isSSPEnabled = false
        var isSecureConnectionsEnabled = false
        var isSecureConnectionsOnly = false
        var ioCapability = IOCapability.noInputNoOutput
        var staticAddress: BluetoothAddress?
        var localName = "simulated"
    }

    var connections: [HostConnection] = []
    var discovery = Discovery()
    var advertising = AdvertisingInstances()
    var keys = KeyStore()
    /// Those the kernel is to keep a link to by itself.
    var autoConnected: [BluetoothAddress] = []
    /// Those of Add Device, whatever for.
    var addedDevices: [ManagementAddress] = []

    /// How long a raw command takes to the chip and back.
    private static let commandLatency = Duration.microseconds(300)
    /// How long the kernel keeps a new adapter up that nobody powers.
    private static let settlingTime = Duration.seconds(2)

    init(kernel: HostKernel, index: UInt16, controller: SimulatedController, address: BluetoothAddress, isSettled: Bool)
    {
        self.kernel = kernel
        self.index = index
        self.controller = Controller(world: kernel.world, configuration: controller, address: address)
        configured = Configuration(
            isLEEnabled: controller.hasLE && (controller.isLEEnabled || !controller.isDualMode),
            isBREDREnabled: controller.isDualMode)
        power = Power(
            settlesAt: isSettled ? kernel.world.now : kernel.world.now.advanced(by: Self.settlingTime))
        self.controller.host = self
    }

    /// It is being powered on or off.
    var isPowerChanging: Bool {
        get { power.isChanging }
        set { power.isChanging = newValue }
    }

    /// Up, and not taken away.
    var isRunning: Bool { power.isUp && power.isPluggedIn }
    var isBlocked: Bool { power.isSoftBlocked || power.isHardBlocked }
    /// New, and held up by the kernel for a moment though not powered.
    var isSettling: Bool { power.isPluggedIn && !power.isUp && world.now < power.settlesAt }

    /// The address the adapter goes by: the static one where there is no public one, or where BR/EDR is off.
    var identityAddress: BluetoothAddress {
        if let staticAddress = configured.staticAddress, controller.publicAddress.isZero || !configured.isBREDREnabled {
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
            if let staticAddress = configured.staticAddress { controller.randomAddress = staticAddress }
            beginPrivacy()
        } else {
            endAllLinks(with: linkError)
            stopDiscovery()
            if !power.isLeaving { advertisingPowersOff() }
            endPrivacy()
            power.isUp = false
            controller.isRunning = false
            kernel.monitor.tell(.closedIndex, adapter: index)
        }
        settingsChanged(skipping: socket)
        if isOn {
            resumeAdvertising()
            updatePassiveScan()
        }
    }

    func setBlocked(soft: Bool, hard: Bool) {
        guard soft != power.isSoftBlocked || hard != power.isHardBlocked else { return }
        power.isSoftBlocked = soft
        power.isHardBlocked = hard
        world.radioSwitchesChanged(of: kernel)
        if isBlocked, power.isUp { setPowered(false, linkError: .connectionReset) }
    }

    /// Ends the scan and all links because the adapter is about to be powered off.
    ///
    /// The kernel does not wait for the controller's word on them, and the adapter counts as up meanwhile.
    func sayGoodbye() {
        stopScan()
        for connection in connections {
            guard let end = connection.end else { continue }
            let command = HCICommand.disconnect(end.handle, reason: .remoteDevicePoweringOff)
            show(command)
            controller.answer(command, .success)
            connection.adapterGone(.connectionReset, after: Self.commandLatency)
        }
        connections.removeAll { $0.state == .ended }
    }

    private func endAllLinks(with error: ErrorNumber) {
        for connection in connections { connection.adapterGone(error) }
        connections = []
    }

    func unplugged() {
        power.isLeaving = true
        setPowered(false)
        power.isPluggedIn = false
        kernel.rawSockets.fail(of: index)
    }

    // MARK: Commands

    /// A command that a raw socket sends. The others see it as it goes to the controller.
    func sendRaw(_ command: HCICommand, packet: [UInt8], from sender: HCISocketState) {
        kernel.monitor.tell(.command, adapter: index, packet.dropFirst())
        controller.emitSoon(after: Self.commandLatency) { [weak self, weak sender] controller in
            guard let self else { return }
            kernel.rawSockets.offer(packet, of: index, except: sender)
            scanChanged(by: command, controller.perform(command))
        }
    }

    /// A command of the kernel's own, answered at once; raw sockets see it and its answer like any other.
    @discardableResult
    func perform(_ command: HCICommand) -> HCIStatus {
        show(command)
        let status = controller.perform(command)
        scanChanged(by: command, status)
        return status
    }

    /// Shows a command of the kernel's own to whoever listens.
    private func show(_ command: HCICommand) {
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
        updateRandomAddress()
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

    /// Looks for those that are to be connected to, or stops looking (`hci_update_passive_scan`).
    func updatePassiveScan() {
        guard isRunning, !discovery.isFinding, !connections.contains(where: { $0.state == .initiating }) else { return }
        let wanted = connections.filter { $0.state == .searching }.map(\.peer) + autoConnectCandidates
        stopScan()
        guard !wanted.isEmpty else { return }
        for entry in controller.acceptList.entries { perform(.leRemoveDeviceFromFilterAcceptList(entry)) }
        for peer in wanted { perform(.leAddDeviceToFilterAcceptList(.device(peer))) }
        // A device that hides behind changing addresses cannot be put on a list.
        let isListEnough = !wanted.contains { keys.hasIdentityResolvingKey(of: $0) }
        startScan(
            .passive, interval: 0x60, window: 0x60, policy: isListEnough ? .acceptList : .all, filtersDuplicates: true)
    }

    private var autoConnectCandidates: [BluetoothAddress] {
        autoConnected.filter { address in !connections.contains { $0.peer == address } }
    }
}
