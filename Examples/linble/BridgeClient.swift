import ExampleSupport
import Synchronization

/// A client of the bridge's TCP port or UNIX socket.
///
/// When it closes its side, its place is free, also while its last bytes wait for room; those of the next client follow
/// them.
final class BridgeClient: Sendable {
    let connection: SocketClient
    let output: UnreadBytes

    private enum Part {
        case input, output, hangUp
    }

    private let inputHasEnded = Atomic(false)
    private let hasHungUp = Atomic(false)
    /// Whether the bytes of an earlier client precede its own.
    private let isWaiting = Atomic(false)
    private let inputEnd = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let departure = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ connection: SocketClient, capacity: Int) {
        self.connection = connection
        output = UnreadBytes(capacity: capacity)
    }

    /// Whether it has closed its side, and its bytes were passed on: it may still read, or have left.
    var hasEndedInput: Bool { inputHasEnded.load(ordering: .sequentiallyConsistent) }

    /// Whether the next client may take its place: it has closed its side, and no other's bytes precede its own, so that
    /// at most one client that has left waits.
    var isReplaceable: Bool {
        hasHungUp.load(ordering: .sequentiallyConsistent) && !isWaiting.load(ordering: .sequentiallyConsistent)
    }

    /// Ends once its bytes have been passed on; nil if they have. Keeps the client's connection open for nobody.
    var endOfInput: AsyncStream<Void>? { hasEndedInput ? nil : inputEnd.stream }

    /// Ends its output.
    func leave() { departure.continuation.finish() }

    /// Moves bytes in both directions until the client has left: its input ends, and its output fails, or ends by
    /// ``leave()``. An error of the connection ends only this client; one of `send` is thrown. What the client has sent
    /// before it left is passed on, once the bytes before it have ended. Nothing of a web browser is.
    /// - Parameter onEnd: called when its input has ended, with whether it is a web browser, which is refused.
    func serve(
        _ send: @escaping @Sendable ([UInt8]) async throws -> Void, after previous: AsyncStream<Void>?,
        onEnd: @escaping @Sendable (_ isBrowser: Bool) -> Void
    ) async throws {
        isWaiting.store(previous != nil, ordering: .sequentiallyConsistent)
        defer { inputEnd.continuation.finish() }
        try await withThrowingTaskGroup(of: Part.self) { group in
            group.addTask { [self] in
                if let previous { for await _ in previous {} }
                isWaiting.store(false, ordering: .sequentiallyConsistent)
                let first = connection.usesTCP ? await firstBytes() : []
                if let first {
                    if !first.isEmpty { try await send(first) }
                    while case let bytes = (try? await connection.read()) ?? [], !bytes.isEmpty {
                        try await send(bytes)
                    }
                } else {
                    leave()
                }
                guard !Task.isCancelled else { return .input }
                inputHasEnded.store(true, ordering: .sequentiallyConsistent)
                hasHungUp.store(true, ordering: .sequentiallyConsistent)
                inputEnd.continuation.finish()
                onEnd(first == nil)
                return .input
            }
            group.addTask { [self] in
                await writeUntilLeft()
                return .output
            }
            group.addTask { [self] in
                // Without the watch, the end of the input is noticed when it is read.
                guard (try? await connection.waitUntilClosed()) != nil, !Task.isCancelled else { return .hangUp }
                hasHungUp.store(true, ordering: .sequentiallyConsistent)
                return .hangUp
            }
            defer { group.cancelAll() }
            var rest: Set<Part> = [.input, .output]
            while !rest.isEmpty, let part = try await group.next() { rest.remove(part) }
        }
    }

    /// The client's first bytes, none if its input ends; nil if they are a web browser's.
    private func firstBytes() async -> [UInt8]? {
        var bytes: [UInt8] = []
        while case let more = (try? await connection.read()) ?? [], !more.isEmpty {
            bytes += more
            switch BrowserRequest.match(bytes) {
            case .none: return bytes
            case .complete: return nil
            case .partial:
                // A browser sends them at once, and a device may have commands of one letter.
                guard (try? await upTo(.seconds(1)) { [connection] in await connection.waitUntilReadable() }) != nil
                else { return bytes }
            }
        }
        return bytes
    }

    private func writeUntilLeft() async {
        try? await untilOneEnds([{ [self] in await write() }, { [departure] in for await _ in departure.stream {} }])
    }

    /// Writes the device's bytes until the connection fails or the task is cancelled.
    private func write() async {
        for await _ in output.additions {
            while !Task.isCancelled {
                guard let isEmpty = try? output.drain(connection.tryWrite) else { return }
                if isEmpty { break }
                await connection.waitUntilWritable()
            }
        }
    }
}
