import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// A further bearer of a connection: an L2CAP channel of its own, opening or in use.
struct EnhancedBearer {
    let id: UInt64
    let socket: any L2CAPSocket
    var opening: Promise<Void, BluetoothError>?
    var bearer: ATTBearer?
    /// Whether the peer has opened it.
    var isPeers = false
}

// Which bearer a PDU takes: a request goes to the bearer with the fewest requests, and of several to the oldest, which is
// the fixed channel. So a program that makes one call after the other uses the fixed channel alone and keeps the order it
// has there; only requests made at the same time are spread, among which no order is promised. Commands stay on the fixed
// channel, in order. A procedure of several requests, prepared writes among them, stays on one bearer.
extension Link {
    @discardableResult
    nonisolated(nonsending) func openEnhancedBearers(
        count: Int = 1, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("open enhanced bearers", peer: peer)
        _ = try bearer(for: operation)
        guard count > 0 else { throw .invalidArgument(operation, "At least one bearer has to be asked for.") }
        try await agreeOnEnhancedBearers(operation, timeout: timeout)
        var opened = 0
        while opened < count {
            do {
                try await openEnhancedBearer(operation, timeout: timeout)
            } catch  where opened > 0 && error.code == .connectionFailed {
                // As many as the peer takes.
                return opened
            } catch {
                throw error
            }
            opened += 1
        }
        return opened
    }

    var bearerCount: Int {
        isConnected ? 1 + enhancedBearers.count { $0.bearer != nil } : 0
    }

    /// Makes sure that the peer's server has enhanced bearers, and tells it that this client has (Core Vol 3 Part G §7.2,
    /// §7.4).
    private nonisolated(nonsending) func agreeOnEnhancedBearers(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        var characteristics: [RemoteCharacteristic] = []
        if let service = try await discoverServices(.genericAttribute, timeout: timeout).first {
            characteristics = try await discoverCharacteristics(of: service, timeout: timeout)
        }
        var serverFeatures: UInt8 = 0
        if let characteristic = characteristics.first(where: { $0.uuid == .serverSupportedFeatures }) {
            serverFeatures = try await read(characteristic, timeout: timeout).first ?? 0
        }
        guard serverFeatures & 0x01 != 0 else {
            throw BluetoothError(.unsupported, operation, "The peer's attribute server has no enhanced bearers.")
        }
        guard let characteristic = characteristics.first(where: { $0.uuid == .clientSupportedFeatures }) else { return }
        // Bits that are set stay set.
        var features = try await read(characteristic, timeout: timeout)
        if features.isEmpty { features = [0] }
        guard features[0] & 0x02 == 0 else { return }
        features[0] |= 0x02
        try await write(features, to: characteristic, timeout: timeout)
    }

    private nonisolated(nonsending) func openEnhancedBearer(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        _ = try bearer(for: operation)
        guard let adapter else { throw .noRoute(operation) }
        if Task.isCancelled { throw .cancelled(operation) }
        let options = L2CAPOptions(
            security: .medium, receiveMTU: max(64, receiveMTU), receiveBuffer: 1 << 20,
            connectTimeout: (timeout ?? .seconds(86400)) + .seconds(5), flowControl: .enhancedCreditBased)
        nextBearerID += 1
        let id = nextBearerID
        let call = Promise<Void, BluetoothError>()
        do {
            let socket = try adapter.kernel.connectL2CAP(
                to: socketPeer, channel: .dynamic(psm: AttributeProtocol.enhancedPSM), from: adapter.address,
                options: options
            ) { [weak self] event in self?.handle(event, ofBearer: id) }
            enhancedBearers.append(EnhancedBearer(id: id, socket: socket, opening: call))
        } catch {
            let other = BluetoothError.openingEnhancedBearer(operation, error)
            throw reason(of: error, otherwise: other, then: { _, _ in }) ?? other
        }
        let loop = loop
        do throws(BluetoothError) {
            guard let pairings else { throw .noRoute(operation) }
            try await pairings.expected(with: peer) { () async throws(BluetoothError) in
                try await call.value(operation, timeout: timeout, on: loop)
            }
        } catch {
            endEnhancedBearer(id, error)
            throw error
        }
        // The link may have ended meanwhile.
        _ = try bearer(for: operation)
    }

    /// Whether a channel is one of this link's, is encrypted, and is not more than the peer may open.
    func takesEnhancedBearer(_ socket: any L2CAPSocket, atMost count: Int) -> Bool {
        guard isConnected, socketPeer == socket.peer, enhancedBearers.count(where: \.isPeers) < count,
            let security = try? socket.security()
        else { return false }
        return security.level >= .medium
    }

    /// Takes over a channel that the peer has opened for attributes; says who takes its events.
    func acceptEnhancedBearer(_ socket: any L2CAPSocket) -> SocketHandler {
        guard isConnected else {
            socket.close()
            return { _ in }
        }
        nextBearerID += 1
        let id = nextBearerID
        enhancedBearers.append(EnhancedBearer(id: id, socket: socket, isPeers: true))
        establishEnhancedBearer(id)
        return { [weak self] event in self?.handle(event, ofBearer: id) }
    }

    private func establishEnhancedBearer(_ id: UInt64) {
        guard let main = try? bearer(for: .init("open enhanced bearers", peer: peer)),
            let index = enhancedBearers.firstIndex(where: { $0.id == id })
        else { return }
        let socket = enhancedBearers[index].socket
        let bearer = makeBearer(
            socket, enhancing: main,
            onTimeOut: { [weak self] timer in self?.enhancedBearer(id)?.timedOut(timer) },
            onEnd: { [weak self] reason in self?.endEnhancedBearer(id, reason) })
        bearer.reasonOfEnd = { [weak self, peer] error in
            let other = BluetoothError.bearerEnded(peer, error)
            guard let self else { return other }
            return reason(of: error, otherwise: other) { $0.endEnhancedBearer(id, $1) }
        }
        bearer.onPeerRequest = { [weak self] event in
            self?.take(event, from: id)
        }
        // The channel's own MTUs are the bearer's (Core Vol 3 Part F §3.2.8).
        if let units = try? socket.maximumTransmissionUnits() { bearer.mtu = Int(min(units.receive, units.send)) }
        enhancedBearers[index].bearer = bearer
    }

    func enhancedBearer(_ id: UInt64) -> ATTBearer? {
        enhancedBearers.first { $0.id == id }?.bearer
    }

    private func handle(_ event: SocketEvent, ofBearer id: UInt64) {
        if let bearer = enhancedBearer(id) { return bearer.handle(event) }
        switch event {
        case .writable:
            establishEnhancedBearer(id)
            guard let index = enhancedBearers.firstIndex(where: { $0.id == id }) else { return }
            enhancedBearers[index].opening?.succeed()
            enhancedBearers[index].opening = nil
        case .closed(let error):
            let other = BluetoothError.openingEnhancedBearer(.init("open enhanced bearers", peer: peer), error)
            let reason = reason(of: error, otherwise: other) { $0.endEnhancedBearer(id, $1) }
            if let reason { endEnhancedBearer(id, reason) }
        case .readable: break
        }
    }

    private func endEnhancedBearer(_ id: UInt64, _ reason: BluetoothError) {
        guard let index = enhancedBearers.firstIndex(where: { $0.id == id }) else { return }
        let ended = enhancedBearers.remove(at: index)
        ended.opening?.fail(reason)
        ended.bearer?.close(reason)
        ended.socket.close()
    }

    /// The link has ended, and all bearers with it.
    func endEnhancedBearers(_ reason: BluetoothError) {
        for bearer in enhancedBearers { endEnhancedBearer(bearer.id, reason) }
    }

    /// The bearer for a request of at most `length` bytes.
    func requestBearer(
        for operation: BluetoothError.Operation, fitting length: Int
    ) throws(BluetoothError) -> ATTBearer {
        var best = try bearer(for: operation)
        for case let bearer? in enhancedBearers.lazy.map(\.bearer)
        where bearer.requestCount < best.requestCount && bearer.mtu >= length { best = bearer }
        return best
    }
}

extension AttributeProtocol {
    /// The PSM of enhanced bearers (EATT).
    static let enhancedPSM: UInt16 = 0x0027
}

extension BluetoothError {
    /// A connection over a channel that came from elsewhere opens no others.
    static func noRoute(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .unsupported, operation,
            "This connection was not made by an adapter, so the way to the peer is not known.")
    }
}
