import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// Something to be told outside, once the world is no longer locked.
enum Output: Sendable {
    /// A socket's event.
    case socket(Int, SocketEvent)
    /// A new socket that a listener is to take.
    case accepted(listener: Int, socket: Int)
    /// Something that happened on a peripheral's end of a link.
    case peripheral(end: Int, PeripheralEvent)
    /// A radio switch has changed, for one that follows them.
    case radioSwitches(Int)
}

/// What a peripheral's program is told of a link.
enum PeripheralEvent: Sendable {
    case connected
    case received(L2CAPChannel, [UInt8])
    case writable
    case securityChanged(LinkSecurity)
    case disconnected(HCIStatus)
}

/// Everything there is on one radio band: who sends, who listens, what happens next.
///
/// Not safe to use from several threads: ``SimulatedRadio`` keeps it in a mutex, with all it refers to. What belongs to
/// the program outside (handlers) is never called nor released in here, but put into ``outputs`` and ``released``. What the
/// floors above have in it they add: ``KernelWorld``.
class World {
    /// The present moment; set by whoever enters.
    var now = KernelInstant(nanoseconds: 0)
    var generator: SimulationGenerator
    var conditions = RadioConditions()
    var statistics = SimulationStatistics()

    private(set) var nodes: [RadioNode] = []
    private(set) var links: [Link] = []
    var peripheralEnds: [Int: LinkEnd] = [:]
    var peripherals: [Int: RadioNode] = [:]

    var outputs: [Output] = []
    /// What has to be released after the world is unlocked, because releasing it may run the program's code.
    var released: [any Sendable] = []
    /// Runs the world on the loop.
    var timer: LoopTimer?
    /// For when it is set.
    var armedFor: KernelInstant?

    private var events = EventQueue()
    private var nextIdentifier = 1
    private var separations: Set<Set<ObjectIdentifier>> = []

    init(seed: UInt64) {
        generator = SimulationGenerator(seed: seed)
    }

    func makeIdentifier() -> Int {
        defer { nextIdentifier += 1 }
        return nextIdentifier
    }

    // MARK: Time

    /// Does `action` at `moment`.
    @discardableResult
    func schedule(at moment: KernelInstant, _ action: @escaping () -> Void) -> ScheduledEvent {
        events.schedule(at: moment, action)
    }

    /// Does `action` after `delay`.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> ScheduledEvent {
        events.schedule(at: now.advanced(by: delay), action)
    }

    /// Does what is due.
    func runDueEvents() {
        while let action = events.removeDue(at: now) { action() }
    }

    /// Sets the timer for what comes next: at once when somebody has to be told something.
    func arm() {
        let next = outputs.isEmpty ? events.nextMoment() : now
        guard next != armedFor else { return }
        armedFor = next
        if let next { timer?.set(at: next) } else { timer?.cancel() }
    }

    /// A random time below `limit`.
    func randomDuration(below limit: Duration) -> Duration {
        let nanoseconds = limit.clampedNanoseconds
        return nanoseconds > 0 ? .nanoseconds(Int64.random(in: 0..<nanoseconds, using: &generator)) : .zero
    }

    /// Whether something of this likelihood, 0 to 1, happens now.
    func happens(_ likelihood: Double) -> Bool {
        likelihood > 0 && (likelihood >= 1 || Double.random(in: 0..<1, using: &generator) < likelihood)
    }

    // MARK: Devices

    func add(_ node: RadioNode) {
        nodes.append(node)
        updateAdvertising()
    }

    func remove(_ node: RadioNode) {
        nodes.removeAll { $0 === node }
        updateAdvertising()
    }

    /// The device that uses an address now, if it is on the air.
    func node(at address: BluetoothAddress) -> RadioNode? {
        nodes.first { $0.uses(address) }
    }

    /// Whether what one sends reaches the other.
    func isReachable(_ one: RadioNode, _ other: RadioNode) -> Bool {
        one.isOnAir && other.isOnAir && !one.isHidden && !other.isHidden
            && (separations.isEmpty || !separations.contains([ObjectIdentifier(one), ObjectIdentifier(other)]))
    }

    /// Puts two devices out of each other's range, or back.
    func setSeparated(_ isSeparated: Bool, _ one: RadioNode, _ other: RadioNode) {
        let pair: Set = [ObjectIdentifier(one), ObjectIdentifier(other)]
        if isSeparated { separations.insert(pair) } else { separations.remove(pair) }
        reachabilityChanged()
    }

    /// To be called whenever somebody came into or went out of range.
    func reachabilityChanged() {
        updateAdvertising()
        for link in links { link.reachabilityChanged() }
    }

    /// Lets those advertise whom somebody may hear, and only those: otherwise nothing need be computed.
    func updateAdvertising() {
        let listening = nodes.filter { $0.isListening }
        for node in nodes {
            let isHeard = listening.contains { $0 !== node && isReachable($0, node) }
            for advertiser in node.advertisers { advertiser.update(isHeard: isHeard) }
        }
    }

    // MARK: Links

    func add(_ link: Link) {
        links.append(link)
    }

    func remove(_ link: Link) {
        links.removeAll { $0 === link }
    }
}

/// A device with an antenna.
class RadioNode {
    unowned let world: World
    /// Out of everybody's range.
    var isHidden = false
    /// How strong the others receive it, in dBm.
    var signalStrength: Int8 = -50
    var advertisers: [Advertiser] = []
    /// The PHYs its radio has.
    var supportedPHYs: LEPHYSet = [.le1M, .le2M]
    /// How it refuses other connection parameters; nil takes them.
    var parameterRefusal: HCIStatus?
    /// Who it really is, where it advertises with private addresses, and the key that tells.
    var identityResolvingKey: IdentityResolvingKey?

    init(world: World) {
        self.world = world
    }

    /// Whether the radio is switched on.
    var isOnAir: Bool { true }
    /// Whether advertisements are of any use to it.
    var isListening: Bool { false }

    /// Who acts for it: the device itself, or the host of a controller.
    var user: AnyObject? { self }

    /// Whether this device uses an address on the air.
    func uses(_ address: BluetoothAddress) -> Bool {
        advertisers.contains { $0.address == address }
    }

    /// An advertisement came in.
    func hear(_ advertiser: Advertiser) {}

    /// Whether a central at `address` may connect to what this device advertises.
    func accepts(_ address: BluetoothAddress, by advertiser: Advertiser) -> Bool { advertiser.isConnectable }

    /// A link has come up; `advertiser` is what the central answered to, for the peripheral.
    func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {}

    /// A link is down.
    func linkEnded(_ end: LinkEnd, reason: HCIStatus) {}

    /// A number for a new link.
    func makeHandle() -> ConnectionHandle { 0 }

    /// The other side of a link asks for a channel to a service; the answer goes to `completion`.
    func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void
    ) {
        completion(.refused)
    }

    /// The other side, a peripheral, asks for other connection parameters.
    func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd) {}

    /// A frame of a connection-oriented channel came in that was not the last of its SDU.
    func frameArrived(_ key: ChannelKey, on end: LinkEnd) {}

    /// The other side takes so many frames more on a connection-oriented channel.
    func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd) {}

    /// The other side has closed a connection-oriented channel.
    func channelClosed(_ key: ChannelKey, on end: LinkEnd) {}

    /// A packet came in.
    func receive(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {}

    /// The controller of `end` has room for packets again.
    func hasRoom(_ end: LinkEnd) {}

    /// The link's parameters, data length or PHYs have changed.
    func linkChanged(_ end: LinkEnd, _ change: LinkChange) {}
}
