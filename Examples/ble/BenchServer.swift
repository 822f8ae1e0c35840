import BluetoothLE
import ExampleSupport
import Synchronization

/// The peripheral's side of `ble bench`: serves ``BenchmarkService``, with a state of its own for each central.
struct BenchServer {
    private let name: String
    private let adapter: Adapter
    /// Nil prints nothing.
    private let console: Console?
    private let peers = BenchPeers()

    /// How long a link may accept nothing.
    private static let patience = Duration.seconds(30)

    init(named name: String = BenchmarkService.deviceName, on adapter: Adapter, _ console: Console?) {
        (self.name, self.adapter, self.console) = (name, adapter, console)
    }

    /// Serves until the task is cancelled, or with `once` until the first central has disconnected.
    func run(once: Bool) async throws {
        let source = LocalCharacteristic(BenchmarkService.source, properties: [.notify, .indicate], value: [])
        let echo = self.echo
        let service = LocalService(BenchmarkService.uuid, characteristics: [control, sink, source, echo])
        let content = AdvertisementContent(localName: name, services: [BenchmarkService.uuid])
        try await adapter.run {
            try await adapter.serve(content, options: AdvertisingOptions(whenAdapterUnavailable: .resume)) {
                service
            } while: { published, incoming in
                console?.started(named: name, services: [BenchmarkService.uuid], on: adapter.information)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for try await connection in incoming {
                        let peer = BenchPeer(connection, source: published[source], echo: published[echo])
                        guard !once else { return try await follow(peer) }
                        group.addTask { try await follow(peer) }
                    }
                }
            }
        }
    }

    // MARK: The characteristics

    private var control: LocalCharacteristic {
        let (peers, console) = (peers, console)
        return LocalCharacteristic(BenchmarkService.control, properties: [.read, .write])
            .onRead { request in
                let report = try peers[request.peer].report
                console?.showReceived(report, by: request.peer)
                return report.bytes
            }
            .onWrite { request in
                guard request.offset == 0 else { throw ATTErrorCode.invalidOffset }
                try await peers[request.peer].control(try BenchmarkControl(request.value))
            }
    }

    private var sink: LocalCharacteristic {
        let peers = peers
        return LocalCharacteristic(BenchmarkService.sink, properties: [.write, .writeWithoutResponse])
            .onWrite { request in try peers[request.peer].receive(request.value) }
    }

    private var echo: LocalCharacteristic {
        let peers = peers
        return LocalCharacteristic(
            BenchmarkService.echo, properties: [.read, .write, .writeWithoutResponse, .notify]
        )
        .onRead { request in try peers[request.peer].echo }
        .onWrite { request in
            guard request.offset == 0 else { throw ATTErrorCode.invalidOffset }
            try peers[request.peer].echo(request.value, isCommand: request.isCommand)
        }
    }

    // MARK: Links

    private func follow(_ peer: BenchPeer) async throws {
        let connection = peer.connection
        peers.add(peer)
        defer { peers.remove(peer) }
        console?.tell("connected", by: connection.peer)
        let reason = try await withThrowingTaskGroup(of: BluetoothError?.self) { group in
            group.addTask { await connection.disconnected() }
            group.addTask {
                for await work in peer.work { await perform(work, for: peer) }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        try Task.checkCancellation()
        console?.tell("disconnected", by: connection.peer, reason: reason?.disconnectReason)
    }

    private func perform(_ work: BenchPeer.Work, for peer: BenchPeer) async {
        do throws(BluetoothError) {
            switch work {
            case .echo(let value):
                try await peer.echoValue.notify(value, to: peer.connection, timeout: Self.patience)
            case .send:
                while let (packet, kind) = peer.nextPacket() {
                    switch kind {
                    case .notifications:
                        try await peer.source.notify(packet, to: peer.connection, timeout: Self.patience)
                    case .indications:
                        try await peer.source.indicate(packet, to: peer.connection, timeout: Self.patience)
                    }
                    if case .end(_, let sent)? = BenchmarkPacket(packet) {
                        console?.showSent(Int(sent), as: kind, to: peer.connection.peer)
                    }
                }
            }
        } catch {
            // The central has unsubscribed, or its link has ended or is stuck.
            peer.abandonSending()
            console?.detail("\(peer.connection.peer): \(error)")
        }
    }
}

/// The centrals by their address.
private final class BenchPeers: Sendable {
    private let peers = Mutex<[BluetoothAddress: BenchPeer]>([:])

    /// A central whose link is served; others are refused.
    subscript(address: BluetoothAddress) -> BenchPeer {
        get throws(ATTErrorCode) {
            guard let peer = peers.withLock({ $0[address] }) else { throw .insufficientResources }
            return peer
        }
    }

    func add(_ peer: BenchPeer) { peers.withLock { $0[peer.connection.peer] = peer } }

    /// Removes a central, unless a new link of it is served already.
    func remove(_ peer: BenchPeer) {
        peers.withLock { if $0[peer.connection.peer] === peer { $0[peer.connection.peer] = nil } }
    }
}

/// A central with its link.
private final class BenchPeer: Sendable {
    /// What its task has to send.
    enum Work: Sendable {
        case echo([UInt8])
        /// The packets of the responder.
        case send
    }

    /// The maximum number of values that wait to be echoed.
    private static let mostEchoes = 1024

    let connection: Connection
    let source: PublishedValue
    let echoValue: PublishedValue
    let work: AsyncStream<Work>
    private let pending: AsyncStream<Work>.Continuation
    private let responder = Mutex(BenchmarkResponder())

    init(_ connection: Connection, source: PublishedValue, echo: PublishedValue) {
        (self.connection, self.source, echoValue) = (connection, source, echo)
        (work, pending) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostEchoes))
    }

    var report: BenchmarkReport { responder.withLock { $0.report } }
    var echo: [UInt8] { responder.withLock { $0.echo } }

    func control(_ control: BenchmarkControl) async throws {
        let configuration =
            if let handle = source.handle { await connection.peerConfiguration(of: handle) } else {
                ClientCharacteristicConfiguration()
            }
        let mostBytes = await connection.maximumCommandLength
        let isSending = try responder.withLock { responder throws(ATTErrorCode) in
            try responder.control(control, mostBytes: mostBytes) {
                configuration.contains($0 == .notifications ? .notification : .indication)
            }
        }
        guard isSending, case .dropped = pending.yield(.send) else { return }
        abandonSending()
        throw ATTErrorCode.insufficientResources
    }

    func receive(_ value: [UInt8]) throws(ATTErrorCode) {
        try responder.withLock { responder throws(ATTErrorCode) in try responder.receive(value) }
    }

    /// Stores a value, and sends it back if it is that of a command.
    func echo(_ value: [UInt8], isCommand: Bool) throws {
        responder.withLock { $0.storeEcho(value) }
        guard isCommand, case .dropped = pending.yield(.echo(value)) else { return }
        throw ATTErrorCode.insufficientResources
    }

    func nextPacket() -> (bytes: [UInt8], kind: BenchmarkSending)? { responder.withLock { $0.nextPacket() } }

    func abandonSending() { responder.withLock { $0.abandonSending() } }
}

extension Console {
    fileprivate func showReceived(_ report: BenchmarkReport, by peer: BluetoothAddress) {
        let counts = report.counts
        guard isJSON else {
            return result(
                "\(time())  \(peer)  sent \(quantity(counts.received, "packet")), \(quantity(counts.bytes, "byte"))"
                    + (counts.corrupted > 0 ? ", \(quantity(counts.corrupted, "corrupted packet"))" : ""))
        }
        result([
            ("event", .string("benchReceived")), ("peer", .string("\(peer)")),
            ("received", .integer(Int(counts.received))), ("bytes", .integer(Int(clamping: counts.bytes))),
            ("outOfOrder", .integer(Int(counts.outOfOrder))), ("duplicates", .integer(Int(counts.duplicates))),
            ("corrupted", .integer(Int(counts.corrupted))),
        ])
    }

    fileprivate func showSent(_ count: Int, as kind: BenchmarkSending, to peer: BluetoothAddress) {
        let name = kind == .notifications ? "notification" : "indication"
        guard isJSON else {
            return result("\(time())  \(peer)  was sent \(quantity(count, name))")
        }
        result([
            ("event", .string("benchSent")), ("peer", .string("\(peer)")), ("kind", .string("\(name)s")),
            ("sent", .integer(count)),
        ])
    }
}
