import BluetoothCryptography
import BluetoothLE
import BluetoothPrimitives
import Synchronization

/// The image that a client begins to upload to a ``FirmwareUpdateService``.
public struct FirmwareUpload: Hashable, Sendable {
    /// The number of the image.
    public let image: Int
    /// The number of bytes of the file.
    public let length: Int
    /// The SHA-256 of the file; nil when the client does not send it.
    public let hash: [UInt8]?
    /// Whether an image that is not newer than the one that runs is to be refused.
    public let isUpgrade: Bool
}

/// The storage of a device that takes firmware from a ``FirmwareUpdateService``.
///
/// Every method may throw a ``FirmwareStatus``, which the client receives; any other error becomes
/// ``FirmwareStatus/unknown``. The service calls one method at a time. A method may take as long as clients wait, which is
/// 40 s for a ``FirmwareUpdater``; it is cancelled when the service's `run` ends, which waits for it, and not by the end
/// of a link.
public protocol FirmwareStore: Sendable {
    /// The images in the device's slots.
    func images() async throws -> [FirmwareSlot]
    /// Prepares for an upload; what an earlier one has stored is dropped.
    func begin(_ upload: FirmwareUpload) async throws
    /// Stores the bytes that follow those stored before; if it throws, none of them.
    func append(_ bytes: [UInt8]) async throws
    /// Completes the upload, whose hash has been compared.
    func finish() async throws
    /// Starts an image at the next reset once, or keeps it; a hash of nil is that of the image that runs.
    func select(_ hash: [UInt8]?, isConfirmed: Bool) async throws
    /// Restarts the device, 250 ms after the response was sent.
    nonisolated(nonsending) func reset() async
}

/// A service by which clients of MCUmgr's Simple Management Protocol update the firmware of this device.
///
/// ```swift
/// let update = FirmwareUpdateService(storingIn: store)
/// try await adapter.serve(content) { update.service } while: { published, incoming in
///     try await update.run(published, incoming)
/// }
/// ```
///
/// An upload that is interrupted continues when a client begins it again with the same hash, on whatever link, until the
/// device restarts.
public final class FirmwareUpdateService: Sendable {
    private struct Upload {
        let begin: FirmwareUpload
        var hash = SHA256()
        var offset = 0
    }

    private typealias Request = (connection: Connection, frame: SMPAssembler.Frame, restartCount: Int)

    private struct State {
        var server:
            (
                published: PublishedServices, incoming: IncomingConnections,
                requests: AsyncStream<Request>.Continuation
            )?
        var clients: [ObjectIdentifier: (connection: Connection, assembler: SMPAssembler)] = [:]
        var upload: Upload?
        /// The number of restarts that clients have asked for.
        var restartCount = 0
    }

    /// The number of requests that wait while one is performed; further ones are refused.
    private static let capacity = 16
    /// The characteristic of requests and responses.
    private let messages: LocalCharacteristic
    private let store: any FirmwareStore
    private let bufferSize: Int
    private let state = Mutex(State())

    /// A service with a store.
    /// - Parameters:
    ///   - store: the storage of the device.
    ///   - bufferSize: the length of the longest message that the service takes, at least 64 bytes; a longer one makes an
    ///     upload faster.
    ///   - permissions: the security that requests and the subscription to responses require, such as
    ///     `[.write, .writeAuthenticated]`; nil permits them over any link.
    public init(
        storingIn store: some FirmwareStore, bufferSize: Int = 4096, permissions: AttributePermissions? = nil
    ) {
        self.store = store
        self.bufferSize = min(max(bufferSize, 64), 0xFFFF)
        messages = LocalCharacteristic(
            .firmwareUpdateMessages, properties: [.writeWithoutResponse, .notify], permissions: permissions
        ) {
            // Requests are commands, whose refusal nobody sees; that of the subscription makes a client pair.
            if let permissions {
                LocalDescriptor(.clientCharacteristicConfiguration, permissions: permissions.union(.read))
            }
        }
    }

    /// The service to publish.
    public var service: LocalService {
        LocalService(
            .firmwareUpdate, characteristics: [messages.onWrite { [weak self] in try await self?.receive($0) }])
    }

    /// Answers clients until the connections end or the task is cancelled.
    /// - Parameters:
    ///   - published: the published services, with ``service`` among them.
    ///   - incoming: the connections of the clients, which this call reads.
    ///   - connected: called for each connection.
    /// - Throws: what the sequence of connections throws.
    public nonisolated(nonsending) func run(
        _ published: PublishedServices, _ incoming: IncomingConnections,
        connected: (@Sendable (Connection) -> Void)? = nil
    ) async throws(BluetoothError) {
        let (requests, continuation) = AsyncStream.makeStream(
            of: Request.self, bufferingPolicy: .bufferingOldest(Self.capacity))
        state.withLock { $0.server = (published, incoming, continuation) }
        defer { state.withLock { ($0.server, $0.clients) = (nil, [:]) } }
        // Cancelled, and waited for, when the loop is left.
        async let _: Void = answer(requests, published)
        for try await connection in incoming { connected?(connection) }
    }

    // MARK: Messages

    /// Receives a part of a message. A handler has too little time to answer those that are complete.
    private func receive(_ write: WriteRequest) async throws {
        guard let server = state.withLock({ $0.server }),
            let connection = server.incoming.connections.first(where: { $0.peer == write.peer })
        else { throw ATTErrorCode.insufficientResources }
        let client = ObjectIdentifier(connection)
        let present = Set(server.incoming.connections.map { ObjectIdentifier($0) })
        state.withLock { state in
            state.clients = state.clients.filter { present.contains($0.key) }
            state.clients[client, default: (connection, SMPAssembler(limit: bufferSize))].assembler.append(write.value)
        }
        while let frame = try state.withLock({ try $0.clients[client]?.assembler.next() }) {
            let request = (connection, frame, state.withLock { $0.restartCount })
            guard !frame.header.operation.isResponse, case .dropped = server.requests.yield(request) else { continue }
            let busy = FirmwareStatus.busy.body(version: frame.header.version)
            await send(busy, answering: frame.header, to: connection, server.published)
        }
    }

    /// Performs requests, one after the other.
    private func answer(_ requests: AsyncStream<Request>, _ published: PublishedServices) async {
        for await (connection, frame, restartCount) in requests {
            // The stream has its elements still when the task is cancelled.
            guard !Task.isCancelled else { return }
            do {
                guard let body = try? CBOR(decoding: frame.body) else { throw FirmwareStatus.invalidArgument }
                let response = try await respond(to: frame.header, body)
                await send(response, answering: frame.header, to: connection, published)
            } catch {
                let status = (error as? FirmwareStatus ?? .unknown).body(version: frame.header.version)
                await send(status, answering: frame.header, to: connection, published)
                continue
            }
            // One restart is for all who asked for it before.
            guard frame.header.command == .reset, restartCount == state.withLock({ $0.restartCount }) else { continue }
            // The kernel has the response; the link needs time for it.
            _ = await connection.loop.sleep(for: .milliseconds(250))
            state.withLock { ($0.upload, $0.restartCount) = (nil, $0.restartCount + 1) }
            await store.reset()
        }
    }

    /// Sends a response. A client that has gone, has not subscribed or does not take it within 10 s has none.
    private func send(
        _ body: [String: CBOR], answering request: SMPHeader, to connection: Connection, _ published: PublishedServices
    ) async {
        var header = request
        header.operation = request.operation.response
        let parts = header.message(body).fragments(await connection.maximumCommandLength)
        _ = try? await withTimeLimit(.seconds(10), on: connection.loop) { [published, messages] in
            for part in parts { try await published[messages].notify(part, to: connection, timeout: nil) }
        }
    }

    private func respond(to header: SMPHeader, _ body: CBOR) async throws -> [String: CBOR] {
        switch (header.operation, header.command) {
        case (.write, .echo): return ["r": .text(body["d"]?.text ?? "")]
        case (.read, .parameters): return ["buf_size": CBOR(bufferSize), "buf_count": CBOR(1)]
        case (.write, .reset): return [:]
        case (_, .imageState):
            if header.operation == .write {
                try await store.select(body["hash"]?.bytes, isConfirmed: body.isTrue("confirm"))
            }
            return ["images": .array(try await store.images().map(\.item))]
        case (.write, .imageUpload): return try await store(body)
        default: throw FirmwareStatus.unsupported
        }
    }

    // MARK: Uploads

    /// Stores a part of an image.
    private func store(_ body: CBOR) async throws -> [String: CBOR] {
        guard let offset = body["off"]?.integer, let data = body["data"]?.bytes else {
            throw FirmwareStatus.invalidArgument
        }
        if offset == 0 {
            guard let length = body["len"]?.integer, length > 0 else { throw FirmwareStatus.invalidArgument }
            let begin = FirmwareUpload(
                image: body["image"]?.integer ?? 0, length: length, hash: body["sha"]?.bytes,
                isUpgrade: body.isTrue("upgrade"))
            let isContinued = state.withLock { $0.upload?.begin == begin && begin.hash != nil }
            if !isContinued {
                state.withLock { $0.upload = nil }
                try await store.begin(begin)
                state.withLock { $0.upload = Upload(begin: begin) }
            }
        }
        guard var upload = state.withLock({ $0.upload }) else { throw FirmwareStatus.badState }
        // A part from elsewhere is not stored; the client continues at the offset.
        guard offset == upload.offset else { return ["off": CBOR(upload.offset)] }
        guard data.count <= upload.begin.length - offset else { throw FirmwareStatus(group: 1, code: 31) }
        try await store.append(data)
        upload.hash.update(data)
        upload.offset += data.count
        state.withLock { [upload] in $0.upload = upload }
        guard upload.offset == upload.begin.length else { return ["off": CBOR(upload.offset)] }
        // A complete upload is kept, for a client that has missed the last response.
        do {
            let matches = upload.begin.hash.map { $0 == upload.hash.finalize() }
            if matches == false { state.withLock { $0.upload = nil } } else { try await store.finish() }
            return ["off": CBOR(upload.offset)].merging(matches.map { ["match": .bool($0)] } ?? [:]) { $1 }
        } catch {
            state.withLock { $0.upload = nil }
            throw error
        }
    }
}
