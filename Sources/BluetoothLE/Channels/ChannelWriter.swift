import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The queue of writes to a channel.
struct ChannelWriter {
    /// The maximum number of waiting calls.
    private static let limit = 1024

    private var waiting = RingBuffer<ChannelWrite>()
    private var isSocketFull = false
    /// Whether something was sent since the host reported the channel writable: the peer may not have granted credits
    /// for all of it.
    private(set) var mayLackCredits = false

    /// Enqueues a write.
    /// - Throws: `.overflow`.
    mutating func add(_ write: ChannelWrite) throws(BluetoothError) {
        if waiting.count >= Self.limit { waiting.removeAll { $0.call.isResolved } }
        guard waiting.count < Self.limit else {
            throw BluetoothError(
                .overflow, write.operation, "\(waiting.count) calls are already waiting on this channel.",
                remedy: "Wait for some of them before you make more calls.", isRetryable: true)
        }
        waiting.append(write)
    }

    /// Continues writing, as the host reports the channel writable.
    mutating func channelCanSend(_ channel: any HostChannel, upTo longest: Int) {
        (isSocketFull, mayLackCredits) = (false, false)
        advance(channel, upTo: longest, isToldWritable: true)
    }

    /// Sends SDUs of at most `longest` bytes until the queue is empty or the channel is full.
    mutating func advance(_ channel: any HostChannel, upTo longest: Int, isToldWritable: Bool = false) {
        while !isSocketFull, let write = waiting.first {
            guard !write.call.isResolved else {
                _ = waiting.popFirst()
                continue
            }
            if write.awaitsRoom {
                write.awaitsRoom = false
                return waitForRoom(channel)
            }
            guard !write.isDone else {
                _ = waiting.popFirst()
                write.call.succeed()
                continue
            }
            switch write.sendNext(limit: longest, to: channel) {
            case .sent: mayLackCredits = true
            case .wouldBlock, .held: return waitForRoom(channel)
            case .failed(let error):
                // The end is reported as an event, after what has arrived before. Without one, the host reports when
                // the channel is writable again. A failure even then, or because of the length, fails this call alone.
                guard isToldWritable || error.isTooLong else { return waitForRoom(channel) }
                _ = waiting.popFirst()
                write.fail(.refusedSDU(write.operation, error))
            }
        }
    }

    private mutating func waitForRoom(_ channel: any HostChannel) {
        isSocketFull = true
        channel.notifyWhenWritable()
    }

    /// Fails all writes.
    mutating func end(_ reason: BluetoothError) {
        while let write = waiting.popFirst() { write.fail(reason) }
    }
}

/// A write in progress, with its waiting caller.
final class ChannelWrite {
    let call = Promise<Void, BluetoothError>()
    let operation: BluetoothError.Operation
    /// Whether the channel must become writable once more before this write is complete.
    fileprivate var awaitsRoom = false
    private let bytes: [UInt8]
    private var sent = 0

    init(_ bytes: [UInt8], _ operation: BluetoothError.Operation) {
        self.bytes = bytes
        self.operation = operation
    }

    /// Creates a write of no bytes, which completes when the channel is writable again.
    convenience init(flush operation: BluetoothError.Operation) {
        self.init([], operation)
        awaitsRoom = true
    }

    var isDone: Bool { sent == bytes.count }

    func sendNext(limit: Int, to channel: any HostChannel) -> ChannelSend {
        let count = min(max(1, limit), bytes.count - sent)
        let bytes = bytes
        let outcome = channel.send(bytes.span.bytes.extracting(sent..<sent + count))
        if outcome == .sent { sent += count }
        return outcome
    }

    func fail(_ reason: BluetoothError) { call.fail(reason.during(operation)) }

    /// The error with the number of bytes already sent.
    func explained(_ error: BluetoothError) -> BluetoothError {
        guard !bytes.isEmpty else { return error }
        var error = error
        error.sentByteCount = sent
        error.message += " The kernel had accepted \(sent) of \(bytes.count) bytes."
        return error
    }
}

extension BluetoothError {
    /// The error for an SDU that the host refused although the channel is open.
    fileprivate static func refusedSDU(_ operation: Operation, _ error: ChannelFailure) -> BluetoothError {
        BluetoothError(
            error.isTooLong ? .invalidArgument : .failed, operation,
            "The kernel refused an SDU: \(error).", cause: error.cause)
    }
}
