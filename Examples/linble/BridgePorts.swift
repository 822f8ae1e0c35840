import ExampleSupport
import Synchronization

/// The serial port for programs: a pseudo terminal, a TCP port, a UNIX socket, or several of them. The sockets have one
/// client at a time together.
///
/// The device's bytes go to the terminal and to the client. They wait, in a bounded buffer each, for a program that reads
/// slowly: those for the terminal also while no program has it open, as in the kernel's own buffer; without a client there
/// is nobody to keep them for.
final class BridgePorts: Sendable {
    let terminal: PseudoTerminal?
    let tcp: SocketPort?
    let unix: SocketPort?

    private let terminalOutput: UnreadBytes
    private let capacity: Int
    private let report: BridgeReport
    private let client = Mutex<BridgeClient?>(nil)
    private let unreadByClients = Mutex(0)
    private let taken = Atomic(0)
    private let delivered = Atomic(0)

    init(
        pty link: String?, unix path: String?, access: PortAccess, tcp address: NetworkAddress?, capacity: Int,
        _ report: BridgeReport
    ) throws {
        (self.capacity, self.report) = (capacity, report)
        let output = UnreadBytes(capacity: capacity)
        terminalOutput = output
        terminal = try link.map {
            try PseudoTerminal(link: $0, access: access) { output.removeAll() }
        }
        unix = try path.map { try SocketPort(atPath: $0, access: access) }
        tcp = try address.map { try SocketPort(at: $0) }
    }

    /// The number of the device's bytes that were dropped since a program did not read them.
    var unreadByteCount: Int { terminalOutput.droppedCount + unreadByClients.withLock { $0 } }
    /// The same after the end, of all the bytes received: when nobody reads those that still wait, here or before.
    func finalUnreadByteCount(ofReceived count: Int) -> Int {
        unreadByteCount + terminalOutput.count + max(0, count - delivered.load(ordering: .sequentiallyConsistent))
    }
    /// The number of bytes taken from programs.
    var takenByteCount: Int { taken.load(ordering: .sequentiallyConsistent) }

    /// Passes bytes of the device to the programs.
    func deliver(_ bytes: [UInt8]) {
        delivered.add(bytes.count, ordering: .sequentiallyConsistent)
        if let terminal {
            report.unread(terminalOutput.append(bytes), by: terminal.link ?? terminal.path)
        }
        let (dropped, client) = client.withLock { client in
            // Without a terminal either, nobody can read them later.
            (client?.output.append(bytes) ?? (terminal == nil ? bytes.count : 0), client)
        }
        guard dropped > 0 else { return }
        unreadByClients.withLock { $0 += dropped }
        // A client that has closed its side may have left.
        if let client, !client.hasEndedInput { report.unread(dropped, by: client.connection.peer) }
    }

    /// Passes the bytes of programs to `body`, until the task is cancelled; a program's writing blocks meanwhile.
    func run(_ body: @escaping @Sendable ([UInt8]) async throws -> Void) async throws {
        let send = { @Sendable [self] (bytes: [UInt8]) in
            taken.add(bytes.count, ordering: .sequentiallyConsistent)
            try await body(bytes)
        }
        var tasks = [tcp, unix].compactMap(\.self).map { port in { @Sendable [self] in try await serve(port, send) } }
        if let terminal {
            tasks.append { while let bytes = try await terminal.read() { try await send(bytes) } }
            tasks.append { [self] in try await writeTerminal(terminal) }
        }
        // The first to end has failed, or the task is cancelled.
        try await untilOneEnds(tasks)
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

    private func serve(_ port: SocketPort, _ send: @escaping @Sendable ([UInt8]) async throws -> Void) async throws {
        // A result is the next connection, or none at a client's end. Every one is taken, so that an error ends all.
        try await withThrowingTaskGroup(of: SocketClient?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await port.accept() }
            while let result = try await group.next() {
                guard let connection = result else { continue }
                group.addTask { try await port.accept() }
                let next = BridgeClient(connection, capacity: capacity)
                let (isFree, previous) = client.withLock { client in
                    guard client?.isReplaceable ?? true else { return (false, AsyncStream<Void>?.none) }
                    defer { client = next }
                    client?.leave()
                    return (true, client?.endOfInput)
                }
                guard isFree else {
                    report.client(connection.peer, .refused, "another client uses the port")
                    continue
                }
                report.client(connection.peer, .connected)
                group.addTask { [self] in
                    defer { forget(next) }
                    try await next.serve(send, after: previous) { [report] isBrowser in
                        report.client(
                            connection.peer, isBrowser ? .refused : .closed, isBrowser ? "it is a web browser" : nil)
                    }
                    return nil
                }
            }
        }
    }

    /// Counts what a client that has left has not read.
    private func forget(_ left: BridgeClient) {
        client.withLock { if $0 === left { $0 = nil } }
        unreadByClients.withLock { $0 += left.output.count }
    }
}
