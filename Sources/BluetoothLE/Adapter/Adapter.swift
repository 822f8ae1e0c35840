import BluetoothKernel
import BluetoothPrimitives
import HCI
import Logging
import Management
import Synchronization

/// A Bluetooth adapter, through everything that happens to it.
///
/// Opening it brings the controller up without any daemon, if the caller wants that. When it is powered off, blocked or
/// unplugged, what is under way ends with the reason; the adapter itself stays usable and works again when it is back,
/// with another index or not: it is known by its address. ``states`` tells how it stands, ``ready(timeout:)`` waits.
public actor Adapter: LoopActor {
    /// The loop everything of this adapter lives on.
    public nonisolated let loop: EventLoop

    let kernel: any BluetoothKernel
    let log: Logger
    /// Records what happens; kept alive with the adapter.
    let trace: PacketTrace?
    let management: LoopBound<ManagementClient>
    let monitor: LoopBound<AdapterMonitor>
    let controller: LoopBound<Controller>
    /// What is known of it, and how it stands; written on the loop.
    nonisolated let facts: Mutex<AdapterInformation>
    nonisolated let standing: LatestValue<AdapterState>
    /// Its life: see Adapter+Life.
    var life: AdapterLife
    private(set) var end: BluetoothError?
    /// What ends with the adapter, besides what the controller does.
    var ends = HandlerList<BluetoothError>()
    /// What ends with the adapter of accepting links, while they are accepted; see Adapter+Incoming.
    var acceptance: (links: AcceptedLinks, end: UInt64)?
    /// The links that nobody accepts; see Adapter+Serving.
    var unclaimed = UnclaimedLinks()
    /// What is advertised; see Adapter+Advertising.
    var advertising = AdvertisingTable()
    /// Who answers the questions of pairing, and those that are being asked; see Adapter+Pairing.
    var pairing = PairingTable()
    /// What the devices connected to find here; see Adapter+Publishing.
    let localServer: LocalServer
    /// Who they are, as far as they were paired with; see Adapter+Bonds.
    let bondKeeper: LoopBound<BondKeeper>
    /// Where their databases are remembered.
    var attributeCache: (any AttributeCache)? = MemoryAttributeCache()

    private init(
        _ opened: AdapterDirectorySession.Opened, power: PowerPolicy, privacy: PrivacyMode?,
        on kernel: any BluetoothKernel, log: Logger, trace: PacketTrace?
    ) {
        let information = opened.information
        bondKeeper = opened.bonds
        facts = Mutex(information)
        life = AdapterLife(power: power, privacy: privacy)
        management = opened.management
        monitor = opened.monitor
        self.kernel = kernel
        self.log = log
        self.trace = trace
        trace?.synthesis?.opened(information)
        loop = kernel.loop
        standing = LatestValue(information.state, .init("follow the adapter", adapter: information.name), on: loop)
        localServer = LocalServer(.generic(deviceName: information.localName))
        controller = LoopBound(
            sending: Controller(
                information.index, ownAddress: information.ownAddress, management: management, on: kernel, log: log,
                trace: trace?.synthesis), to: loop)
    }

    /// Opens an adapter and makes sure that LE works on it.
    ///
    /// Needs CAP_NET_ADMIN when something has to be switched on. What was switched on stays on.
    /// - Parameters:
    ///   - selector: which adapter.
    ///   - power: whether it may be powered on, now and later.
    ///   - limit: how long to wait for an adapter that can be used, such as one that is found late while the machine
    ///     boots or that is still blocked; nil for not at all.
    ///   - bonds: which bonds it works with. Their keys are loaded into the kernel in place of those it has, before the
    ///     adapter is powered on where this call does that, so that bonded devices reconnect without pairing again;
    ///     where CAP_NET_ADMIN is missing, or BlueZ's daemon is running, ``bondStanding`` tells that they are not.
    ///   - bondLimit: the maximum number of bonds, and what happens when a device pairs at that limit.
    ///   - privacy: whether the adapter shows others addresses that change, behind which only bonded devices know it
    ///     (management `Set Privacy`), with a key that is kept with the bonds; nil leaves that as it is. The kernel changes
    ///     it while the adapter is off only, so one that is on is switched off and on for it, which ends what other
    ///     programs do on it, unless `power` is ``PowerPolicy/leave``.
    ///   - kernel: whose adapter; nil for the machine's own kernel.
    ///   - log: takes what happens: PDUs and packets as `trace`, oddities as `debug`.
    ///   - trace: records what goes over the air and between program and kernel; of the same kernel.
    /// - Throws: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.notPermitted`, `.unsupported`, each
    ///   with the fix. Where several were tried, the message says what is wrong with each.
    public static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondKeeping = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        on kernel: (any BluetoothKernel)? = nil, log: Logger = Logger(label: "bluetooth.adapter"),
        trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        let kernel = try chosenKernel(kernel, .init("open \(selector)"))
        let opened = try await AdapterDirectorySession(on: kernel, log: log).open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            trace: trace?.synthesis)
        let adapter = Adapter(opened, power: power, privacy: privacy, on: kernel, log: log, trace: trace)
        await adapter.begin()
        return adapter
    }

    /// What is known of the adapter: as it is now, and while it is away as it was last.
    public nonisolated var information: AdapterInformation { facts.withLock { $0 } }

    nonisolated func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: information.name)
    }

    /// Ends the adapter's advertising, scans, sockets, streams, maintained connections, and attempts to connect, which
    /// throw `.cancelled`. The controller keeps its state; connections that the program holds stay up. All new bonds are
    /// stored when this returns.
    public func close() async {
        await stopAllAdvertising()
        endServing()
        await bondKeeper.value.flush()
        finish(BluetoothError(.cancelled, operation("use the adapter"), "The adapter was closed by this program."))
    }

    /// Ends everything for good: the program closes it, or the kernel's management interface is gone.
    func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        log.debug("\(reason)")
        endLife(reason)
        endAllAdvertising(reason)
        endServing()
        endPairing()
        controller.value.close(reason)
        bondKeeper.value.close(reason)
        monitor.value.close(reason)
        let ends = ends
        self.ends.removeAll()
        ends(reason)
    }

    /// Throws why nothing can be done with the adapter now, if so.
    func checkUsable() throws(BluetoothError) {
        if let end { throw end }
        if let error = BluetoothError.unavailable(standing.value, operation("use the adapter")) { throw error }
        controller.value.comeBack(as: information)
    }
}

/// What an adapter shows of itself where the program, and not the kernel, tells the controller what to show.
enum OwnAddress: Hashable, Sendable {
    /// The public address.
    case `public`
    /// The static random address, which the kernel has told the controller.
    case `static`
    /// Another one each time, of which nobody can tell whose it is.
    case `private`

    /// How HCI commands name it.
    var type: LEOwnAddressType { self == .public ? .public : .random }
}

extension AdapterInformation {
    /// What the adapter shows of itself.
    var ownAddress: OwnAddress { usesPrivateAddresses ? .private : publicAddress.isZero ? .static : .public }
}
