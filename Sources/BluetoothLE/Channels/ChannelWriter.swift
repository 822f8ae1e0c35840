import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// What waits to be written to a channel, first first.
struct ChannelWriter {
    /// How many calls may wait.
    private static let limit = 1024

    private var waiting = RingBuffer<ChannelWrite>()
    private var isSocketFull = false

    /// Has something written after what waits.
    /// - Throws: `.overflow`.
    mutating func add(_ write: ChannelWrite) throws(BluetoothError) {
        if waiting.count >= Self.limit { waiting.removeAll { $0.call.isResolved } }
        guard waiting.count < Self.limit else {
            throw BluetoothError(
                .overflow, write.operation, "\(waiting.count) calls are waiting on this channel already.",
                remedy: "Wait for some of them before making more.", isRetryable: true)
        }
        waiting.append(write)
    }

    /// The channel tells that it can send.
    mutating func channelCanSend(_ channel: any HostChannel, upTo longest: Int) {
        isSocketFull = false
        advance(channel, upTo: longest, isToldWritable: true)
    }

    /// Hands over SDUs of at most `longest` bytes until nothing is left or the channel is full.
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
            case .sent: break
            case .wouldBlock: return waitForRoom(channel)
            case .failed(let error):
                // The end is told as an event, with what has arrived before. Where there is none, the host tells when
                // it is worth trying again. What is refused all the same, or for its length, is this call's.
                guard isToldWritable || error.kind == .tooLong else { return waitForRoom(channel) }
                _ = waiting.popFirst()
                write.fail(.refusedSDU(write.operation, error))
            }
        }
    }

    private mutating func waitForRoom(_ channel: any HostChannel) {
        isSocketFull = true
        channel.notifyWhenWritable()
    }

    /// Nothing more is written.
    mutating func end(_ reason: BluetoothError) {
        while let write = waiting.popFirst() { write.fail(reason) }
    }
}

/// Bytes that are being written, with the caller that waits.
final class ChannelWrite {
    let call = Promise<Void, BluetoothError>()
    let operation: BluetoothError.Operation
    /// Whether the channel has to take packets again before this counts as done.
    fileprivate var awaitsRoom = false
    private let bytes: [UInt8]
    private var sent = 0

    init(_ bytes: [UInt8], _ operation: BluetoothError.Operation) {
        self.bytes = bytes
        self.operation = operation
    }

    /// Writes nothing, and waits until the channel takes packets again.
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

    /// The error, with how far it got.
    func explained(_ error: BluetoothError) -> BluetoothError {
        guard !bytes.isEmpty else { return error }
        var error = error
        error.message += " The kernel had taken \(sent) of \(bytes.count) bytes."
        return error
    }
}

extension BluetoothError {
    /// The host does not send an SDU, although the channel has not ended.
    fileprivate static func refusedSDU(_ operation: Operation, _ error: ChannelFailure) -> BluetoothError {
        BluetoothError(
            error.kind == .tooLong ? .invalidArgument : .failed, operation,
            "The kernel refused an SDU: \(error).", cause: error.cause)
    }
}
