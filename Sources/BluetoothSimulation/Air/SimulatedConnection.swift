import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

extension LEActiveConnectionParameters {
    /// The connection interval.
    var intervalDuration: Duration { .microseconds(1250) * Int(max(1, interval)) }
    /// The supervision timeout.
    var supervisionDuration: Duration { .milliseconds(10) * Int(max(1, supervisionTimeout)) }
}

/// The state of one side of a link.
//
// Holds more than ten variables: a link has each of them once for either side.
final class LinkSide {
    let identifier: Int
    /// The device; the simulation retains it as long as it has links.
    unowned let node: RadioNode
    /// The handle that this side's controller assigned to the link.
    let handle: ConnectionHandle
    let address: BluetoothAddress
    /// What the controller has to send.
    fileprivate(set) var queue = SendQueue()
    /// The limits that this side's host has set for the packets that it sends; nil until it does.
    var transmitLimits: DataLengthLimits?
    /// Whether this side's host prefers S=2 to S=8 on LE Coded; nil without a preference.
    var prefersS2: Bool?
    /// Whether this side's controller sends; otherwise its buffers stay full.
    fileprivate(set) var isSending = true
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

    /// What there is to send at the beginning of an exchange.
    var backlog: ConnectionEvent.Backlog { isSending ? queue.backlog : ConnectionEvent.Backlog() }
    fileprivate var hasWork: Bool { isSending && !queue.isEmpty }
}

/// One end of a link, as the device there sees it.
struct LinkEnd {
    /// The number of HCI ACL data packets that a controller buffers.
    static let bufferCount = 12

    let link: SimulatedConnection
    let isCentral: Bool

    var side: LinkSide { isCentral ? link.central : link.peripheral }
    var other: LinkEnd { LinkEnd(link: link, isCentral: !isCentral) }
    var handle: ConnectionHandle { side.handle }
    var localAddress: BluetoothAddress { side.address }
    var peerAddress: BluetoothAddress { other.side.address }
    /// Whether the controller has a free buffer; the rest of a longer message waits in the host.
    var hasRoom: Bool { side.queue.aclPacketCount < Self.bufferCount && !link.isEnded }

    /// Passes a message to this end's controller.
    func send(_ message: LinkMessage) {
        guard !link.isEnded else { return }
        side.queue.append(message)
        link.events.update()
    }

    /// Pauses or resumes the packets that this end's controller sends.
    func setSending(_ isSending: Bool) {
        side.isSending = isSending
        link.events.update()
    }

    /// Sends what the device at the other end is told on arrival.
    func tell(_ notice: LinkNotice, byteCount: Int = LinkMessage.controlByteCount) {
        send(.procedure(byteCount) { other.receive(notice) })
    }

    /// Ends the link from this end; the other end learns of it at the next connection event.
    func disconnect(reason: HCIStatus) {
        link.terminate(by: self, reason: reason)
    }

    /// Sends a request, and performs `action` when the peer's answer arrives.
    func ask(_ byteCount: Int = LinkMessage.controlByteCount, _ action: @escaping () -> Void) {
        send(.procedure(byteCount) { other.send(.procedure(byteCount, action)) })
    }

    /// Reports to the device at this end.
    func receive(_ notice: LinkNotice) {
        side.node.receive(notice, on: self)
    }
}

/// A connection between two devices: packets cross it in connection events, in order, and it ends when its sides do not
/// receive each other for the supervision timeout (Core Vol 6 Part B §4.5).
///
/// The connection events of several links of a device may overlap: each link behaves as if it had the radio alone.
final class SimulatedConnection {
    unowned let world: World
    let central: LinkSide
    let peripheral: LinkSide
    private(set) var parameters: LEActiveConnectionParameters
    var phy: LEPHY
    var security = LinkSecurity(level: .low, keySize: 0)
    private(set) var isEnded = false

    private(set) lazy var events = ConnectionEvents(link: self)
    private var supervision: ScheduledEvent?
    private var termination: (by: LinkEnd, reason: HCIStatus, isSent: Bool)?

    init(
        world: World, central: LinkSide, peripheral: LinkSide, phy: LEPHY, parameters: LEActiveConnectionParameters
    ) {
        self.world = world
        self.central = central
        self.peripheral = peripheral
        self.phy = phy
        self.parameters = parameters
        _ = events
    }

    var ends: [LinkEnd] { [LinkEnd(link: self, isCentral: true), LinkEnd(link: self, isCentral: false)] }
    private var isInRange: Bool { world.isReachable(central.node, peripheral.node) }

    /// Changes the connection parameters from now on.
    func setParameters(_ parameters: LEActiveConnectionParameters) {
        self.parameters = parameters
        events.restart()
        if supervision != nil {
            supervision?.cancel()
            supervision = nil
            reachabilityChanged()
        }
    }

    /// Executes `action` at the instant of a Link Layer procedure: the sixth event after the current one, by which both
    /// sides are sure to have received it (Core Vol 6 Part B §5.1.1, §5.1.10).
    func atInstant(_ action: @escaping () -> Void) {
        world.schedule(at: events.instant(after: 6)) { [self] in
            if !isEnded { action() }
        }
    }

    // MARK: Connection events

    /// Whether the two sides receive each other.
    var canExchange: Bool { !isEnded && isInRange }
    /// Whether there is anything to send.
    var hasWork: Bool { termination != nil || central.hasWork || peripheral.hasWork }
    /// Whether the peripheral has anything to send.
    var peripheralHasWork: Bool { peripheral.hasWork || termination?.by.isCentral == false }

    /// The rules of the next connection event.
    var rules: ConnectionEvent.Rules {
        ConnectionEvent.Rules(
            central: ends[0].packetLimits, peripheral: ends[1].packetLimits, isEncrypted: security.keySize > 0,
            exchangeLimit: world.conditions.packetsPerConnectionEvent.map { max(1, $0) })
    }

    /// Delivers the first message of one side, whose last packet the other has received.
    func receive(_ isCentral: Bool) {
        let end = LinkEnd(link: self, isCentral: isCentral)
        guard let message = end.side.queue.removeFirst() else { return }
        deliver(message, from: end)
        if end.hasRoom, termination == nil { end.receive(.room) }
    }

    /// Whether a side is ending the link.
    var isTerminating: Bool { termination != nil }
    /// Whether the termination has not gone out yet.
    var isTerminationUnsent: Bool { termination?.isSent == false }

    /// Handles the beginning of an exchange, in which a termination goes out.
    func exchangeBegins() {
        termination?.isSent = true
    }

    /// Handles the end of a connection event.
    func eventFinished() {
        if let termination, termination.isSent { complete(termination.by, reason: termination.reason) }
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
        switch message.content {
        case .data(let channel, let packet):
            world.statistics.packetsDelivered += 1
            end.receive(.packet(packet, channel: channel))
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
            events.update()
            return
        }
        events.stop()
        guard supervision == nil else { return }
        supervision = world.schedule(after: parameters.supervisionDuration) { [self] in
            end(reason: .connectionTimeout)
        }
    }

    /// Ends the link at the next connection event.
    fileprivate func terminate(by end: LinkEnd, reason: HCIStatus) {
        guard !isEnded, termination == nil else { return }
        termination = (end, reason, false)
        events.update()
    }

    /// Completes the termination at the end that requested it.
    private func complete(_ end: LinkEnd, reason: HCIStatus) {
        let own = (end.side.node as? Controller)?.configuration.reportsLocalDisconnects == true
        self.end(at: end, reason: own ? .connectionTerminatedByLocalHost : reason, other: reason)
    }

    /// Takes the link down and releases its references.
    private func takeDown() {
        isEnded = true
        events.stop()
        supervision?.cancel()
        // The end in it retains the link.
        termination = nil
        for side in [central, peripheral] {
            world.statistics.packetsLostWithLink += side.queue.count
            side.queue.removeAll()
        }
        world.remove(self)
    }

    /// Ends the link at once, for `reason` at one end and for `other` at the other.
    func end(at one: LinkEnd, reason: HCIStatus, other: HCIStatus) {
        guard !isEnded else { return }
        takeDown()
        for end in ends { end.side.node.linkEnded(end, reason: end.isCentral == one.isCentral ? reason : other) }
    }

    /// Lets one side vanish: the other one notices after the supervision timeout.
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
        end(at: ends[0], reason: reason, other: reason)
    }
}
