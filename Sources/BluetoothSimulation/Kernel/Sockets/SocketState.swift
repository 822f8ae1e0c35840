import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The kernel's accounting of socket buffers.
enum SocketBuffer {
    /// The default of SO_SNDBUF and SO_RCVBUF, and the maximum for an unprivileged process.
    static let defaultBytes = 212_992
    /// The minimum of a socket's send buffer.
    static let minimumSendBytes = 4_608
    /// The minimum of a socket's receive buffer.
    static let minimumReceiveBytes = 2_304

    /// The cost of a packet: its data with headers in a block of a power of two, 512 at least, and the kernel's
    /// overhead.
    static func cost(of byteCount: Int) -> Int {
        let wanted = byteCount + 12 + 320
        var block = 512
        while block < wanted { block *= 2 }
        return block + 256
    }

    /// The kernel doubles the requested size.
    static func bytes(asked: Int?, minimum: Int, isForced: Bool) -> Int {
        guard let asked else { return defaultBytes }
        let bounded = min(max(0, asked), isForced ? Int(Int32.max / 2) : defaultBytes)
        return max(minimum, 2 * bounded)
    }
}

/// The state of a socket in the simulated kernel.
//
// Holds more than ten variables: the receive buffer, the room to send and the end of one kernel socket.
class SocketState {
    let identifier: Int
    unowned let world: KernelWorld
    var handler: LoopBound<SocketHandler>?
    private var inbox = Inbox()
    /// The size of the receive buffer.
    var inboxLimit = SocketBuffer.defaultBytes
    private var wantsWritable = false
    private var isWritableAnnounced = false
    /// The error with which the socket has ended.
    private(set) var endError: KernelError?
    /// Whether a call has consumed the error, which happens once.
    private var isErrorTaken = false
    private(set) var isEndReported = false
    private(set) var isClosed = false

    /// The packets that were not received yet, and the handler of the events.
    private struct Inbox {
        var packets = RingBuffer<[UInt8]>()
        var cost = 0
        var isReading = true
        var isAnnounced = false
        /// The number of consecutive readable events after which the program received nothing.
        var ignoredCount = 0
        var reminder: ScheduledEvent?
    }

    init(world: KernelWorld, handler: LoopBound<SocketHandler>?) {
        self.world = world
        self.handler = handler
        identifier = world.makeIdentifier()
        world.sockets[identifier] = self
    }

    /// The free bytes of the receive buffer, by the kernel's count.
    var room: Int { max(0, inboxLimit - inbox.cost) }

    // MARK: Overridden by the kinds of socket

    /// Called after the program has received a packet.
    func roomMade() {}

    /// Whether a packet can be sent, or enough of them for the kernel to report it.
    var isWritable: Bool { true }

    /// Sends a packet; only called while the socket is open and has not ended.
    func acceptOutgoing(_ packet: [UInt8]) -> SendOutcome { .failed(KernelError("send", .notConnected)) }

    /// Called after the program has closed the socket.
    func didClose() {}

    // MARK: Calls

    func send(_ packet: [UInt8]) -> SendOutcome {
        guard !isClosed else { return .failed(KernelError("send", .notConnected)) }
        if let error = endError {
            guard !isErrorTaken, !isEndReported else { return .failed(KernelError("send", .notConnected)) }
            isErrorTaken = true
            return .failed(KernelError("send", error.number))
        }
        return acceptOutgoing(packet)
    }

    /// Receives a packet; nil when there is none, with the result to report.
    func receive() -> (packet: [UInt8]?, outcome: ReceiveOutcome) {
        guard !isClosed else { return (nil, .failed(KernelError("recv", .notConnected))) }
        // The error of the end comes before queued packets.
        if let error = endError, !isErrorTaken, !isEndReported {
            isErrorTaken = true
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

    /// Requests a writable event, for the program or on its behalf, as for a new connection.
    func notifyWhenWritable() {
        guard !isClosed, endError == nil else { return }
        wantsWritable = true
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
        world.sockets[identifier] = nil
        didClose()
    }

    // MARK: Events

    /// Puts a packet into the receive buffer; returns whether there was room.
    @discardableResult
    func deliver(_ packet: [UInt8], hasCredits: Bool = false) -> Bool {
        guard !isClosed, endError == nil else { return false }
        guard hasCredits || inbox.cost < inboxLimit else { return false }
        inbox.cost += SocketBuffer.cost(of: packet.count)
        inbox.packets.append(packet)
        announceReadable()
        return true
    }

    /// Ends the socket: its handler is notified, and it sends and receives nothing new.
    func fail(_ error: KernelError) {
        guard !isClosed, endError == nil else { return }
        endError = error
        world.post(.socket(identifier, .closed(error)))
    }

    /// Must be called whenever the socket may have become writable.
    func writabilityChanged() {
        guard wantsWritable, isWritable, !isWritableAnnounced, !isClosed, endError == nil else { return }
        isWritableAnnounced = true
        world.post(.socket(identifier, .writable))
    }

    func announceReadable() {
        guard inbox.isReading, !inbox.packets.isEmpty, !inbox.isAnnounced, !isClosed, endError == nil else { return }
        inbox.isAnnounced = true
        inbox.reminder?.cancel()
        world.post(.socket(identifier, .readable))
    }

    /// Must be called when the program was notified of packets: as long as there are some, it is notified again.
    ///
    /// A program that receives none would keep the loop busy, and in virtual time that would stop the clock; it is
    /// notified less and less often.
    func didReportReadable() {
        guard inbox.ignoredCount > 0, !inbox.packets.isEmpty else {
            inbox.ignoredCount = 1
            return announceReadable()
        }
        let delay = Duration.milliseconds(1 << min(inbox.ignoredCount, 10))
        inbox.ignoredCount += 1
        inbox.reminder = world.schedule(after: delay) { [weak self] in self?.announceReadable() }
    }

    // MARK: Delivery

    /// Sets the handler of an accepted socket, and delivers the events so far.
    func install(_ handler: LoopBound<SocketHandler>) {
        guard !isClosed else {
            world.release(handler)
            return
        }
        self.handler = handler
        announceReadable()
        if let endError, !isEndReported { world.post(.socket(identifier, .closed(endError))) }
    }

    /// The handler of a queued event; nil when the event no longer applies.
    func handler(for event: SocketEvent) -> LoopBound<SocketHandler>? {
        switch event {
        case .readable:
            inbox.isAnnounced = false
            return inbox.isReading && !inbox.packets.isEmpty && endError == nil ? handler : nil
        case .writable:
            isWritableAnnounced = false
            guard isWritable, endError == nil else { return nil }
            wantsWritable = false
            return handler
        case .closed:
            guard !isEndReported else { return nil }
            isEndReported = true
            return handler
        }
    }
}

/// A kernel's open sockets of one kind.
class SocketList<Socket: SocketState> {
    var sockets: [Socket] = []
}
