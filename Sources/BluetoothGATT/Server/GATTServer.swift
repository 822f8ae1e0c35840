import BluetoothATT
import BluetoothPrimitives

/// The server side of one ATT bearer: responds to one client's requests from a database
/// (Core Vol 3 Part F §3.4, Part G).
///
/// A value without I/O. ``receive(_:database:into:)`` takes PDUs and returns events; a PDU to send is in the writer.
/// Every call empties the writer and sets its capacity to the ATT_MTU. When it contains bytes afterwards, they are one
/// PDU, to be sent before the events are handled. Pass the same database to all calls for one server; its stored values
/// may change in between.
///
/// A value that the database does not store is requested from the program with an event and answered later. ATT permits
/// a client one outstanding request, so there is at most one open question. The bearer becomes unusable 30 seconds
/// after it; a program that cannot answer in time refuses with ``BluetoothATT/ATTErrorCode/unlikelyError``.
public struct GATTServer: Sendable {
    /// The limits of a server for one client, and the encryption key size it requires.
    public struct Limits: Hashable, Sendable {
        /// The server receive MTU in bytes, 23 to 65535.
        public var receiveMTU: UInt16
        /// The maximum number of prepared writes.
        public var preparedWrites: Int
        /// The maximum size of all prepared writes in bytes.
        public var preparedBytes: Int
        /// The minimum encryption key size in bytes for attributes that require encryption.
        public var minimumEncryptionKeySize: Int

        /// The given limits; a `receiveMTU` below 23 becomes 23.
        public init(
            receiveMTU: UInt16 = 517, preparedWrites: Int = 128, preparedBytes: Int = 2048,
            minimumEncryptionKeySize: Int = 7
        ) {
            self.receiveMTU = max(receiveMTU, UInt16(AttributeProtocol.defaultMTU))
            self.preparedWrites = preparedWrites
            self.preparedBytes = preparedBytes
            self.minimumEncryptionKeySize = minimumEncryptionKeySize
        }
    }

    /// The limits of the server.
    public let limits: Limits
    /// The security of the link, which the owner keeps up to date.
    public var security: BearerSecurity
    /// The ATT_MTU in bytes, at least 23.
    ///
    /// Set by the client's exchange; set it after an exchange by the client side of the same bearer.
    public var mtu: Int {
        didSet { mtu = max(mtu, AttributeProtocol.defaultMTU) }
    }
    /// The state of the client. The owner of several bearers of one client shares it between them.
    public var client: GATTClientState
    /// Whether the program authorizes clients, and confirms their bonds, by answering
    /// ``GATTServerEvent/authorizationRequested(_:)``. Otherwise there are no such events, and a client that is
    /// unauthorized or not known to be bonded is refused.
    public var asksForAuthorization = false

    @Boxed private var prepared: PreparedWriteQueue?
    @Boxed var pendingRequest: PendingRequest?
    /// The number of questions to the program so far, which distinguishes the next from all others.
    private(set) var questionNumber: UInt64 = 0

    /// A server on a bearer that has just opened.
    public init(
        limits: Limits = Limits(), security: BearerSecurity = .none,
        configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    ) {
        self.limits = limits
        self.security = security
        client = GATTClientState(configurations: configurations)
        mtu = AttributeProtocol.defaultMTU
    }

    /// The client's configurations by value handle; no entry means neither notification nor indication.
    ///
    /// Persist them for a bonded client, and pass them to ``init(limits:security:configurations:)``.
    public var configurations: [AttributeHandle: ClientCharacteristicConfiguration] { client.configurations }

    /// The prepared writes that the client has not executed.
    var preparedWrites: PreparedWriteQueue {
        get { prepared ?? PreparedWriteQueue() }
        set { prepared = newValue.writes.isEmpty && newValue.authorizedHandles.isEmpty ? nil : newValue }
    }

    /// The number of prepared writes that the client has not executed.
    public var preparedWriteCount: Int { preparedWrites.writes.count }

    /// Whether a request waits for the program's answer.
    public var isWaitingForProgram: Bool { $pendingRequest.exists }

    /// Receives one complete PDU from the client.
    ///
    /// A request is answered, refused, or turned into an event that the program answers. Commands and unexpected
    /// confirmations have no response, and all Signed Write Commands are dropped. PDUs sent by servers are ignored;
    /// they belong to the client side of the same bearer.
    public mutating func receive(
        _ pdu: RawSpan, database: inout AttributeDatabase, into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        guard let opcode = ATTOpcode(of: pdu), opcode.isSentByClient else { return [] }
        if opcode.type == .request, isWaitingForProgram { return [.requestOutOfTurn(opcode)] }
        guard isInSync(pdu, opcode, into: &writer) else { return [] }
        return process(pdu, opcode: opcode, known: ProgramAnswers(), database: &database, into: &writer)
    }

    /// Answers an event that asks the program, or with nil refuses the pending request as a whole, even where a part of it
    /// could be answered. A repeated answer, or one to an event of another server, has no effect.
    ///
    /// The response may need further answers, so more events can follow. A refused value or access ends a response with
    /// several attributes, which contains those before it. An authorization to prepare a write of an attribute lasts
    /// until the prepared writes are executed; that of a command repeats all other checks.
    ///
    /// - Parameters:
    ///   - result: The value of a read, at most 512 bytes in all, where a longer one is refused as Unlikely Error;
    ///     nothing to accept all values of a write or to authorize an access; or the error code.
    public mutating func answer(
        _ event: GATTServerEvent?, with result: Result<[UInt8], ATTErrorCode>, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        if case .commandAuthorizationRequested(let command)? = event {
            if case .success = result { return perform(command, database: &database) }
            return []
        }
        guard let pending = pendingRequest, event == nil || event == pending.event else { return [] }
        pendingRequest = nil
        var known = pending.known
        switch (event, result) {
        case (.readRequested(let handle, _), _):
            known.values[handle] = result.flatMap {
                $0.count <= AttributeProtocol.maximumAttributeValueLength ? result : .failure(.unlikelyError)
            }
        case (.authorizationRequested(let handle, let access, _), _):
            known.authorizations[.init(handle: handle, kind: access)] = (try? result.get()) != nil
        case (_, .success):
            write(pending.opcode == .executeWriteRequest ? .executeWriteResponse : .writeResponse, to: &writer)
            return commit(pending.own, database: &database)
        case (_, .failure(let code)):
            if pending.opcode == .executeWriteRequest { preparedWrites = PreparedWriteQueue() }
            let handle = pending.event.access?.handle ?? .none
            write(.errorResponse(ATTError(requestOpcode: pending.opcode, handle: handle, code: code)), to: &writer)
            return []
        }
        return process(
            pending.pdu.span.bytes, opcode: pending.opcode, known: known, database: &database, into: &writer)
    }
}

// MARK: - Processing of requests

/// A request that waits for the program.
///
/// A read, or a request that requires authorization, is stored as a PDU and processed again with all answers so far, so
/// that a response with many values needs no state of its own. A write is stored as the writes that the server itself
/// must perform once the program agrees.
struct PendingRequest: Sendable {
    /// The event that asks the program.
    var event: GATTServerEvent
    var opcode: ATTOpcode
    var pdu: [UInt8]
    var known: ProgramAnswers
    var own: [AttributeWrite]
}

/// The reason for which a request has no response yet.
enum Interruption: Error {
    case refused(ATTErrorCode, AttributeHandle)
    /// The program must answer the event; the server performs its own writes afterwards.
    case asks(GATTServerEvent, own: [AttributeWrite] = [])
}

extension GATTServer {
    func begin(_ writer: inout ByteWriter) {
        writer.removeAll()
        writer.capacity = mtu
    }

    /// Writes a PDU that always fits.
    func write(_ pdu: borrowing ATTServerPDU, to writer: inout ByteWriter) {
        do {
            try pdu.encode(into: &writer)
        } catch {
            // Unreachable, since the minimum ATT_MTU has room for every PDU written here. An empty writer sends
            // nothing.
            writer.removeAll()
        }
    }

    mutating func process(
        _ pdu: RawSpan, opcode: ATTOpcode, known: ProgramAnswers, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        do throws(Interruption) {
            return try dispatch(pdu, opcode: opcode, known: known, database: &database, into: &writer)
        } catch {
            // A partial list is built again once the value is known, or is replaced by the Error Response.
            writer.removeAll()
            guard opcode.type == .request else { return [] }
            switch error {
            case .refused(let code, let handle):
                write(.errorResponse(ATTError(requestOpcode: opcode, handle: handle, code: code)), to: &writer)
                return []
            case .asks(let event, let own):
                questionNumber &+= 1
                // A write is not processed again.
                let isWrite = if case .writeRequested = event { true } else { false }
                pendingRequest = PendingRequest(
                    event: event, opcode: opcode, pdu: isWrite ? [] : [UInt8](pdu), known: known, own: own)
                return [event]
            }
        }
    }

    private mutating func dispatch(
        _ bytes: RawSpan, opcode: ATTOpcode, known: ProgramAnswers, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) -> [GATTServerEvent] {
        guard opcode.isKnown else { throw .refused(.requestNotSupported, .none) }
        guard bytes.byteCount <= mtu else { throw .refused(.invalidPDU, .none) }
        let pdu: ATTClientPDU
        do { pdu = try ATTClientPDU(decoding: bytes) } catch { throw .refused(.invalidPDU, .none) }
        database.updateHash(for: pdu)
        switch pdu {
        case .exchangeMTURequest(let clientReceiveMTU):
            return exchangeMTU(clientReceiveMTU, into: &writer)
        case .findInformationRequest(let range):
            try findInformation(range, database: database, into: &writer)
        case .findByTypeValueRequest(let range, let type, let value):
            try findByTypeValue(
                range, type: BluetoothUUID(type), value: value, known: known, database: database, into: &writer)
        case .readByTypeRequest(let range, let type):
            try readByType(range, type: type, known: known, database: database, into: &writer)
            if type == .databaseHash { didReadHash() }
        case .readByGroupTypeRequest(let range, let type):
            try readByType(range, type: type, isGrouped: true, known: known, database: database, into: &writer)
        case .readRequest(let handle):
            try read(handle, known: known, database: database, into: &writer)
            if !client.isChangeAware, database.attribute(at: handle)?.type == .databaseHash { didReadHash() }
        case .readBlobRequest(let handle, let offset):
            try readBlob(handle, offset: Int(offset), known: known, database: database, into: &writer)
        case .readMultipleRequest(let handles):
            try readMultiple(handles, variable: false, known: known, database: database, into: &writer)
        case .readMultipleVariableRequest(let handles):
            try readMultiple(handles, variable: true, known: known, database: database, into: &writer)
        case .writeRequest(let handle, let value):
            return try writeValue(handle, value, known: known, database: &database, into: &writer)
        case .writeCommand(let handle, let value):
            return commandValue(handle, value, known: known, database: &database)
        case .prepareWriteRequest(let handle, let offset, let value):
            try prepareWrite(handle, offset: offset, value, known: known, database: database, into: &writer)
        case .executeWriteRequest(let flags):
            return try executeWrite(flags, known: known, database: &database, into: &writer)
        case .handleValueConfirmation, .signedWriteCommand:
            // The owner of the bearer awaits confirmations. Without a CSRK no signature is valid, and the command is
            // dropped (Core Vol 3 Part C §10.4.2).
            return []
        case .unknown:
            throw .refused(.requestNotSupported, .none)
        }
        return []
    }

    private mutating func exchangeMTU(_ clientReceiveMTU: UInt16, into writer: inout ByteWriter) -> [GATTServerEvent] {
        write(.exchangeMTUResponse(serverReceiveMTU: limits.receiveMTU), to: &writer)
        mtu = AttributeProtocol.mtu(clientReceiveMTU: clientReceiveMTU, serverReceiveMTU: limits.receiveMTU)
        return [.mtuExchanged(mtu)]
    }
}
