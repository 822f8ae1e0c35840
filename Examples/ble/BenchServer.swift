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
        let source = LocalCharacteristic(BenchmarkService.source, properties: .notify, value: [])
        let service = LocalService(BenchmarkService.uuid, characteristics: [control, sink, source])
        let content = AdvertisementContent(localName: name, services: [BenchmarkService.uuid])
        try await adapter.run {
            try await adapter.serve(content, options: AdvertisingOptions(whenAdapterUnavailable: .resume)) {
                service
            } while: { published, incoming in
                console?.started(content, named: name, services: [BenchmarkService.uuid], on: adapter.information)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for try await connection in incoming {
                        let peer = BenchPeer(connection, source: published[source])
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
        return LocalCharacteristic(BenchmarkService.sink, properties: .writeWithoutResponse)
            .onWrite { request in try peers[request.peer].receive(request.value) }
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
                for await _ in peer.starts { await send(to: peer) }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        try Task.checkCancellation()
        console?.tell("disconnected", by: connection.peer, reason: reason?.disconnectReason)
    }

    private func send(to peer: BenchPeer) async {
        do throws(BluetoothError) {
            while let packet = peer.nextPacket() {
                try await peer.source.notify(packet.bytes, to: peer.connection, timeout: Self.patience)
                if case .end(_, let sent) = packet { console?.showSent(Int(sent), to: peer.connection.peer) }
            }
        } catch {
            // The central has unsubscribed, or its link has ended or is stuck.
            peer.abandonSending()
            console?.detail("\(peer.connection.peer.digits): \(error)")
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
    let connection: Connection
    let source: PublishedValue
    /// An element for each run of sending.
    let starts: AsyncStream<Void>
    private let start: AsyncStream<Void>.Continuation
    private let responder = Mutex(BenchmarkResponder())

    init(_ connection: Connection, source: PublishedValue) {
        (self.connection, self.source) = (connection, source)
        // The next run is refused until the end of the last one.
        (starts, start) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var report: BenchmarkReport { responder.withLock { $0.report } }

    func control(_ control: BenchmarkControl) async throws {
        var isSubscribed = false
        if let handle = source.handle {
            isSubscribed = await connection.peerConfiguration(of: handle).contains(.notification)
        }
        let mostBytes = await connection.maximumCommandLength
        let isSending = try responder.withLock { [isSubscribed] responder throws(ATTErrorCode) in
            try responder.control(control, mostBytes: mostBytes, isSubscribed: isSubscribed)
        }
        if isSending { start.yield() }
    }

    func receive(_ value: [UInt8]) { responder.withLock { $0.receive(value) } }

    func nextPacket() -> BenchmarkPacket? { responder.withLock { $0.nextPacket() } }

    func abandonSending() { responder.withLock { $0.abandonSending() } }
}

extension Console {
    fileprivate func showReceived(_ report: BenchmarkReport, by peer: BluetoothAddress) {
        let counts = report.counts
        result(
            "benchReceived",
            "\(time())  \(peer.digits)  sent \(quantity(counts.received, "packet")), \(quantity(counts.bytes, "byte"))"
                + (counts.corrupted > 0 ? ", \(quantity(counts.corrupted, "corrupted packet"))" : ""),
            [
                ("peer", .string(peer.digits)), ("received", .integer(Int(counts.received))),
                ("bytes", .integer(Int(clamping: counts.bytes))), ("corrupted", .integer(Int(counts.corrupted))),
            ])
    }

    fileprivate func showSent(_ count: Int, to peer: BluetoothAddress) {
        result(
            "benchSent", "\(time())  \(peer.digits)  was sent \(quantity(count, "notification"))",
            [("peer", .string(peer.digits)), ("sent", .integer(count))])
    }
}
