import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

/// A change of a link.
enum LinkChange {
    case parameters
    case dataLength
    case phy
    case security
}

/// The key of a link's channel.
enum ChannelKey: Hashable {
    /// A fixed channel's identifier.
    case fixed(UInt16)
    /// A connection-oriented channel, by a number common to both sides.
    case dynamic(Int)

    var number: Int {
        switch self {
        case .fixed(let identifier): return Int(identifier)
        case .dynamic(let number): return number
        }
    }
}

/// A message that a link carries.
enum LinkMessage {
    /// A packet of an L2CAP channel.
    case data(ChannelKey, [UInt8])
    /// A procedure of a protocol below the kernel seam (link layer, L2CAP signalling, pairing), executed on arrival.
    case procedure(() -> Void)
}

extension LEActiveConnectionParameters {
    /// The connection interval.
    var intervalDuration: Duration { .microseconds(1250) * Int(max(1, interval)) }
    /// The supervision time-out.
    var supervisionDuration: Duration { .milliseconds(10) * Int(max(1, supervisionTimeout)) }
}

/// The state of one side of a link.
final class LinkSide {
    let identifier: Int
    /// The device; the simulation retains it as long as it has links.
    unowned let node: RadioNode
    /// The handle that this side's controller assigned to the link.
    let handle: ConnectionHandle
    let address: BluetoothAddress
    /// The controller's send queue, first first.
    fileprivate(set) var queue: [LinkMessage] = []
    /// Whether this side's controller sends; otherwise its buffers stay full.
    var isSending = true
    /// The handler of a simulated peripheral.
    var program: (any AnyObject & Sendable)?
    /// Whether the handler has requested an event when it can send again.
    var awaitsRoom = false
    /// Whether sending failed because the other side had granted no credits.
    var awaitsCredits = false
    /// The arrival of the last sent packet at the other side.
    fileprivate var lastArrival: KernelInstant

    init(world: World, node: RadioNode, handle: ConnectionHandle, address: BluetoothAddress) {
        identifier = world.makeIdentifier()
        lastArrival = world.now
        self.node = node
        self.handle = handle
        self.address = address
    }
}

/// One end of a link, as the device there sees it.
struct LinkEnd {
    /// The number of packets that a controller buffers.
    static let bufferCount = 12

    let link: Link
    let isCentral: Bool

    var side: LinkSide { isCentral ? link.central : link.peripheral }
    var other: LinkEnd { LinkEnd(link: link, isCentral: !isCentral) }
    var handle: ConnectionHandle { side.handle }
    var localAddress: BluetoothAddress { side.address }
    var peerAddress: BluetoothAddress { other.side.address }
    /// Whether the controller accepts a packet.
    var hasRoom: Bool { side.queue.count < Self.bufferCount && !link.isEnded }

    /// Passes a message to this end's controller.
    func send(_ message: LinkMessage) {
        guard !link.isEnded else { return }
        side.queue.append(message)
        link.scheduleConnectionEvent()
    }

    /// Ends the link from this end; the other end learns of it at the next connection event.
    func disconnect(reason: HCIStatus) {
        link.terminate(by: self, reason: reason)
    }
}

/// A connection between two devices: packets cross it at connection events, in order, and it ends when its sides do not
/// receive each other for the supervision time-out (Core Vol 6 Part B §4.5).
final class Link {
    unowned let world: World
    let central: LinkSide
    let peripheral: LinkSide
    private(set) var parameters: LEActiveConnectionParameters
    var phy = LEPHY.le1M
    /// The maximum size of a link layer packet in bytes, in both directions.
    var dataLength: UInt16 = 27
    var security = LinkSecurity(level: .low, keySize: 0)
    private(set) var isEnded = false

    private var anchor: KernelInstant
    private var connectionEvent: ScheduledEvent?
    private var supervision: ScheduledEvent?
    private var termination: (by: LinkEnd, reason: HCIStatus)?

    init(world: World, central: LinkSide, peripheral: LinkSide, parameters: LEActiveConnectionParameters) {
        self.world = world
        self.central = central
        self.peripheral = peripheral
        self.parameters = parameters
        anchor = world.now
    }

    var ends: [LinkEnd] { [LinkEnd(link: self, isCentral: true), LinkEnd(link: self, isCentral: false)] }
    private var isInRange: Bool { world.isReachable(central.node, peripheral.node) }

    /// Changes the connection parameters from now on.
    func setParameters(_ parameters: LEActiveConnectionParameters) {
        self.parameters = parameters
        anchor = world.now
        connectionEvent?.cancel()
        connectionEvent = nil
        scheduleConnectionEvent()
        if supervision != nil {
            supervision?.cancel()
            supervision = nil
            reachabilityChanged()
        }
    }

    // MARK: Connection events

    /// The first connection event after `moment`.
    private func connectionEvent(after moment: KernelInstant) -> KernelInstant {
        let interval = parameters.intervalDuration.clampedNanoseconds
        let passed = moment.nanoseconds &- anchor.nanoseconds
        return anchor.advanced(by: .nanoseconds((passed / interval + 1) * interval))
    }

    /// Schedules the next connection event if there are queued messages; an idle link costs nothing.
    func scheduleConnectionEvent() {
        guard !isEnded, connectionEvent == nil, isInRange, hasWork else { return }
        connectionEvent = world.schedule(at: connectionEvent(after: world.now)) { [self] in
            connectionEvent = nil
            runConnectionEvent()
            scheduleConnectionEvent()
        }
    }

    private var hasWork: Bool {
        termination != nil || [central, peripheral].contains { $0.isSending && !$0.queue.isEmpty }
    }

    private func runConnectionEvent() {
        guard !isEnded, isInRange else { return }
        for end in ends {
            var remaining = max(1, world.conditions.packetsPerConnectionEvent)
            while remaining > 0, end.side.isSending, !end.side.queue.isEmpty {
                remaining -= 1
                // A lost packet is sent again at the next event, before all that follow it.
                guard !world.happens(world.conditions.packetLoss) else { break }
                deliver(end.side.queue.removeFirst(), from: end)
                if isEnded { return }
            }
        }
        if let termination {
            complete(termination.by, reason: termination.reason)
            return
        }
        for end in ends where !isEnded && end.hasRoom { end.side.node.hasRoom(end) }
    }

    private func deliver(_ message: LinkMessage, from end: LinkEnd) {
        let conditions = world.conditions
        let delay = conditions.latency + world.randomDuration(below: conditions.jitter)
        let arrival = max(world.now.advanced(by: delay), end.side.lastArrival)
        end.side.lastArrival = arrival
        guard arrival > world.now else {
            arrive(message, at: end.other)
            return
        }
        world.schedule(at: arrival) { [self] in arrive(message, at: end.other) }
    }

    private func arrive(_ message: LinkMessage, at end: LinkEnd) {
        guard !isEnded else {
            world.statistics.packetsLostWithLink += 1
            return
        }
        switch message {
        case .data(let channel, let packet):
            world.statistics.packetsDelivered += 1
            end.side.node.receive(packet, channel: channel, on: end)
        case .procedure(let action): action()
        }
    }

    // MARK: Ending

    /// Starts or stops the supervision timer.
    func reachabilityChanged() {
        guard !isEnded else { return }
        guard !isInRange else {
            supervision?.cancel()
            supervision = nil
            scheduleConnectionEvent()
            return
        }
        connectionEvent?.cancel()
        connectionEvent = nil
        guard supervision == nil else { return }
        supervision = world.schedule(after: parameters.supervisionDuration) { [self] in
            end(centralReason: .connectionTimeout, peripheralReason: .connectionTimeout)
        }
    }

    /// Ends the link at the next connection event.
    fileprivate func terminate(by end: LinkEnd, reason: HCIStatus) {
        guard !isEnded, termination == nil else { return }
        termination = (end, reason)
        scheduleConnectionEvent()
    }

    /// Completes the termination at the end that requested it.
    private func complete(_ end: LinkEnd, reason: HCIStatus) {
        let own = (end.side.node as? Controller)?.configuration.reportsLocalDisconnects == true
        let told = own ? .connectionTerminatedByLocalHost : reason
        self.end(centralReason: end.isCentral ? told : reason, peripheralReason: end.isCentral ? reason : told)
    }

    /// Takes the link down and releases its references.
    private func takeDown() {
        isEnded = true
        connectionEvent?.cancel()
        supervision?.cancel()
        // The end in it retains the link.
        termination = nil
        for side in [central, peripheral] {
            world.statistics.packetsLostWithLink += side.queue.count
            side.queue.removeAll()
        }
        world.remove(self)
    }

    /// Ends the link at once.
    func end(centralReason: HCIStatus, peripheralReason: HCIStatus) {
        guard !isEnded else { return }
        takeDown()
        let (centralEnd, peripheralEnd) = (ends[0], ends[1])
        centralEnd.side.node.linkEnded(centralEnd, reason: centralReason)
        peripheralEnd.side.node.linkEnded(peripheralEnd, reason: peripheralReason)
        world.updateAdvertising()
    }

    /// Lets one side vanish: the other one notices after the supervision time-out.
    func abandon(by end: LinkEnd) {
        guard !isEnded else { return }
        takeDown()
        let other = end.other
        world.schedule(after: parameters.supervisionDuration) { [weak node = other.side.node] in
            node?.linkEnded(other, reason: .connectionTimeout)
        }
    }

    /// Ends the link at once, for the same reason on both sides.
    func end(reason: HCIStatus) {
        end(centralReason: reason, peripheralReason: reason)
    }
}
