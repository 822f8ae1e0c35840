import BluetoothSockets
import BluetoothPrimitives

/// How the kernel counts socket buffers.
enum SocketBuffer {
    /// What SO_SNDBUF and SO_RCVBUF are when nobody sets them, and the most an unprivileged process can ask for.
    static let defaultBytes = 212_992
    /// The least a socket's send buffer can be made.
    static let minimumSendBytes = 4_608
    /// The least a socket's receive buffer can be made.
    static let minimumReceiveBytes = 2_304

    /// What a packet costs: its data with headers in a block of a power of two, 512 at least, and the kernel's
    /// description of it.
    static func cost(of byteCount: Int) -> Int {
        let wanted = byteCount + 12 + 320
        var block = 512
        while block < wanted { block *= 2 }
        return block + 256
    }

    /// The kernel doubles what is asked for.
    static func bytes(asked: Int?, minimum: Int, isForced: Bool) -> Int {
        guard let asked else { return defaultBytes }
        let bounded = min(max(0, asked), isForced ? Int(Int32.max / 2) : defaultBytes)
        return max(minimum, 2 * bounded)
    }
}

/// What the simulated kernel knows of a socket.
class SocketState {
    let identifier: Int
    unowned let world: KernelWorld
    var handler: LoopBound<SocketHandler>?
    private var inbox = Inbox()
    private var writability = Writability()
    private var ending = Ending()
    private(set) var isClosed = false

    /// What has come and was not received, and who is told of it.
    private struct Inbox {
        var packets = RingBuffer<[UInt8]>()
        var cost = 0
        var limit = SocketBuffer.defaultBytes
        var isReading = true
        var isAnnounced = false
        /// How often in a row its program was told of packets and took none.
        var ignoredCount = 0
        var reminder: ScheduledEvent?
    }

    private struct Writability {
        var isWanted = false
        var isAnnounced = false
    }

    private struct Ending {
        /// Why the socket has ended.
        var error: KernelError?
        /// Whether a call has taken the error, which happens once.
        var isErrorTaken = false
        var isTold = false
    }

    /// Why the socket has ended.
    var endError: KernelError? { ending.error }
    var isEndTold: Bool { ending.isTold }
    /// How much may wait to be received.
    var inboxLimit: Int {
        get { inbox.limit }
        set { inbox.limit = newValue }
    }

    init(world: KernelWorld, handler: LoopBound<SocketHandler>?) {
        self.world = world
        self.handler = handler
        identifier = world.makeIdentifier()
        world.add(self)
    }

    /// Whether the receive buffer takes another packet.
    var hasRoomForPackets: Bool { inbox.cost < inbox.limit }
    /// How many bytes of the receive buffer are free, by the kernel's count.
    var room: Int { max(0, inbox.limit - inbox.cost) }

    // MARK: What the kinds of socket decide

    /// The program has taken a packet out.
    func roomMade() {}

    /// Whether a packet can be sent, or enough of them that the kernel says so.
    var isWritable: Bool { true }

    /// Takes a packet to be sent; only asked while the socket is open and has not ended.
    func takeOutgoing(_ packet: [UInt8]) -> SendOutcome { .failed(KernelError("send", .notConnected)) }

    /// The program has closed the socket.
    func didClose() {}

    // MARK: Calls

    func send(_ packet: [UInt8]) -> SendOutcome {
        guard !isClosed else { return .failed(KernelError("send", .notConnected)) }
        if let error = endError {
            guard !ending.isErrorTaken, !isEndTold else { return .failed(KernelError("send", .notConnected)) }
            ending.isErrorTaken = true
            return .failed(KernelError("send", error.number))
        }
        return takeOutgoing(packet)
    }

    /// Takes a packet out; nil when there is none, with the outcome to report.
    func receive() -> (packet: [UInt8]?, outcome: ReceiveOutcome) {
        guard !isClosed else { return (nil, .failed(KernelError("recv", .notConnected))) }
        // The error of the end comes before what is still queued.
        if let error = endError, !ending.isErrorTaken, !isEndTold {
            ending.isErrorTaken = true
            return (nil, .failed(KernelError("recv", error.number)))
        }
        if let packet = inbox.packets.popFirst() {
            inbox.ignoredCount = 0
            inbox.cost -= SocketBuffer.cost(of: packet.count)
            roomMade()
            return (packet, .packet)
        }
        return (nil, endError == nil ? .wouldBlock : .failed(KernelError("recv", .notConnected)))
    }

    func notifyWhenWritable() {
        guard !isClosed, endError == nil else { return }
        writability.isWanted = true
        writabilityChanged()
    }

    func setReading(_ isOn: Bool) {
        inbox.isReading = isOn
        announceReadable()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        if let handler { world.release(handler) }
        handler = nil
        world.remove(self)
        didClose()
    }

    // MARK: What happens to it

    /// Puts a packet into the receive buffer; says whether there was room.
    @discardableResult
    func deliver(_ packet: [UInt8], hasCredits: Bool = false) -> Bool {
        guard !isClosed, endError == nil else { return false }
        guard hasCredits || hasRoomForPackets else { return false }
        inbox.cost += SocketBuffer.cost(of: packet.count)
        inbox.packets.append(packet)
        announceReadable()
        return true
    }

    /// Ends the socket: it is told, and sends and receives nothing new.
    func fail(_ error: KernelError) {
        guard !isClosed, endError == nil else { return }
        ending.error = error
        world.tell(.socket(identifier, .closed(error)))
    }

    /// Asks for a writable event without having been asked to, as for a connection that came about.
    func announceWritable() {
        writability.isWanted = true
        writabilityChanged()
    }

    /// To be called whenever the socket may have become writable.
    func writabilityChanged() {
        guard writability.isWanted, isWritable, !writability.isAnnounced, !isClosed, endError == nil else { return }
        writability.isAnnounced = true
        world.tell(.socket(identifier, .writable))
    }

    func announceReadable() {
        guard inbox.isReading, !inbox.packets.isEmpty, !inbox.isAnnounced, !isClosed, endError == nil else { return }
        inbox.isAnnounced = true
        inbox.reminder?.cancel()
        world.tell(.socket(identifier, .readable))
    }

    /// To be called when the program has been told of packets: as long as there are some, it is told again.
    ///
    /// A program that takes none would keep the loop busy, and in virtual time that would stop the clock; it is told
    /// less and less often.
    func toldReadable() {
        guard inbox.ignoredCount > 0, !inbox.packets.isEmpty else {
            inbox.ignoredCount = 1
            return announceReadable()
        }
        let delay = Duration.milliseconds(1 << min(inbox.ignoredCount, 10))
        inbox.ignoredCount += 1
        inbox.reminder = world.schedule(after: delay) { [weak self] in self?.announceReadable() }
    }

    // MARK: Telling

    /// Takes over the handler of a socket that was accepted, and tells it what has happened so far.
    func install(_ handler: LoopBound<SocketHandler>) {
        guard !isClosed else {
            world.release(handler)
            return
        }
        self.handler = handler
        announceReadable()
        if let endError, !isEndTold { world.tell(.socket(identifier, .closed(endError))) }
    }

    /// Whom to tell an event now that it is its turn; nil when it is no longer true.
    func handler(for event: SocketEvent) -> LoopBound<SocketHandler>? {
        switch event {
        case .readable:
            inbox.isAnnounced = false
            return inbox.isReading && !inbox.packets.isEmpty && endError == nil ? handler : nil
        case .writable:
            writability.isAnnounced = false
            guard isWritable, endError == nil else { return nil }
            writability.isWanted = false
            return handler
        case .closed:
            guard !isEndTold else { return nil }
            ending.isTold = true
            return handler
        }
    }
}
