import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT
import Synchronization

// The server's links: received packets, the program's answers, and sent packets.
extension SimulatedGATTServer {
    func open(_ link: SimulatedLink) {
        let peer = link.peer
        state.withLock { state in
            let server = GATTServer(limits: limits, configurations: state.configurations[peer] ?? [:])
            state.sessions[link.identifier] = Session(link, server)
        }
    }

    func setSecurity(_ security: LinkSecurity, on link: SimulatedLink) {
        let isBonded = link.isBonded
        state.withLock { state in
            state.sessions[link.identifier]?.core.server.security = BearerSecurity(
                isEncrypted: security.isEncrypted, encryptionKeySize: security.keySize,
                isAuthenticated: security.isAuthenticated, hasLongTermKey: security.isEncrypted, isBonded: isBonded)
        }
    }

    func close(_ link: SimulatedLink, peer: BluetoothAddress) {
        let (ended, waiters) = state.withLock { $0.close(link.identifier, peer: peer) }
        for (indication, failure) in ended { indication.end(failure) }
        for waiter in waiters { waiter.resume() }
    }

    func receive(_ packet: [UInt8], on link: SimulatedLink) {
        serve(link) { $0.receive(packet.span.bytes, database: &$1) }
    }

    /// Feeds the core of a link, sends its output, and asks the program.
    private func serve(
        _ link: SimulatedLink,
        _ body: @Sendable (inout ATTBearerCore, inout AttributeDatabase) -> [GATTServerEvent]
    ) {
        let events = state.withLock { state -> [GATTServerEvent] in
            guard let session = state.sessions[link.identifier] else { return [] }
            return body(&session.core, &state.database)
        }
        flush(link)
        for event in events { handle(event, on: link) }
    }

    private func handle(_ event: GATTServerEvent, on link: SimulatedLink) {
        let program = state.withLock { $0.program }
        switch event {
        case .readRequested(let handle, _):
            switch program.read?(handle, link) ?? .refuse(.readNotPermitted) {
            case .value(let value, let delay):
                link.schedule(after: delay) { [weak self] in self?.answer(event, .success(value), on: link) }
            case .refuse(let code): answer(event, .failure(code), on: link)
            case .silence: break
            }
        case .writeRequested(let writes, _):
            switch program.write?(writes, link) ?? .accept {
            case .accept: answer(event, .success([]), on: link)
            case .refuse(let code): answer(event, .failure(code), on: link)
            case .silence: break
            }
        case .writeCommandReceived(let write): _ = program.write?([write], link)
        case .configurationChanged(let handle, let configuration): program.subscribe?(handle, configuration, link)
        case .authorizationRequested, .commandAuthorizationRequested, .supportedFeaturesChanged, .storedValueChanged,
            .mtuExchanged, .requestOutOfTurn:
            break
        }
    }

    private func answer(_ event: GATTServerEvent, _ result: Result<[UInt8], ATTErrorCode>, on link: SimulatedLink) {
        serve(link) { $0.answer(event, with: result, database: &$1) }
    }

    /// Performs the actions of a link's core, as far as there is room.
    func flush(_ link: SimulatedLink) {
        for (indication, failure) in state.withLock({ $0.flush(link.identifier) }) { indication.end(failure) }
    }

    func writable(_ link: SimulatedLink) {
        state.withLock { $0.sessions[link.identifier]?.core.channelIsWritable() }
        flush(link)
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            defer { state.sessions[link.identifier]?.roomWaiters = [] }
            return state.sessions[link.identifier]?.roomWaiters ?? []
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension SimulatedGATTServer.State {
    /// Returns the indications that have ended.
    ///
    /// All packets are sent inside the lock: the core has to know that a response is on its way before the client's
    /// next request arrives, and packets of two threads must not overtake each other.
    fileprivate mutating func flush(_ identifier: Int) -> [EndedIndication] {
        guard let session = sessions[identifier] else { return [] }
        var indications: [EndedIndication] = []
        while let step = session.core.next(into: &writer) {
            switch step {
            case .send: session.send(writer.bytes)
            case .encodeValue:
                if session.core.encodeValue(database: database, into: &writer) { session.send(writer.bytes) }
            case .end(let ended):
                if let indication = ended.operation as? SimulatedIndication {
                    indications.append((indication, ended.failure))
                }
            // A simulated device has no time limits and no back-pressure.
            case .began, .clientChanged, .setTimer, .setReading, .close: break
            }
        }
        return indications
    }

    fileprivate mutating func close(
        _ identifier: Int, peer: BluetoothAddress
    ) -> (ended: [EndedIndication], roomWaiters: [CheckedContinuation<Void, Never>]) {
        guard let server = sessions[identifier]?.core.server else { return ([], []) }
        if server.security.isEncrypted { configurations[peer] = server.configurations }
        _ = sessions[identifier]?.core.close()
        let ended = flush(identifier)
        return (ended, sessions.removeValue(forKey: identifier)?.roomWaiters ?? [])
    }
}

/// An indication that has ended, whose caller is resumed outside the lock.
private typealias EndedIndication = (indication: SimulatedIndication, failure: TransactionFailure?)

/// Connects a link to the server.
package final class GATTLinkHandler: SimulatedLinkHandler {
    private let server: SimulatedGATTServer
    private let peer: BluetoothAddress
    /// The handler of packets of other channels.
    private let other: (any SimulatedLinkHandler)?

    package init(_ server: SimulatedGATTServer, _ link: SimulatedLink, _ other: (any SimulatedLinkHandler)? = nil) {
        self.server = server
        self.other = other
        peer = link.peer
        server.open(link)
    }

    package func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        guard channel == .attribute else { return other?.received(packet, on: channel, of: link) ?? () }
        server.receive([UInt8](packet), on: link)
    }

    package func writable(_ link: SimulatedLink) {
        server.writable(link)
        other?.writable(link)
    }

    package func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {
        server.setSecurity(security, on: link)
        other?.securityChanged(security, of: link)
    }

    package func disconnected(_ link: SimulatedLink, reason: HCIStatus) {
        other?.disconnected(link, reason: reason)
        server.close(link, peer: peer)
    }
}

extension SimulatedPeripheral {
    /// Creates a peripheral that advertises and serves these attributes.
    ///
    /// `channels` creates the handler of a link's other channels.
    @discardableResult
    public convenience init(
        on radio: SimulatedRadio, address: BluetoothAddress? = nil,
        advertisements: [SimulatedAdvertisement] = [SimulatedAdvertisement()], signalStrength: Int8 = -50,
        gatt server: SimulatedGATTServer, channels: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)? = nil
    ) {
        self.init(
            on: radio, address: address, advertisements: advertisements, signalStrength: signalStrength,
            handler: { link in GATTLinkHandler(server, link, channels?(link)) })
    }
}
