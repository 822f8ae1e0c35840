import BluetoothATT
import BluetoothPrimitives

/// A client's question whether it may do what takes authorisation (Core Vol 3 Part F §3.2.5).
///
/// Belongs to the one server that made it and is answered once; an answer that comes twice, or for another request,
/// does nothing.
public struct GATTAuthorizationRequest: Hashable, Sendable {
    let number: UInt64
    /// The attribute.
    public let handle: AttributeHandle
    /// What the client wants to do with it.
    public let access: AttributeAccess
}

/// What the program has said so far about the request that is being worked off.
struct ProgramAnswers: Sendable {
    struct Access: Hashable {
        var handle: AttributeHandle
        var kind: AttributeAccess
    }

    /// Values by their handles: a request may need as many as there are attributes of a type.
    var values: [AttributeHandle: KnownValue] = [:]
    /// Whether the client may do what it was asked about.
    var authorizations: [Access: Bool] = [:]
}

extension GATTServer {
    /// Checks that the client may read or write an attribute: the permission itself, the client's authorisation, then
    /// what the link lacks, in the order of Core Vol 3 Part F §4.
    func check(
        _ access: AttributeAccess, to attribute: AttributeDatabase.Attribute, known: ProgramAnswers
    ) throws(Interruption) {
        guard attribute.permissions.permits(access) else {
            throw .refused(access == .read ? .readNotPermitted : .writeNotPermitted, attribute.handle)
        }
        if attribute.permissions.needsAuthorization(to: access), !client.isAuthorized(for: attribute.handle) {
            let decision = known.authorizations[.init(handle: attribute.handle, kind: access)]
            if decision == nil, asksForAuthorization { throw .needsAuthorization(attribute.handle, access) }
            guard decision == true else { throw .refused(.insufficientAuthorization, attribute.handle) }
        }
        let refusal = attribute.permissions.securityRefusal(
            of: access, over: security, minimumKeySize: limits.minimumEncryptionKeySize)
        if let refusal { throw .refused(refusal, attribute.handle) }
    }

    /// Goes on with what the client has been authorised for, this time.
    ///
    /// More may be asked for the same response, so more events can follow. Whoever is authorised to prepare a write of an
    /// attribute is not asked about again until the prepared writes are executed.
    public mutating func authorize(
        _ request: GATTAuthorizationRequest, database: inout AttributeDatabase, into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        decide(request, isAuthorized: true, database: &database, into: &writer)
    }

    /// Refuses what the client asked to be authorised for, with Insufficient Authorization; where it asked for several
    /// attributes, those before this one are sent.
    public mutating func refuse(
        _ request: GATTAuthorizationRequest, database: inout AttributeDatabase, into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        decide(request, isAuthorized: false, database: &database, into: &writer)
    }

    private mutating func decide(
        _ request: GATTAuthorizationRequest, isAuthorized: Bool, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) -> [GATTServerEvent] {
        begin(&writer)
        guard case .authorization(request, let pdu, var known)? = question, let opcode = pdu.first else { return [] }
        question = nil
        known.authorizations[.init(handle: request.handle, kind: request.access)] = isAuthorized
        return process(pdu.span.bytes, opcode: ATTOpcode(opcode), known: known, database: &database, into: &writer)
    }

    /// Carries out a Write Command for which the client has been authorised; everything else is checked anew.
    public mutating func carryOut(
        _ command: AttributeWrite, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        guard !client.isOutOfSync else { return [] }
        var known = ProgramAnswers()
        known.authorizations[.init(handle: command.handle, kind: .write)] = true
        return commandValue(command.handle, command.value.span.bytes, known: known, database: &database)
    }
}
