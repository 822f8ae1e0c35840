import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import HCI
import Synchronization

// The server's links: packets in, what the program says to them, and what goes out again.
extension SimulatedGATTServer {
    func open(_ link: SimulatedLink) {
        let peer = link.peer
        state.withLock { state in
            state.sessions[link.identifier] = Session(
                link: link,
                server: GATTServer(limits: limits, configurations: state.configurations[peer] ?? [:]))
        }
    }

    func setSecurity(_ security: LinkSecurity, on link: SimulatedLink) {
        state.withLock { state in
            state.sessions[link.identifier]?.server.security = BearerSecurity(
                isEncrypted: security.level >= .medium, encryptionKeySize: Int(security.keySize),
                isAuthenticated: security.level >= .high, hasLongTermKey: security.level >= .medium)
        }
    }

    func close(_ link: SimulatedLink, peer: BluetoothAddress) {
        let session = state.withLock { state in
            let session = state.sessions.removeValue(forKey: link.identifier)
            if let session, session.server.security.isEncrypted {
                state.configurations[peer] = session.server.configurations
            }
            return session
        }
        for waiter in session?.roomWaiters ?? [] { waiter.resume() }
        for waiter in session?.confirmationWaiters ?? [] { waiter.resume(returning: false) }
    }

    func receive(_ packet: [UInt8], on link: SimulatedLink) {
        let events = state.withLock { state -> [GATTServerEvent] in
            guard var session = state.sessions[link.identifier] else { return [] }
            let events = session.server.receive(
                packet.span.bytes, database: &state.database, into: &state.writer)
            state.keep(&session)
            return events
        }
        flush(link)
        for event in events { handle(event, on: link) }
    }

    private func handle(_ event: GATTServerEvent, on link: SimulatedLink) {
        let program = state.withLock { $0.program }
        switch event {
        case .readRequested(let request):
            answer(request, program.read?(request.handle, link) ?? .refuse(.readNotPermitted), on: link)
        case .writeRequested(let request):
            answer(request, program.write?(request.writes, link) ?? .accept, on: link)
        case .writeCommandReceived(let write): _ = program.write?([write], link)
        case .configurationChanged(let handle, let configuration): program.subscribe?(handle, configuration, link)
        case .indicationConfirmed(let handle):
            if !confirmedServiceChanged(handle, on: link) { confirmed(link) }
        case .authorizationRequested, .commandAuthorizationRequested, .supportedFeaturesChanged, .storedValueChanged,
            .mtuExchanged, .requestOutOfTurn:
            break
        }
    }

    private func answer(_ request: GATTReadRequest, _ answer: ReadAnswer, on link: SimulatedLink) {
        let events = state.withLock { state -> [GATTServerEvent] in
            guard var session = state.sessions[link.identifier] else { return [] }
            var events: [GATTServerEvent] = []
            switch answer {
            case .value(let value):
                events = session.server.answer(
                    request, value: value, database: &state.database, into: &state.writer)
            case .refuse(let code):
                events = session.server.refuse(
                    request, with: code, database: &state.database, into: &state.writer)
            case .silence: state.writer.removeAll()
            }
            state.keep(&session)
            return events
        }
        flush(link)
        for event in events { handle(event, on: link) }
    }

    private func answer(_ request: GATTWriteRequest, _ answer: WriteAnswer, on link: SimulatedLink) {
        let events = state.withLock { state -> [GATTServerEvent] in
            guard var session = state.sessions[link.identifier] else { return [] }
            var events: [GATTServerEvent] = []
            switch answer {
            case .accept: events = session.server.accept(request, database: &state.database, into: &state.writer)
            case .refuse(let code): session.server.refuse(request, with: code, into: &state.writer)
            case .silence: state.writer.removeAll()
            }
            state.keep(&session)
            return events
        }
        flush(link)
        for event in events { handle(event, on: link) }
    }

    private func confirmed(_ link: SimulatedLink) {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let waiters = state.sessions[link.identifier]?.confirmationWaiters, !waiters.isEmpty else {
                return nil
            }
            return state.sessions[link.identifier]?.confirmationWaiters.removeFirst()
        }
        waiter?.resume(returning: true)
    }

    /// Sends what waits, as far as there is room.
    func flush(_ link: SimulatedLink) {
        // One thread at a time, or what waits would be sent twice.
        let isOurs = state.withLock { state in
            guard state.sessions[link.identifier]?.isFlushing == false else { return false }
            state.sessions[link.identifier]?.isFlushing = true
            return true
        }
        guard isOurs else { return }
        while let pdu = state.withLock({ $0.nextWaiting(link) }) {
            guard link.send(pdu) == .sent else {
                state.withLock { $0.sessions[link.identifier]?.isFlushing = false }
                return link.notifyWhenWritable()
            }
            state.withLock { state in
                guard state.sessions[link.identifier]?.waiting.isEmpty == false else { return }
                state.sessions[link.identifier]?.waiting.removeFirst()
            }
        }
    }

    func writable(_ link: SimulatedLink) {
        flush(link)
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            defer { state.sessions[link.identifier]?.roomWaiters = [] }
            return state.sessions[link.identifier]?.roomWaiters ?? []
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension SimulatedGATTServer.State {
    /// What is to be sent next; with nothing left, whoever comes next may send.
    fileprivate mutating func nextWaiting(_ link: SimulatedLink) -> [UInt8]? {
        let pdu = sessions[link.identifier]?.waiting.first
        if pdu == nil { sessions[link.identifier]?.isFlushing = false }
        return pdu
    }

    /// Puts a session back, with what the server has just written to be sent.
    fileprivate mutating func keep(_ session: inout SimulatedGATTServer.Session) {
        if writer.count > 0 { session.waiting.append(writer.bytes) }
        sessions[session.link.identifier] = session
    }
}

/// What connects a link to the server.
private final class GATTLinkHandler: SimulatedLinkHandler {
    private let server: SimulatedGATTServer
    private let peer: BluetoothAddress
    /// Takes what does not belong to attributes.
    private let other: (any SimulatedLinkHandler)?

    init(_ server: SimulatedGATTServer, _ link: SimulatedLink, _ other: (any SimulatedLinkHandler)?) {
        self.server = server
        self.other = other
        peer = link.peer
        server.open(link)
    }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        guard channel == .attribute else { return other?.received(packet, on: channel, of: link) ?? () }
        server.receive([UInt8](packet), on: link)
    }

    func writable(_ link: SimulatedLink) {
        server.writable(link)
        other?.writable(link)
    }

    func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {
        server.setSecurity(security, on: link)
        other?.securityChanged(security, of: link)
    }

    func disconnected(_ link: SimulatedLink, reason: HCIStatus) {
        other?.disconnected(link, reason: reason)
        server.close(link, peer: peer)
    }
}

extension SimulatedPeripheral {
    /// Puts a peripheral on the air that serves these attributes to whoever connects.
    ///
    /// `channels` makes the program for what comes in on other channels of a link than the attributes'.
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
