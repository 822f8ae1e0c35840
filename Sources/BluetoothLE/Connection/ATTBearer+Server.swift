import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

// What the peer finds when it is a client as well: its requests, our answers, notifications and indications.
extension ATTBearer {
    /// What is known of the peer as a client.
    var client: GATTClientState {
        get { server.client }
        set { server.client = newValue }
    }

    /// Answers a read that waits for the program.
    func answer(_ request: GATTReadRequest, _ result: Result<[UInt8], ATTErrorCode>) {
        finishAnswer(
            serve { database in
                switch result {
                case .success(let value):
                    server.answer(request, value: value, database: &database, into: &answer)
                case .failure(let code): server.refuse(request, with: code, database: &database, into: &answer)
                }
            })
        flush()
    }

    /// Answers a write that waits for the program.
    func answer(_ request: GATTWriteRequest, _ result: Result<Void, ATTErrorCode>) {
        finishAnswer(
            serve { database in
                if case .failure(let code) = result {
                    server.refuse(request, with: code, into: &answer)
                    return []
                }
                return server.accept(request, database: &database, into: &answer)
            })
        flush()
    }

    /// Answers whether the peer's client is authorised for what waits for it.
    func answer(_ request: GATTAuthorizationRequest, isAuthorized: Bool) {
        finishAnswer(
            serve { database in
                isAuthorized
                    ? server.authorize(request, database: &database, into: &answer)
                    : server.refuse(request, database: &database, into: &answer)
            })
        flush()
    }

    /// Carries out a command of the peer's client that has been authorised for it.
    func carryOut(_ command: AttributeWrite) {
        answer.removeAll()
        finishAnswer(serve { server.carryOut(command, database: &$0) })
    }

    /// Refuses the request that waits for the program.
    func giveUp(_ code: ATTErrorCode) {
        server.giveUp(with: code, into: &answer)
        finishAnswer([])
        flush()
    }

    /// Looks how the link is protected, where that counts.
    func updateSecurity() {
        guard localServer.isProtected, let security = try? socket.security() else { return }
        server.security = BearerSecurity(security)
        guard isToldEncrypted, !server.security.isEncrypted else { return }
        // No link is encrypted with a shorter key.
        server.security = BearerSecurity(isEncrypted: true, encryptionKeySize: 7, hasLongTermKey: true)
    }

    /// Writes a notification or an indication of one of our own values, if the peer's client may be sent it.
    func encode(
        _ kind: ClientCharacteristicConfiguration, of characteristic: AttributeHandle, _ value: [UInt8],
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        updateSecurity()
        let result = localServer.withDatabase { database -> Result<Void, GATTServerError> in
            do throws(GATTServerError) {
                if kind == .notification {
                    try server.encodeNotification(
                        of: characteristic, value: value.span.bytes, database: database, into: &writer)
                } else {
                    try server.encodeIndication(
                        of: characteristic, value: value.span.bytes, database: database, into: &writer)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Takes note that our own attributes have changed in `range`, and tells the peer's client if it wants to know.
    func localServicesChanged(in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?) {
        localServer.withDatabase { server.databaseChanged($0) }
        client.endAuthorization(in: range)
        guard let serviceChanged, client.configurations[serviceChanged]?.contains(.indication) == true else { return }
        tellOfChange(in: range, at: serviceChanged)
    }

    /// Indicates a change. While one waits for its turn it tells of all that follow, so that there is never more than one.
    private func tellOfChange(in range: AttributeHandleRange, at serviceChanged: AttributeHandle) {
        if let waiting = waitingServiceChanged { return waiting.include(range) }
        let indication = ServiceChangedIndication(range, at: serviceChanged, on: self)
        waitingServiceChanged = indication
        submit(indication)
    }

    /// An indication of a change has not gone out.
    func serviceChangedWasNotSent(
        _ indication: ServiceChangedIndication, _ range: AttributeHandleRange, _ failure: TransactionFailure
    ) {
        if waitingServiceChanged === indication { waitingServiceChanged = nil }
        // As soon as there is room among what waits for confirmation.
        guard case .tooManyWaiting = failure else { return }
        untoldChange = untoldChange.map { $0.joined(with: range) } ?? range
    }

    /// Indicates the change for which there was no room before.
    func tellOfUntoldChange() {
        guard let range = untoldChange, let serviceChanged = localServer.serviceChanged else { return }
        untoldChange = nil
        tellOfChange(in: range, at: serviceChanged)
    }

    /// Takes note on an enhanced bearer that the attributes have changed, for what is prepared to be written there.
    func preparedWritesMayBeStale() {
        localServer.withDatabase { server.databaseChanged($0) }
    }

    // MARK: Requests

    /// Answers the peer's client. Its requests wait in the kernel while the answer to the last cannot be sent.
    func receiveFromClient(_ bytes: RawSpan, _ opcode: ATTOpcode) {
        if isEnhanced, opcode == .exchangeMTURequest {
            // An enhanced bearer's MTU is its channel's (Core Vol 3 Part F §3.4.2.1): Request Not Supported.
            _ = engine.respond([0x01, opcode.rawValue, 0, 0, ATTErrorCode.requestNotSupported.rawValue])
            return
        }
        updateSecurity()
        onRequest?()
        finishAnswer(serve { server.receive(bytes, database: &$0, into: &answer) })
        payServiceChanged()
    }

    /// Tells a bonded client that was away when our attributes changed, as soon as the link is encrypted and it is surely
    /// the one that it was (Core Vol 3 Part G §2.5.2, §7.1).
    func payServiceChanged(isEncrypted: Bool = false) {
        guard owesServiceChanged else { return }
        guard let handle = localServer.serviceChanged, client.configurations[handle]?.contains(.indication) == true
        else {
            owesServiceChanged = false
            return
        }
        if !isEncrypted {
            guard let security = try? socket.security(), security.level >= .medium else { return }
        }
        owesServiceChanged = false
        tellOfChange(in: .all, at: handle)
    }

    /// Lets the server do something, with what is known of the client, which is the same on all bearers of the link.
    private func serve(_ body: (inout AttributeDatabase) -> [GATTServerEvent]) -> [GATTServerEvent] {
        if let mainBearer { client = mainBearer.client }
        defer { mainBearer?.client = client }
        return localServer.withDatabase { body(&$0) }
    }

    /// Sends what the server has written, and tells what it has said.
    private func finishAnswer(_ events: [GATTServerEvent]) {
        if answer.count > 0, !engine.respond(answer.bytes) {
            log.debug("dropped an answer out of turn", metadata: ["peer": "\(peer)"])
        }
        for event in events {
            switch event {
            case .mtuExchanged(let mtu): agreedMTU = mtu
            case .requestOutOfTurn(let opcode):
                log.debug("ignored \(opcode) out of turn", metadata: ["peer": "\(peer)"])
            case .indicationConfirmed: break
            default: onPeerRequest?(event)
            }
        }
    }
}
