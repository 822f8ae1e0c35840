import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The enhanced ATT bearers of a link, beside the fixed channel's, each an L2CAP channel of its own.
///
/// A request goes to the bearer with the fewest requests, and among equals to the oldest, beginning with the fixed
/// channel. A program that makes one call after the other therefore uses the fixed channel alone and keeps its order;
/// only concurrent requests are distributed, without a guaranteed order among them. Commands stay on the fixed channel,
/// in order. A procedure of several requests, including prepared writes, stays on one bearer.
///
/// Owned by its link, which is passed to each call.
final class EnhancedBearers {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("EnhancedBearers") }

    private enum State {
        case opening(Promise<Void, BluetoothError>?)
        case open(ATTBearer)
    }

    private struct Entry {
        let id: UInt64
        let channel: any HostChannel
        /// Whether the peer has opened the channel.
        let isPeers: Bool
        var state: State

        var bearer: ATTBearer? { if case .open(let bearer) = state { bearer } else { nil } }
    }

    /// Oldest first.
    private var entries: [Entry] = []
    private var nextID: UInt64 = 0

    /// The open bearers, oldest first.
    var open: some Sequence<ATTBearer> { entries.lazy.compactMap(\.bearer) }

    subscript(id: UInt64) -> ATTBearer? { entries.first { $0.id == id }?.bearer }

    /// Returns the bearer with the fewest requests among those whose MTU fits `length` bytes.
    func leastBusy(orRather main: ATTBearer, fitting length: Int) -> ATTBearer {
        var best = main
        for case let bearer? in entries.lazy.map(\.bearer)
        where bearer.requestCount < best.requestCount && bearer.mtu >= length { best = bearer }
        return best
    }

    // MARK: Opening

    /// Opens up to `count` bearers; returns the number that the peer has accepted.
    nonisolated(nonsending) func open(
        _ link: Link, count: Int, timeout: Duration?
    ) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("open enhanced bearers", peer: link.peer)
        _ = try link.bearer(for: operation)
        guard count > 0 else { throw .invalidArgument(operation, "The number of bearers must be at least 1.") }
        let deadline = timeout.map { link.loop.now.advanced(by: $0) }
        try await agree(link, operation, until: deadline)
        var opened = 0
        while opened < count {
            do {
                try await openOne(link, operation, until: deadline)
            } catch  where opened > 0 && error.code == .connectionFailed {
                // The peer accepts no more.
                return opened
            } catch {
                throw error
            }
            opened += 1
        }
        return opened
    }

    /// Checks that the peer's server supports enhanced bearers, and announces this client's support (Core Vol 3 Part G
    /// §7.2, §7.4).
    private nonisolated(nonsending) func agree(
        _ link: Link, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        var characteristics: [RemoteCharacteristic] = []
        if let service = try await link.discoverServices(.genericAttribute, timeout: link.remaining(until: deadline))
            .first
        {
            characteristics = try await link.discoverCharacteristics(
                nil, in: service.handles, timeout: link.remaining(until: deadline))
        }
        var serverFeatures: UInt8 = 0
        if let characteristic = characteristics.first(where: { $0.uuid == .serverSupportedFeatures }) {
            serverFeatures = try await link.read(characteristic, timeout: link.remaining(until: deadline)).first ?? 0
        }
        guard serverFeatures & 0x01 != 0 else {
            throw BluetoothError(
                .unsupported, operation, "The peer's attribute server does not support enhanced bearers.")
        }
        guard let characteristic = characteristics.first(where: { $0.uuid == .clientSupportedFeatures }) else { return }
        // Bits that are set must not be cleared.
        var features = try await link.read(characteristic, timeout: link.remaining(until: deadline))
        if features.isEmpty { features = [0] }
        guard features[0] & 0x02 == 0 else { return }
        features[0] |= 0x02
        try await link.write(features, to: characteristic, timeout: link.remaining(until: deadline))
    }

    private nonisolated(nonsending) func openOne(
        _ link: Link, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        _ = try link.bearer(for: operation)
        guard let adapter = link.adapter else { throw .noRoute(operation) }
        if Task.isCancelled { throw .cancelled(operation) }
        let request = LinkRequest(
            to: link.identity, .enhancedBearer, operation,
            .enhancedBearer(receiveMTU: link.configuration.receiveMTU),
            until: deadline)
        let id = makeID()
        let call = Promise<Void, BluetoothError>()
        let channel = try adapter.channels.host.connect(request, BearerReceiver(link, id))
        entries.append(Entry(id: id, channel: channel, isPeers: false, state: .opening(call)))
        let loop = link.loop
        do throws(BluetoothError) {
            guard let pairings = link.pairings else { throw .noRoute(operation) }
            try await pairings.allowingPairing(with: link.peer) { () async throws(BluetoothError) in
                try await call.value(operation, timeout: link.remaining(until: deadline), on: loop)
            }
        } catch {
            end(id, error)
            throw error
        }
        // The link may have ended meanwhile.
        _ = try link.bearer(for: operation)
    }

    private func makeID() -> UInt64 {
        nextID += 1
        return nextID
    }

    // MARK: Accepting

    /// Returns whether to accept a channel: it must belong to this link, be encrypted and within the peer's limit.
    func takes(_ channel: any HostChannel, _ link: Link, atMost count: Int) -> Bool {
        guard link.isConnected, link.identity == channel.peer, entries.count(where: \.isPeers) < count,
            let security = try? channel.security()
        else { return false }
        return security.level >= .medium
    }

    /// Takes ownership of a channel that the peer has opened; returns its receiver, nil if the link has ended.
    func accept(_ channel: any HostChannel, _ link: Link) -> (any ChannelReceiver)? {
        guard link.isConnected else { return nil }
        let id = makeID()
        entries.append(Entry(id: id, channel: channel, isPeers: true, state: .opening(nil)))
        establish(id, link)
        return BearerReceiver(link, id)
    }

    // MARK: Events

    fileprivate func channelIsWritable(_ id: UInt64, _ link: Link) {
        if let bearer = self[id] { bearer.channelIsWritable() } else { establish(id, link) }
    }

    fileprivate func channelEnded(_ id: UInt64, _ reason: BluetoothError, _ link: Link) {
        guard let bearer = self[id] else { return end(id, reason) }
        var reason = reason
        // The host may have another address for the peer.
        reason.operation.peer = link.peer
        bearer.channelEnded(reason)
    }

    private func establish(_ id: UInt64, _ link: Link) {
        guard let main = link.mainBearer,
            let index = entries.firstIndex(where: { $0.id == id }), case .opening(let call) = entries[index].state
        else { return }
        let channel = entries[index].channel
        let bearer = ATTBearer(channel, of: link, enhancing: (main, id))
        // The channel's MTUs determine the bearer's ATT_MTU (Core Vol 3 Part F §3.2.8).
        if let units = channel.maximumTransmissionUnits { bearer.mtu = min(units.receive, units.send) }
        entries[index].state = .open(bearer)
        call?.succeed()
    }

    /// Removes and closes a bearer.
    func end(_ id: UInt64, _ reason: BluetoothError) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        let ended = entries.remove(at: index)
        switch ended.state {
        case .opening(let call): call?.fail(reason)
        case .open(let bearer): bearer.close(reason)
        }
        ended.channel.close()
    }

    /// Closes all bearers, as the link has ended.
    func end(_ reason: BluetoothError) {
        for entry in entries { end(entry.id, reason) }
    }
}

/// The receiver of an enhanced bearer's channel, which does not retain the link.
private final class BearerReceiver: ChannelReceiver {
    private weak var link: Link?
    private let id: UInt64

    init(_ link: Link, _ id: UInt64) { (self.link, self.id) = (link, id) }

    func receive(_ packet: RawSpan) { link?.enhancedBearers[id]?.receive(packet) }
    func channelIsWritable() { if let link { link.enhancedBearers.channelIsWritable(id, link) } }
    func channelEnded(_ reason: BluetoothError) {
        if let link { link.enhancedBearers.channelEnded(id, reason, link) }
    }
}

extension L2CAPOptions {
    /// The options of an enhanced attribute bearer.
    static func enhancedBearer(receiveMTU: UInt16) -> L2CAPOptions {
        L2CAPOptions(
            security: .medium, receiveMTU: min(max(64, receiveMTU), 517), receiveBuffer: 1 << 20,
            flowControl: .enhancedCreditBased)
    }
}

extension BluetoothError {
    /// The error for a connection over a supplied channel, which cannot open others.
    static func noRoute(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .unsupported, operation,
            "This connection was not made by an adapter, so it cannot open channels.")
    }
}
