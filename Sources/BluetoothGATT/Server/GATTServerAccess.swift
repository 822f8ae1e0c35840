import BluetoothATT
import BluetoothPrimitives

/// The program's answers so far for the current request.
struct ProgramAnswers: Sendable {
    struct Access: Hashable {
        var handle: AttributeHandle
        var kind: AttributeAccess
    }

    /// The values by handle: a request may need as many as there are attributes of a type.
    var values: [AttributeHandle: Result<[UInt8], ATTErrorCode>] = [:]
    /// The authorizations that the program has granted or denied.
    var authorizations: [Access: Bool] = [:]
}

extension GATTServer {
    /// Checks that the client may access an attribute: the permission, then the security of the link, then the client's
    /// bond and authorization. Authorization follows authentication (Core Vol 3 Part C §10.5), so that a client learns
    /// to pair before the program is asked.
    func check(
        _ access: AttributeAccess, to attribute: AttributeDatabase.Attribute, known: ProgramAnswers
    ) throws(Interruption) {
        guard attribute.permissions.permits(access) else {
            throw .refused(access == .read ? .readNotPermitted : .writeNotPermitted, attribute.handle)
        }
        let refusal = attribute.permissions.securityRefusal(
            of: access, over: security, minimumKeySize: limits.minimumEncryptionKeySize)
        if let refusal { throw .refused(refusal, attribute.handle) }
        guard lacksBond(for: access, to: attribute) || lacksAuthorization(for: access, to: attribute) else { return }
        let decision = known.authorizations[.init(handle: attribute.handle, kind: access)]
        if decision == nil, asksForAuthorization {
            throw .asks(.authorizationRequested(attribute.handle, access, number: questionNumber))
        }
        guard decision == true else { throw .refused(.insufficientAuthorization, attribute.handle) }
    }

    /// Whether the client is not bonded, as the access requires.
    ///
    /// Such a client is refused as unauthorized: its link is as secure as it can be, and to pair again without bonding
    /// would not help.
    func lacksBond(for access: AttributeAccess, to attribute: AttributeDatabase.Attribute) -> Bool {
        attribute.permissions.needsBond(to: access) && !security.isBonded
    }

    /// Whether the client has no lasting authorization, as the access requires.
    func lacksAuthorization(for access: AttributeAccess, to attribute: AttributeDatabase.Attribute) -> Bool {
        attribute.permissions.needsAuthorization(to: access) && !client.isAuthorized(for: attribute.handle)
    }

    /// Performs a Write Command for which the client is authorized; repeats all other checks.
    mutating func perform(
        _ command: AttributeWrite, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        guard !client.isOutOfSync else { return [] }
        var known = ProgramAnswers()
        known.authorizations[.init(handle: command.handle, kind: .write)] = true
        return commandValue(command.handle, command.value.span.bytes, known: known, database: &database)
    }
}
