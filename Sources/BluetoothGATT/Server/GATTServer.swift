import BluetoothATT
import BluetoothPrimitives

/// The server's side of one ATT bearer: answers one client's requests from a database (Core Vol 3 Part F §3.4, Part G).
///
/// A value without I/O. PDUs go in with ``receive(_:database:into:)``; what comes out is bytes to send, in the writer,
/// and events. The writer is emptied at every call and given the ATT_MTU as its capacity: when it holds bytes
/// afterwards, they are one PDU to send, before the events are acted upon. All calls for one server have to come with
/// the same database, which may have changed its stored values between them.
///
/// What the database does not keep is asked of the program with an event and answered later. ATT lets a client have
/// one request waiting, so there is at most one open question; 30 seconds after it the bearer is over, and a program
/// that cannot answer in time refuses with ``BluetoothATT/ATTErrorCode/unlikelyError``.
public struct GATTServer: Sendable {
    /// What a server keeps for one client at most and asks of its link.
    public struct Limits: Hashable, Sendable {
        /// The largest PDU the server receives, 23 to 65535 bytes.
        public var receiveMTU: UInt16
        /// How many prepared writes it keeps.
        public var preparedWrites: Int
        /// How many bytes these have together.
        public var preparedBytes: Int
        /// The shortest encryption key, in bytes, that opens attributes which require encryption.
        public var minimumEncryptionKeySize: Int

        /// These limits; a `receiveMTU` below 23 is taken as 23.
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

    /// What the server keeps at most and asks of the link.
    public let limits: Limits
    /// How the link is protected; to be kept up to date.
    public var security: BearerSecurity
    /// The ATT_MTU in bytes, never less than 23.
    ///
    /// Follows the client's exchange; where our own client side exchanges it on the same bearer, it is set from there.
    public var mtu: Int {
        didSet { mtu = max(mtu, AttributeProtocol.defaultMTU) }
    }
    /// What is known of the client; the same on all its bearers, so whoever has several keeps it and lends it to each.
    public var client: GATTClientState
    /// Whether the program decides who is authorised, by answering ``GATTServerEvent/authorizationRequested(_:)``; nobody
    /// is asked otherwise, and a client that has not been authorised is refused.
    public var asksForAuthorization = false
    /// The value whose indication has been sent and not confirmed.
    public internal(set) var outstandingIndication: AttributeHandle?

    var preparedWrites = PreparedWriteQueue()
    var question: Question?
    private var questionNumber: UInt64 = 0

    /// A server on a bearer just opened.
    public init(
        limits: Limits = Limits(), security: BearerSecurity = .none,
        configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    ) {
        self.limits = limits
        self.security = security
        client = GATTClientState(configurations: configurations)
        mtu = AttributeProtocol.defaultMTU
    }

    /// What the client wants to be sent, by the handle of the characteristic's value; what is not there is not wanted.
    ///
    /// To be kept for a bonded client and given back to ``init(limits:security:configurations:)``.
    public var configurations: [AttributeHandle: ClientCharacteristicConfiguration] { client.configurations }

    /// How many writes the client has prepared and not executed.
    public var preparedWriteCount: Int { preparedWrites.writes.count }

    /// Whether a request waits for the program.
    public var isWaitingForProgram: Bool { question != nil }

    /// Takes one whole PDU from the client.
    ///
    /// A request is answered, refused, or turned into an event for the program to answer. A command, and a
    /// confirmation of nothing, is never answered; a Signed Write Command is dropped, whatever its signature. PDUs that servers send are passed over; they belong to the client
    /// on the same bearer.
    public mutating func receive(
        _ pdu: RawSpan, database: inout AttributeDatabase, into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        guard let opcode = ATTOpcode(of: pdu), opcode.isSentByClient else { return [] }
        if opcode.type == .request, question != nil { return [.requestOutOfTurn(opcode)] }
        guard isInSync(pdu, opcode, into: &writer) else { return [] }
        return process(pdu, opcode: opcode, known: ProgramAnswers(), database: &database, into: &writer)
    }

    /// Answers a read with the program's value.
    ///
    /// Other values may be needed for the same response, so more events can follow.
    ///
    /// - Parameters:
    ///   - value: The value, at most 512 bytes in all; a longer one is refused as an Unlikely Error.
    ///   - start: Where in the whole value the first byte of `value` is, at most the request's offset.
    public mutating func answer(
        _ request: GATTReadRequest, value: [UInt8], startingAt start: Int = 0, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        let fits =
            start >= 0 && start <= request.offset
            && value.count <= AttributeProtocol.maximumAttributeValueLength - min(start, request.offset)
        let result: KnownValue = fits ? .value(value, start: start) : .refused(.unlikelyError)
        return resume(request, with: result, database: &database, into: &writer)
    }

    /// Refuses a read.
    ///
    /// Where the client asked for several attributes, those before this one are sent.
    public mutating func refuse(
        _ request: GATTReadRequest, with code: ATTErrorCode, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        resume(request, with: .refused(code), database: &database, into: &writer)
    }

    private mutating func resume(
        _ request: GATTReadRequest, with result: KnownValue, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        guard case .read(request, let pdu, var known)? = question, let opcode = pdu.first else { return [] }
        question = nil
        known.values[request.handle] = result
        return process(
            pdu.span.bytes, opcode: ATTOpcode(opcode), known: known, database: &database, into: &writer)
    }

    /// Accepts all values of a write.
    public mutating func accept(
        _ request: GATTWriteRequest, database: inout AttributeDatabase, into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        guard case .write(request, let opcode, let own)? = question else { return [] }
        question = nil
        write(opcode == .executeWriteRequest ? .executeWriteResponse : .writeResponse, to: &writer)
        return commit(own, database: &database)
    }

    /// Refuses a write, all of it.
    ///
    /// - Parameter handle: The attribute that is in the way; nil means the first.
    public mutating func refuse(
        _ request: GATTWriteRequest, at handle: AttributeHandle? = nil, with code: ATTErrorCode,
        into writer: inout ByteWriter
    ) {
        begin(&writer)
        guard case .write(request, let opcode, _)? = question else { return }
        question = nil
        write(
            .errorResponse(
                ATTError(requestOpcode: opcode, handle: handle ?? request.writes.first?.handle ?? .none, code: code)),
            to: &writer)
    }

    /// Refuses the request that waits for the program as a whole, also where a part of it could be answered.
    public mutating func giveUp(with code: ATTErrorCode, into writer: inout ByteWriter) {
        begin(&writer)
        guard let question else { return }
        self.question = nil
        let (opcode, handle) =
            switch question {
            case .read(let request, let pdu, _): (ATTOpcode(pdu.first ?? 0), request.handle)
            case .authorization(let request, let pdu, _): (ATTOpcode(pdu.first ?? 0), request.handle)
            case .write(let request, let opcode, _): (opcode, request.writes.first?.handle ?? .none)
            }
        if opcode == .executeWriteRequest { preparedWrites = PreparedWriteQueue() }
        write(.errorResponse(ATTError(requestOpcode: opcode, handle: handle, code: code)), to: &writer)
    }
}

// MARK: - How a request is worked off

/// A request that waits for the program.
///
/// What is read, or takes authorisation, is kept as its bytes and worked off again with everything that the program says,
/// so that a response made of many values needs no state of its own. A write is kept as what the server itself has to
/// write once the program agrees.
enum Question: Sendable {
    case read(GATTReadRequest, pdu: [UInt8], known: ProgramAnswers)
    case authorization(GATTAuthorizationRequest, pdu: [UInt8], known: ProgramAnswers)
    case write(GATTWriteRequest, opcode: ATTOpcode, own: [AttributeWrite])
}

/// What the program said about a value of the request that is being worked off.
enum KnownValue: Sendable {
    case value([UInt8], start: Int)
    case refused(ATTErrorCode)
}

/// Why a request does not get its response now.
enum Interruption: Error {
    case refused(ATTErrorCode, AttributeHandle)
    case needsValue(AttributeHandle, offset: Int)
    case needsAuthorization(AttributeHandle, AttributeAccess)
    case needsDecision([AttributeWrite], own: [AttributeWrite])
}

extension GATTServer {
    func begin(_ writer: inout ByteWriter) {
        writer.removeAll()
        writer.capacity = mtu
    }

    /// Writes a PDU that by its size always fits.
    func write(_ pdu: borrowing ATTServerPDU, to writer: inout ByteWriter) {
        do {
            try pdu.encode(into: &writer)
        } catch {
            // The least ATT_MTU has room for everything that is written here, so this does not happen; an empty
            // writer sends nothing.
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
            // What a list has so far is made again when the value is there, or gives way to the error.
            writer.removeAll()
            guard opcode.type == .request else { return [] }
            switch error {
            case .refused(let code, let handle):
                write(.errorResponse(ATTError(requestOpcode: opcode, handle: handle, code: code)), to: &writer)
                return []
            case .needsValue(let handle, let offset):
                let request = GATTReadRequest(number: nextNumber(), handle: handle, offset: offset)
                question = .read(request, pdu: [UInt8](pdu), known: known)
                return [.readRequested(request)]
            case .needsAuthorization(let handle, let access):
                let request = GATTAuthorizationRequest(number: nextNumber(), handle: handle, access: access)
                question = .authorization(request, pdu: [UInt8](pdu), known: known)
                return [.authorizationRequested(request)]
            case .needsDecision(let writes, let own):
                let request = GATTWriteRequest(number: nextNumber(), writes: writes)
                question = .write(request, opcode: opcode, own: own)
                return [.writeRequested(request)]
            }
        }
    }

    private mutating func nextNumber() -> UInt64 {
        questionNumber &+= 1
        return questionNumber
    }

    private mutating func dispatch(
        _ bytes: RawSpan, opcode: ATTOpcode, known: ProgramAnswers, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) -> [GATTServerEvent] {
        guard opcode.isKnown else { throw .refused(.requestNotSupported, .none) }
        guard bytes.byteCount <= mtu else { throw .refused(.invalidPDU, .none) }
        let pdu: ATTClientPDU
        do { pdu = try ATTClientPDU(decoding: bytes) } catch { throw .refused(.invalidPDU, .none) }
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
            try readByGroupType(range, type: type, database: database, into: &writer)
        case .readRequest(let handle):
            try read(handle, known: known, database: database, into: &writer)
            if !client.isChangeAware, database.attribute(at: handle)?.type == .databaseHash { didReadHash() }
        case .readBlobRequest(let handle, let offset):
            try readBlob(handle, offset: Int(offset), known: known, database: database, into: &writer)
        case .readMultipleRequest(let handles):
            try readMultiple(handles, known: known, database: database, into: &writer)
        case .readMultipleVariableRequest(let handles):
            try readMultipleVariable(handles, known: known, database: database, into: &writer)
        case .writeRequest(let handle, let value):
            return try writeValue(handle, value, known: known, database: &database, into: &writer)
        case .writeCommand(let handle, let value):
            return commandValue(handle, value, known: known, database: &database)
        case .prepareWriteRequest(let handle, let offset, let value):
            try prepareWrite(handle, offset: offset, value, known: known, database: database, into: &writer)
        case .executeWriteRequest(let flags):
            return try executeWrite(flags, known: known, database: &database, into: &writer)
        case .handleValueConfirmation:
            guard let handle = outstandingIndication else { return [] }
            outstandingIndication = nil
            return [.indicationConfirmed(handle)]
        case .signedWriteCommand:
            // Without a connection signature resolving key no signature is right, and such a command is dropped
            // (Core Vol 3 Part C §10.4.2).
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
