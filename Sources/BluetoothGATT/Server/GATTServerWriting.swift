import BluetoothATT
import BluetoothPrimitives

/// The prepared writes that a client has not executed, in order.
struct PreparedWriteQueue: Sendable {
    private(set) var writes: [AttributeWrite] = []
    private var byteCount = 0
    /// The attributes for which the client was authorized to prepare a write.
    var authorizedHandles: Set<AttributeHandle> = []
    /// The first attribute that was removed after a write of it was prepared: its handle may be reused.
    private(set) var missingHandle: AttributeHandle?

    /// Appends a write; returns whether it fits the limits.
    mutating func append(_ write: AttributeWrite, limits: GATTServer.Limits) -> Bool {
        guard writes.count < limits.preparedWrites, write.value.count <= limits.preparedBytes - byteCount else {
            return false
        }
        writes.append(write)
        byteCount += write.value.count
        return true
    }

    /// Records a change of the database.
    mutating func databaseChanged(_ database: borrowing AttributeDatabase) {
        for write in writes where missingHandle == nil && database.position(of: write.handle) == nil {
            missingHandle = write.handle
        }
    }
}

extension ProgramAnswers {
    /// Adds the authorizations to prepare writes.
    fileprivate func merging(_ prepared: PreparedWriteQueue) -> ProgramAnswers {
        var merged = self
        for handle in prepared.authorizedHandles { merged.authorizations[.init(handle: handle, kind: .write)] = true }
        return merged
    }
}

extension GATTServer {
    /// The position of the attribute `handle`, if the client may write it.
    private func writable(
        _ handle: AttributeHandle, known: ProgramAnswers, in database: borrowing AttributeDatabase
    ) throws(Interruption) -> Int {
        guard let position = database.position(of: handle) else { throw .refused(.invalidHandle, handle) }
        try check(.write, to: database.attributes[position], known: known)
        return position
    }

    /// Answers a Write Request (Core Vol 3 Part F §3.4.5.1).
    mutating func writeValue(
        _ handle: AttributeHandle, _ value: RawSpan, known: ProgramAnswers, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) -> [GATTServerEvent] {
        let write = try checkedWrite(handle, value, known: known, database: database)
        if database.attributes[write.position].isAnsweredByProgram {
            throw .asks(.writeRequested([write.write], number: questionNumber))
        }
        self.write(.writeResponse, to: &writer)
        return commit(CollectionOfOne(write.write), database: &database)
    }

    /// Performs a Write Command, or drops it where a request would be refused (Core Vol 3 Part F §3.4.5.3).
    mutating func commandValue(
        _ handle: AttributeHandle, _ value: RawSpan, known: ProgramAnswers, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        let write: (position: Int, write: AttributeWrite)
        do throws(Interruption) {
            write = try checkedWrite(handle, value, known: known, database: database)
        } catch {
            guard case .asks = error else { return [] }
            return [.commandAuthorizationRequested(AttributeWrite(handle, value: [UInt8](value)))]
        }
        if database.attributes[write.position].isAnsweredByProgram {
            return [.writeCommandReceived(write.write)]
        }
        return commit(CollectionOfOne(write.write), database: &database)
    }

    /// The write of a complete value, if it is valid for the attribute.
    private func checkedWrite(
        _ handle: AttributeHandle, _ value: RawSpan, known: ProgramAnswers, database: borrowing AttributeDatabase
    ) throws(Interruption) -> (position: Int, write: AttributeWrite) {
        let position = try writable(handle, known: known, in: database)
        let attribute = database.attributes[position]
        var new = [UInt8](value)
        if attribute.hasFixedLength, let old = wholeValue(of: attribute), new.count < old.count {
            // The rest of a fixed-length value is unchanged.
            new += old[new.count...]
        }
        try check(new, for: attribute)
        return (position, AttributeWrite(handle, value: new))
    }

    /// Checks that `value` is valid as the attribute's complete value.
    private func check(
        _ value: [UInt8], for attribute: AttributeDatabase.Attribute
    ) throws(Interruption) {
        guard attribute.valueLengths.contains(value.count) else {
            throw .refused(.invalidAttributeValueLength, attribute.handle)
        }
        if case .clientConfiguration(_, let supported) = attribute.content,
            !configuration(value).isSubset(of: supported)
        {
            throw .refused(.valueNotAllowed, attribute.handle)
        }
        if case .clientFeatures = attribute.content, !keepsFeatures(value) {
            throw .refused(.valueNotAllowed, attribute.handle)
        }
    }

    /// Whether `new` contains all features that the client has written before (Core Vol 3 Part G §7.2).
    private func keepsFeatures(_ new: [UInt8]) -> Bool {
        client.features.enumerated().allSatisfy { index, old in old & ~(index < new.count ? new[index] : 0) == 0 }
    }

    /// The assigned bits of a configuration; all others are reserved.
    private func configuration(_ value: [UInt8]) -> ClientCharacteristicConfiguration {
        ClientCharacteristicConfiguration(rawValue: UInt16(value.first ?? 0))
            .intersection([.notification, .indication])
    }

    /// Performs checked writes of values that the database or this server stores.
    mutating func commit(
        _ writes: some Sequence<AttributeWrite>, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        var events: [GATTServerEvent] = []
        for write in writes {
            guard let position = database.position(of: write.handle) else { continue }
            switch database.attributes[position].content {
            case .stored:
                database.attributes[position].content = .stored(write.value)
                events.append(.storedValueChanged(write.handle))
            case .clientConfiguration(let characteristic, _):
                let new = configuration(write.value)
                client.configured.insert(characteristic)
                guard configurations[characteristic] ?? [] != new else { continue }
                client.configurations[characteristic] = new.isEmpty ? nil : new
                events.append(.configurationChanged(characteristic, new))
            case .clientFeatures:
                guard client.features != write.value else { continue }
                client.features = write.value
                events.append(.supportedFeaturesChanged(client.supportedFeatures))
            case .dynamic:
                continue
            }
        }
        return events
    }

    /// Answers a Prepare Write Request (Core Vol 3 Part F §3.4.6.1).
    ///
    /// Offset and length are checked at execution.
    mutating func prepareWrite(
        _ handle: AttributeHandle, offset: UInt16, _ value: RawSpan, known: ProgramAnswers,
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(Interruption) {
        _ = try writable(handle, known: known.merging(preparedWrites), in: database)
        let write = AttributeWrite(handle, offset: Int(offset), value: [UInt8](value))
        guard preparedWrites.append(write, limits: limits) else { throw .refused(.prepareQueueFull, handle) }
        if known.authorizations[.init(handle: handle, kind: .write)] == true {
            preparedWrites.authorizedHandles.insert(handle)
        }
        self.write(.prepareWriteResponse(handle, offset: offset, value: value), to: &writer)
    }

    /// Answers an Execute Write Request (Core Vol 3 Part F §3.4.6.3).
    ///
    /// All values are checked before the first is written, so that a refusal changes nothing. The removal of an
    /// attribute after its write was prepared also causes a refusal. The queue is empty afterwards, except for
    /// unassigned flags.
    mutating func executeWrite(
        _ flags: ATTExecuteWriteFlags, known: ProgramAnswers, database: inout AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(Interruption) -> [GATTServerEvent] {
        guard flags == .writeAll || flags == .cancelAll else { throw .refused(.invalidPDU, .none) }
        let prepared = preparedWrites
        preparedWrites = PreparedWriteQueue()
        var events: [GATTServerEvent] = []
        if flags == .writeAll {
            let assembled: (program: [AttributeWrite], own: [AttributeWrite])
            do throws(Interruption) {
                if let handle = prepared.missingHandle { throw .refused(.invalidHandle, handle) }
                assembled = try assemble(prepared.writes, known: known.merging(prepared), database: database)
            } catch {
                // The request is processed again once the program has decided.
                if case .asks = error { preparedWrites = prepared }
                throw error
            }
            guard assembled.program.isEmpty else {
                throw .asks(.writeRequested(assembled.program, number: questionNumber), own: assembled.own)
            }
            events = commit(assembled.own, database: &database)
        }
        write(.executeWriteResponse, to: &writer)
        return events
    }

    /// Joins prepared parts: into complete values where the server has the old value, otherwise where they are
    /// consecutive.
    private func assemble(
        _ prepared: [AttributeWrite], known: ProgramAnswers, database: borrowing AttributeDatabase
    ) throws(Interruption) -> (program: [AttributeWrite], own: [AttributeWrite]) {
        var program: [AttributeWrite] = []
        var own: [AttributeWrite] = []
        for part in prepared {
            let attribute = database.attributes[try writable(part.handle, known: known, in: database)]
            guard let old = wholeValue(of: attribute) else {
                let maximum = attribute.valueLengths.upperBound
                guard part.offset <= maximum else { throw .refused(.invalidOffset, part.handle) }
                guard part.offset + part.value.count <= maximum else {
                    throw .refused(.invalidAttributeValueLength, part.handle)
                }
                if let last = program.indices.last, program[last].handle == part.handle,
                    program[last].offset + program[last].value.count == part.offset
                {
                    program[last].value += part.value
                } else {
                    program.append(part)
                }
                continue
            }
            let index = own.firstIndex { $0.handle == part.handle } ?? own.endIndex
            if index == own.endIndex { own.append(AttributeWrite(part.handle, value: old)) }
            do {
                try attribute.replace(&own[index].value, with: part)
            } catch {
                throw .refused(error, part.handle)
            }
        }
        for write in own {
            guard let attribute = database.attribute(at: write.handle) else { continue }
            try check(write.value, for: attribute)
        }
        return (program, own)
    }

    /// The complete current value, or nil when the program has it.
    private func wholeValue(of attribute: AttributeDatabase.Attribute) -> [UInt8]? {
        if attribute.isAnsweredByProgram { return nil }
        return try? value(of: attribute, known: ProgramAnswers())
    }
}
