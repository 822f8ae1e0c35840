import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

/// An output of the simulation, delivered after it is unlocked.
enum Output: Sendable {
    /// An event of a socket.
    case socket(Int, SocketEvent)
    /// A new socket for a listener.
    case accepted(listener: Int, socket: Int)
    /// An event of a peripheral's end of a link.
    case peripheral(end: Int, PeripheralEvent)
    /// A change of a radio switch, for a watch.
    case radioSwitches(Int)
    /// The completion of a call.
    case completion(@Sendable () -> Void)
}

/// An event of a link, for a peripheral's handler.
enum PeripheralEvent: Sendable {
    case connected
    case received(L2CAPChannel, [UInt8])
    case writable
    case securityChanged(LinkSecurity)
    case disconnected(HCIStatus)
}

/// The state of a simulated radio: the devices, their links, and the pending events.
///
/// Not thread-safe: ``SimulatedRadio`` keeps it in a mutex, with everything it refers to. The program's objects
/// (handlers) are never called or released in here, but passed to ``post(_:)`` and ``release(_:)``. Layers above add
/// their state: ``KernelWorld``.
//
// Holds more than ten variables: everything behind the one mutex of a simulation.
class World {
    private var clock = WorldClock()
    var generator: SimulationGenerator
    var conditions = RadioConditions()
    var statistics = SimulationStatistics()

    private(set) var nodes: [RadioNode] = []
    /// Those of the devices that receive advertisements.
    private(set) var listeningNodes: [RadioNode] = []
    private(set) var links: [SimulatedConnection] = []
    /// The pairs of devices that are out of each other's range.
    private var separations: Set<Set<ObjectIdentifier>> = []
    var peripherals = PeripheralRegistry()

    private var outputs: [Output] = []
    /// The objects to release after unlocking, because that may run code of the program.
    private var released: [any Sendable] = []
    private var nextIdentifier = 1

    init(seed: UInt64) {
        generator = SimulationGenerator(seed: seed)
    }

    func makeIdentifier() -> Int {
        defer { nextIdentifier += 1 }
        return nextIdentifier
    }

    // MARK: Locking

    /// Sets the loop's timer that runs the simulation.
    func install(_ timer: LoopTimer) {
        clock.timer = timer
    }

    /// Advances to `moment`; must be called first after locking.
    func enter(at moment: KernelInstant) {
        clock.advance(to: moment)
    }

    /// Executes the due events, when the timer has fired; returns the outputs to deliver.
    func run() -> [Output] {
        clock.fired()
        while let action = clock.events.removeDue(at: now) { action() }
        defer { outputs = [] }
        return outputs
    }

    /// Sets the timer for the next event, or at once if there are outputs; returns the objects to release after
    /// unlocking.
    func leave() -> [any Sendable] {
        clock.arm(atOnce: !outputs.isEmpty)
        defer { released = [] }
        return released
    }

    /// Queues an output.
    func post(_ output: Output) {
        outputs.append(output)
    }

    /// Discards the queued outputs.
    func dropOutputs() {
        outputs = []
    }

    /// Queues an object of the program for release after unlocking.
    func release(_ object: any Sendable) {
        released.append(object)
    }

    // MARK: Time and randomness

    /// The present moment.
    var now: KernelInstant { clock.now }

    /// Schedules `action` at `moment`.
    @discardableResult
    func schedule(at moment: KernelInstant, _ action: @escaping () -> Void) -> ScheduledEvent {
        clock.events.schedule(at: moment, action)
    }

    /// Schedules `action` after `delay`.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> ScheduledEvent {
        schedule(at: now.advanced(by: delay), action)
    }

    /// A random duration below `limit`.
    func randomDuration(below limit: Duration) -> Duration {
        let nanoseconds = limit.clampedNanoseconds
        return nanoseconds > 0 ? .nanoseconds(Int64.random(in: 0..<nanoseconds, using: &generator)) : .zero
    }

    /// A random decision with this probability, 0 to 1.
    func happens(_ likelihood: Double) -> Bool {
        likelihood > 0 && (likelihood >= 1 || Double.random(in: 0..<1, using: &generator) < likelihood)
    }

    // MARK: Devices

    func add(_ node: RadioNode) {
        nodes.append(node)
        if node.isListening { updateAdvertising() } else { updateAdvertising(of: node) }
    }

    func remove(_ node: RadioNode) {
        if let index = nodes.lastIndex(where: { $0 === node }) { nodes.remove(at: index) }
        // A later device may be allocated at the same address.
        separations = separations.filter { !$0.contains(ObjectIdentifier(node)) }
        if listeningNodes.contains(where: { $0 === node }) { updateAdvertising() }
    }

    /// The device that uses an address now, if its radio is on.
    func node(at address: BluetoothAddress) -> RadioNode? {
        nodes.first { $0.uses(address) }
    }

    /// Whether two devices are in each other's range.
    func isReachable(_ one: RadioNode, _ other: RadioNode) -> Bool {
        one.isOnAir && other.isOnAir && !one.isHidden && !other.isHidden
            && (separations.isEmpty || !separations.contains([ObjectIdentifier(one), ObjectIdentifier(other)]))
    }

    /// Takes two devices out of each other's range, or back.
    func setSeparated(_ isSeparated: Bool, _ one: RadioNode, _ other: RadioNode) {
        let pair: Set = [ObjectIdentifier(one), ObjectIdentifier(other)]
        if isSeparated { separations.insert(pair) } else { separations.remove(pair) }
        reachabilityChanged()
    }

    /// Must be called whenever a device came into or went out of range.
    func reachabilityChanged() {
        updateAdvertising()
        for link in links { link.reachabilityChanged() }
    }

    /// Enables the advertisers with a listener in range, and only those, so that no others are computed. Must be called
    /// whenever the devices that listen may be others.
    func updateAdvertising() {
        listeningNodes = nodes.filter { $0.isListening }
        for node in nodes { updateAdvertising(of: node) }
    }

    /// Enables those of a device's advertisers that have a listener in range.
    func updateAdvertising(of node: RadioNode) {
        let isHeard = listeningNodes.contains { $0 !== node && isReachable($0, node) }
        for advertiser in node.advertisers { advertiser.update(isHeard: isHeard) }
    }

    /// Removes a peripheral's end of a link, and releases its handler.
    func removePeripheralEnd(_ identifier: Int) {
        guard let end = peripherals.ends.removeValue(forKey: identifier) else { return }
        if let program = end.side.program.take() { release(program) }
    }

    // MARK: Links

    /// Connects a central to a connectable advertiser: both have a link from now on.
    func connect(
        central node: RadioNode, handle: ConnectionHandle, address: BluetoothAddress, to advertiser: Advertiser,
        on phy: LEPHY = .le1M, parameters: LEActiveConnectionParameters
    ) -> LinkEnd {
        let peripheral = advertiser.node
        let link = SimulatedConnection(
            world: self, central: LinkSide(world: self, node: node, handle: handle, address: address),
            peripheral: LinkSide(
                world: self, node: peripheral, handle: peripheral.makeHandle(), address: advertiser.address),
            phy: phy, parameters: parameters)
        links.append(link)
        let ends = link.ends
        peripheral.linkEstablished(ends[1], through: advertiser)
        return ends[0]
    }

    /// The links of a device.
    func links(of node: RadioNode) -> [LinkEnd] {
        links.flatMap { $0.ends }.filter { $0.side.node === node }
    }

    func remove(_ link: SimulatedConnection) {
        links.removeAll { $0 === link }
    }
}

/// The simulated peripherals and their ends of links, by the numbers that their objects hold.
struct PeripheralRegistry {
    var nodes: [Int: RadioNode] = [:]
    /// An end outlives its link until its handler was notified.
    var ends: [Int: LinkEnd] = [:]

    /// The peripherals, oldest first.
    var all: [RadioNode] { nodes.sorted { $0.key < $1.key }.map(\.value) }
}
