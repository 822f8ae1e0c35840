import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// The definitions of one publication at their handles: dispatches clients' requests to handlers and to the request
/// stream.
final class PublishedDefinitions: Sendable {
    /// A published value.
    struct Value: Sendable {
        let id: DefinitionID
        let uuid: BluetoothUUID
        let handlers: ValueHandlers
        /// The stored value of a definition that has handlers as well.
        let stored: StoredValue?

        init(
            _ id: DefinitionID, _ uuid: BluetoothUUID, _ handlers: ValueHandlers, _ stored: [UInt8]?,
            _ lengths: ClosedRange<Int>
        ) {
            self.id = id
            self.uuid = uuid
            self.handlers = handlers
            self.stored = handlers.isEmpty ? nil : stored.map { StoredValue($0, lengths: lengths) }
        }
    }

    private enum Requests {
        case unread
        case read(StreamChannel<ClientRequest>)
        case ended(BluetoothError?)
    }

    private let handles: [DefinitionID: AttributeHandle]
    private let values: [AttributeHandle: Value]
    private let loop: EventLoop
    private let requests = Mutex(Requests.unread)

    /// The maximum number of requests that wait for the program; beyond it the oldest is answered with Unlikely Error.
    private static let capacity = 64

    init(handles: [DefinitionID: AttributeHandle], values: [AttributeHandle: Value], on loop: EventLoop) {
        self.handles = handles
        self.values = values
        self.loop = loop
    }

    /// The handle of a definition: of a service's declaration, of a characteristic's value, of a descriptor.
    subscript(_ id: DefinitionID) -> AttributeHandle? { handles[id] }

    /// The stored value of an attribute that has handlers as well.
    func stored(at handle: AttributeHandle) -> StoredValue? { values[handle]?.stored }

    // MARK: The program's stream of requests

    func makeStream(
        _ operation: BluetoothError.Operation, keeping owner: any AnyObject & Sendable
    ) throws(BluetoothError) -> BoundedStream<ClientRequest> {
        let channel = StreamChannel<ClientRequest>(
            capacity: Self.capacity, policy: .dropOldest, operation: operation, from: loop)
        let failure = requests.withLock { requests -> BluetoothError? in
            switch requests {
            case .read(let other) where other.isOpen:
                return BluetoothError(.busy, operation, "The requests of these services are being read already.")
            case .unread, .read:
                requests = .read(channel)
            case .ended(let reason): channel.finish(reason)
            }
            return nil
        }
        if let failure { throw failure }
        return BoundedStream(channel: channel) { withExtendedLifetime(owner) { channel.abandon() } }
    }

    /// Ends the stream of requests: with the reason, or regularly when the services are withdrawn.
    func end(_ reason: BluetoothError?) {
        let channel = requests.withLock { requests -> StreamChannel<ClientRequest>? in
            defer { requests = .ended(reason) }
            if case .read(let channel) = requests { return channel }
            return nil
        }
        channel?.finish(reason)
    }

    private var channel: StreamChannel<ClientRequest>? {
        requests.withLock { if case .read(let channel) = $0, channel.isOpen { channel } else { nil } }
    }

    // MARK: Requests

    /// Answers a read. Throws the error that the client receives.
    func read(_ handle: AttributeHandle, by client: AttributeClient) async throws -> [UInt8] {
        guard let value = values[handle] else { throw ATTErrorCode.readNotPermitted }
        let request = ReadRequest(
            peer: client.address, uuid: value.uuid, target: value.id, security: client.security,
            isBonded: client.isBonded)
        if let read = value.handlers.read { return try await read(request) }
        if let stored = value.stored { return stored.bytes }
        guard value.handlers.isEmpty, let channel else { throw ATTErrorCode.readNotPermitted }
        return try await answer { question in channel.send(.read(PendingRead(request, question))) }
    }

    /// Performs the writes of one request or command. Throws the error that the client receives.
    func write(_ writes: [AttributeWrite], isCommand: Bool, by client: AttributeClient) async throws {
        var pending: [(value: Value, request: WriteRequest)] = []
        for write in writes {
            guard let value = values[write.handle] else { throw ATTErrorCode.writeNotPermitted }
            pending.append(
                (
                    value,
                    WriteRequest(
                        peer: client.address, uuid: value.uuid, target: value.id, value: write.value,
                        offset: write.offset, isCommand: isCommand, security: client.security,
                        isBonded: client.isBonded)
                ))
        }
        // Writes without handlers form one request to the program.
        let streamed = pending.filter { $0.value.handlers.isEmpty }.map(\.request)
        if !streamed.isEmpty { try await send(streamed, isCommand: isCommand) }
        for (value, request) in pending where !value.handlers.isEmpty {
            guard value.handlers.write != nil || value.stored != nil else { throw ATTErrorCode.writeNotPermitted }
            try value.stored?.check(request.value, at: request.offset)
            try await value.handlers.write?(request)
            try value.stored?.replace(with: request.value, at: request.offset)
        }
    }

    private func send(_ writes: [WriteRequest], isCommand: Bool) async throws(ATTErrorCode) {
        guard let channel else { throw .writeNotPermitted }
        if isCommand {
            // The client expects no response, so later requests need not wait.
            channel.send(.write(PendingWrite(writes, PeerQuestion { _ in false })))
        } else {
            _ = try await answer { question in channel.send(.write(PendingWrite(writes, question))) }
        }
    }

    private func answer(_ ask: (PeerQuestion) -> Void) async throws(ATTErrorCode) -> [UInt8] {
        let answer = Promise<[UInt8], ATTErrorCode>()
        ask(PeerQuestion { answer.resolve($0) })
        return try await answer.value(ifCancelled: .unlikelyError)
    }
}

/// A value that the library stores for a definition with handlers.
final class StoredValue: Sendable {
    private let value: Mutex<[UInt8]>
    private let lengths: ClosedRange<Int>

    init(_ value: [UInt8], lengths: ClosedRange<Int>) {
        self.value = Mutex(value)
        self.lengths = lengths
    }

    var bytes: [UInt8] { value.withLock { $0 } }

    /// Throws the error of a write that the value cannot hold.
    func check(_ bytes: [UInt8], at offset: Int) throws(ATTErrorCode) {
        let old = self.bytes
        guard offset <= old.count else { throw .invalidOffset }
        guard lengths.contains(result(of: bytes, at: offset, in: old).count) else {
            throw .invalidAttributeValueLength
        }
    }

    /// Performs a write, unless the value has become too short for it since the check.
    func replace(with bytes: [UInt8], at offset: Int) throws(ATTErrorCode) {
        let isDone = value.withLock { value -> Bool in
            guard offset <= value.count else { return false }
            value = result(of: bytes, at: offset, in: value)
            return true
        }
        guard isDone else { throw .invalidOffset }
    }

    /// Replaces the whole value; false when it cannot have this length.
    func set(_ bytes: [UInt8]) -> Bool {
        guard lengths.contains(bytes.count) else { return false }
        value.withLock { $0 = bytes }
        return true
    }

    /// The value after a write. At offset 0 the bytes are the whole value, unless the length is fixed: then they
    /// replace only its beginning.
    private func result(of bytes: [UInt8], at offset: Int, in old: [UInt8]) -> [UInt8] {
        let tail = lengths.count == 1 ? old.dropFirst(offset + bytes.count) : []
        return old.prefix(offset) + bytes + tail
    }
}
