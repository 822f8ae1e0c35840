import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

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
/// the program outside (handlers) is never called nor released in here, but left to ``tell(_:)`` and ``release(_:)``.
/// What the floors above have in it they add: ``KernelWorld``.
class World {
    private var clock = WorldClock()
    var generator: SimulationGenerator
    var conditions = RadioConditions()
    var statistics = SimulationStatistics()

    private(set) var nodes: [RadioNode] = []
    private(set) var links: [Link] = []
    /// Pairs of devices that are out of each other's range.
    private var separations: Set<Set<ObjectIdentifier>> = []
    var peripherals = PeripheralRegistry()

    private var outputs: [Output] = []
    /// What has to be released after the world is unlocked, because releasing it may run the program's code.
    private var released: [any Sendable] = []
    private var nextIdentifier = 1

    init(seed: UInt64) {
        generator = SimulationGenerator(seed: seed)
    }

    func makeIdentifier() -> Int {
        defer { nextIdentifier += 1 }
        return nextIdentifier
    }

    // MARK: Entering and leaving

    /// Has the world run by a timer of the loop.
    func install(_ timer: LoopTimer) {
        clock.install(timer)
    }

    /// To be called first by whoever enters the world at `moment`.
    func enter(at moment: KernelInstant) {
        clock.advance(to: moment)
    }

    /// Lets happen what is due, when the timer has fired; returns whom to tell outside.
    func run() -> [Output] {
        clock.fired()
        while let action = clock.removeDue() { action() }
        defer { outputs = [] }
        return outputs
    }

    /// Provides for what comes next, at once when somebody has to be told something; returns what is to be released
    /// outside.
    func leave() -> [any Sendable] {
        clock.arm(atOnce: !outputs.isEmpty)
        defer { released = [] }
        return released
    }

    /// Has somebody told something outside.
    func tell(_ output: Output) {
        outputs.append(output)
    }

    /// Tells nobody what they have not been told yet.
    func dropOutputs() {
        outputs = []
    }

    /// Has something of the program's own released outside.
    func release(_ object: any Sendable) {
        released.append(object)
    }

    // MARK: Time and chance

    /// The present moment.
    var now: KernelInstant { clock.now }

    /// Does `action` at `moment`.
    @discardableResult
    func schedule(at moment: KernelInstant, _ action: @escaping () -> Void) -> ScheduledEvent {
        clock.schedule(at: moment, action)
    }

    /// Does `action` after `delay`.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> ScheduledEvent {
        clock.schedule(at: now.advanced(by: delay), action)
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
        // The next device may come to be at the same place in memory.
        separations = separations.filter { !$0.contains(ObjectIdentifier(node)) }
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

    /// Forgets a peripheral's end of a link, and lets go of the program behind it.
    func removePeripheralEnd(_ identifier: Int) {
        guard let end = peripherals.removeEnd(identifier) else { return }
        if let program = end.side.program.take() { release(program) }
    }

    // MARK: Links

    /// A central's answer to a connectable advertisement: both have a link from now on.
    func connect(
        central node: RadioNode, handle: ConnectionHandle, address: BluetoothAddress, to advertiser: Advertiser,
        parameters: LEActiveConnectionParameters
    ) -> LinkEnd {
        let peripheral = advertiser.node
        let link = Link(
            world: self, central: LinkSide(world: self, node: node, handle: handle, address: address),
            peripheral: LinkSide(
                world: self, node: peripheral, handle: peripheral.makeHandle(), address: advertiser.address),
            parameters: parameters)
        links.append(link)
        let ends = link.ends
        peripheral.linkEstablished(ends[1], through: advertiser)
        return ends[0]
    }

    /// The links a device has.
    func links(of node: RadioNode) -> [LinkEnd] {
        links.flatMap { $0.ends }.filter { $0.side.node === node }
    }

    func remove(_ link: Link) {
        links.removeAll { $0 === link }
    }
}

/// The peripherals on the air and their ends of links, by the numbers that programs outside know them by.
struct PeripheralRegistry {
    private var nodes: [Int: RadioNode] = [:]
    private(set) var ends: [Int: LinkEnd] = [:]

    /// The peripherals, oldest first.
    var all: [RadioNode] { nodes.sorted { $0.key < $1.key }.map(\.value) }

    func node(_ identifier: Int) -> RadioNode? { nodes[identifier] }

    mutating func add(_ node: RadioNode, identifier: Int) {
        nodes[identifier] = node
    }

    /// Forgets a peripheral; false when it had been forgotten.
    mutating func remove(_ identifier: Int) -> Bool {
        nodes.removeValue(forKey: identifier) != nil
    }

    mutating func add(_ end: LinkEnd) {
        ends[end.side.identifier] = end
    }

    /// Forgets an end of a link, which outlives the link until the program has been told.
    mutating func removeEnd(_ identifier: Int) -> LinkEnd? {
        ends.removeValue(forKey: identifier)
    }
}
