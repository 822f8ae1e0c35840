import ExampleSupport
import Synchronization

/// The serial port for programs: a pseudo terminal, a TCP port, or both.
///
/// The device's bytes go to both. They wait, in a bounded buffer each, for a program that reads slowly: those for the
/// terminal also while no program has it open, as in the kernel's own buffer; without a TCP client there is nobody to
/// keep them for.
final class BridgePorts: Sendable {
    let terminal: PseudoTerminal?
    let tcp: TCPPort?

    private let terminalOutput: UnreadBytes
    private let capacity: Int
    private let report: BridgeReport
    private let client = Mutex<BridgeClient?>(nil)
    private let unreadByClients = Mutex(0)

    init(
        pty link: String?, access: TerminalAccess, tcp address: NetworkAddress?, capacity: Int, _ report: BridgeReport
    ) throws {
        (self.capacity, self.report) = (capacity, report)
        let output = UnreadBytes(capacity: capacity)
        terminalOutput = output
        terminal = try link.map {
            try PseudoTerminal(link: $0, access: access) { output.removeAll() }
        }
        tcp = try address.map { try TCPPort(at: $0) }
    }

    /// The number of the device's bytes that were dropped since a program did not read them.
    var unreadByteCount: Int { terminalOutput.droppedCount + unreadByClients.withLock { $0 } }

    /// Passes bytes of the device to the programs.
    func deliver(_ bytes: [UInt8]) {
        if let terminal {
            report.unread(terminalOutput.append(bytes), by: terminal.link ?? terminal.path)
        }
        if let client = client.withLock({ $0 }) {
            let dropped = client.output.append(bytes)
            // A client that has closed its side may have left.
            if dropped > 0, !client.hasEndedInput {
                unreadByClients.withLock { $0 += dropped }
                report.unread(dropped, by: client.connection.peer)
            }
        }
    }

    /// Passes the bytes of programs to `send`, until the task is cancelled; a program's writing blocks meanwhile.
    func run(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let terminal {
                group.addTask { while let bytes = try await terminal.read() { try await send(bytes) } }
                group.addTask { [self] in try await writeTerminal(terminal) }
            }
            if let tcp { group.addTask { [self] in try await serve(tcp, send) } }
            defer { group.cancelAll() }
            // The first to end has failed, or the task is cancelled.
            try await group.next()
        }
    }

    private func writeTerminal(_ terminal: PseudoTerminal) async throws {
        for await _ in terminalOutput.additions {
            while !Task.isCancelled {
                try terminal.noticeDiscarding()
                if try terminalOutput.drain(terminal.tryWrite) { break }
                await terminal.waitUntilWritable()
            }
        }
    }

    private func serve(_ tcp: TCPPort, _ send: @escaping @Sendable ([UInt8]) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            while let connection = try await tcp.accept() {
                let next = BridgeClient(connection, capacity: capacity)
                let (isFree, previous) = client.withLock { client in
                    // One that has closed its side is only written to.
                    guard client?.hasEndedInput ?? true else { return (false, BridgeClient?.none) }
                    defer { client = next }
                    return (true, client)
                }
                report.client(connection.peer, isFree ? .connected : .refused)
                guard isFree else { continue }
                previous?.leave()
                group.addTask { [self] in
                    try await next.serve(send) { [report] in report.client(connection.peer, .closed) }
                    client.withLock { if $0 === next { $0 = nil } }
                }
            }
        }
    }
}

/// A TCP client of the bridge.
final class BridgeClient: Sendable {
    let connection: TCPClient
    let output: UnreadBytes

    private let inputHasEnded = Atomic(false)
    private let departure = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ connection: TCPClient, capacity: Int) {
        self.connection = connection
        output = UnreadBytes(capacity: capacity)
    }

    /// Whether it has closed its side: it may still read, or have left.
    var hasEndedInput: Bool { inputHasEnded.load(ordering: .sequentiallyConsistent) }

    /// Ends ``serve(_:onClose:)``.
    func leave() { departure.continuation.finish() }

    /// Moves bytes in both directions until the client has left, or ``leave()``. An error of the connection ends only
    /// this client; one of `send` is thrown.
    func serve(
        _ send: @escaping @Sendable ([UInt8]) async throws -> Void, onClose: @escaping @Sendable () -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { [self] in
                while case let bytes = (try? await connection.read()) ?? [], !bytes.isEmpty { try await send(bytes) }
                guard !Task.isCancelled else { return true }
                inputHasEnded.store(true, ordering: .sequentiallyConsistent)
                onClose()
                return false
            }
            group.addTask { [self] in
                await write()
                return true
            }
            group.addTask { [departure] in
                for await _ in departure.stream {}
                return true
            }
            defer { group.cancelAll() }
            while let isTheEnd = try await group.next(), !isTheEnd {}
            if !hasEndedInput, !Task.isCancelled { onClose() }
        }
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
