import BluetoothATT
import BluetoothPrimitives

extension GATTServer {
    /// The attribute `handle`, if the client may read it.
    func readable(
        _ handle: AttributeHandle, known: ProgramAnswers, in database: borrowing AttributeDatabase
    ) throws(Interruption) -> AttributeDatabase.Attribute {
        guard let position = database.position(of: handle) else { throw .refused(.invalidHandle, handle) }
        let attribute = database.attributes[position]
        try check(.read, to: attribute, known: known)
        return attribute
    }

    /// The value of a readable attribute.
    func value(of attribute: AttributeDatabase.Attribute, known: ProgramAnswers) throws(Interruption) -> [UInt8] {
        switch attribute.content {
        case .stored(let bytes) where !attribute.isAnsweredByProgram:
            return bytes
        case .clientConfiguration(let characteristic, _):
            return bytes(of: configurations[characteristic] ?? [])
        case .clientFeatures:
            return client.features.isEmpty ? [0] : client.features
        case .dynamic, .stored:
            guard let known = known.values[attribute.handle] else {
                throw .asks(.readRequested(attribute.handle, number: questionNumber))
            }
            switch known {
            case .success(let bytes): return bytes
            case .failure(let code): throw .refused(code, attribute.handle)
            }
        }
    }

    private func bytes(of configuration: ClientCharacteristicConfiguration) -> [UInt8] {
        // Stored ones: a client that asks for all configurations at once costs no allocation for each.
        switch configuration {
        case []: [0, 0]
        case .notification: [1, 0]
        case .indication: [2, 0]
        default:
            [UInt8(truncatingIfNeeded: configuration.rawValue), UInt8(truncatingIfNeeded: configuration.rawValue >> 8)]
        }
    }

    /// Answers a Read Request (Core Vol 3 Part F §3.4.4.3).
    func read(
        _ handle: AttributeHandle, known: ProgramAnswers, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) {
        let value = try value(of: readable(handle, known: known, in: database), known: known)
        write(.readResponse(value: value.span.bytes.extracting(first: ATTValueLimits(mtu: mtu).read)), to: &writer)
    }

    /// Answers a Read Blob Request (Core Vol 3 Part F §3.4.4.5).
    ///
    /// Short values are answered too: refusing them with Attribute Not Long is optional and has no benefit.
    func readBlob(
        _ handle: AttributeHandle, offset: Int, known: ProgramAnswers, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) {
        let value = try value(of: readable(handle, known: known, in: database), known: known)
        guard offset <= value.count else { throw .refused(.invalidOffset, handle) }
        let part = value.span.bytes.extracting(droppingFirst: offset)
        write(.readBlobResponse(value: part.extracting(first: ATTValueLimits(mtu: mtu).read)), to: &writer)
    }

    /// Answers a Read Multiple Request (Core Vol 3 Part F §3.4.4.7) or a Read Multiple Variable Request (§3.4.4.11) with
    /// as many values as fit into the response.
    func readMultiple(
        _ handles: borrowing ATTHandleList, variable: Bool, known: ProgramAnswers,
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(Interruption) {
        var response = ATTReadMultipleResponseBuilder(variable: variable)
        for attribute in try readable(handles, known: known, in: database) {
            let value = try value(of: attribute, known: known)
            guard response.append(value.span.bytes, to: &writer) else { break }
        }
    }

    /// All attributes of the list, if the client may read every one; one refusal refuses the whole request, even where
    /// the response would not contain that value.
    private func readable(
        _ handles: borrowing ATTHandleList, known: ProgramAnswers, in database: borrowing AttributeDatabase
    ) throws(Interruption) -> [AttributeDatabase.Attribute] {
        var rest = copy handles
        var attributes: [AttributeDatabase.Attribute] = []
        while let handle = rest.next() { attributes.append(try readable(handle, known: known, in: database)) }
        return attributes
    }
}
