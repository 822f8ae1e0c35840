import BluetoothATT
import BluetoothPrimitives

extension GATTServer {
    private func check(_ range: AttributeHandleRange) throws(Interruption) {
        guard range.isValid else { throw .refused(.invalidHandle, range.start) }
    }

    /// Answers a Find Information Request (Core Vol 3 Part F §3.4.3.1).
    func findInformation(
        _ range: AttributeHandleRange, database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(Interruption) {
        try check(range)
        var response = ATTFindInformationResponseBuilder()
        var position = database.lowerBound(range.start)
        while position < database.attributes.count, database.attributes[position].handle <= range.end,
            response.append(
                database.attributes[position].handle, type: database.attributes[position].type, to: &writer)
        {
            position += 1
        }
        guard response.count > 0 else { throw .refused(.attributeNotFound, range.start) }
    }

    /// Answers a Find By Type Value Request (Core Vol 3 Part F §3.4.3.3).
    ///
    /// Values are compared bytewise; attributes that the client may not read are not found.
    func findByTypeValue(
        _ range: AttributeHandleRange, type: BluetoothUUID, value wanted: RawSpan, known: ProgramAnswers,
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(Interruption) {
        try check(range)
        var response = ATTFindByTypeValueResponseBuilder()
        for handle in candidates(for: type, value: wanted, in: range, database: database) {
            let attribute = database.attributes[database.lowerBound(handle)]
            let found: Bool
            do throws(Interruption) {
                guard attribute.type == type else { continue }
                try check(.read, to: attribute, known: known)
                let value = try value(of: attribute, known: known)
                found = wanted.withUnsafeBytes { value.elementsEqual($0) }
            } catch {
                guard case .refused = error else { throw error }
                continue
            }
            guard found else { continue }
            guard response.append(attribute.group, to: &writer) else { break }
        }
        guard response.count > 0 else { throw .refused(.attributeNotFound, range.start) }
    }

    /// The handles of attributes that can have the type and value.
    ///
    /// Services are looked up by UUID, so that the search takes the same time in a database of any size.
    private func candidates(
        for type: BluetoothUUID, value: RawSpan, in range: AttributeHandleRange,
        database: borrowing AttributeDatabase
    ) -> ArraySlice<AttributeHandle> {
        if type == .primaryService || type == .secondaryService {
            return BluetoothUUID(attributeValue: value).map { database.handles(ofService: $0, in: range) } ?? []
        }
        return database.handles(of: type, in: range)
    }

    /// Answers a Read By Type Request (Core Vol 3 Part F §3.4.4.1) or a Read By Group Type Request, whose groups are
    /// services (§3.4.4.9, Part G §2.5.3).
    ///
    /// The first attribute determines the result: if it is refused, so is the request, and its length is that of all
    /// entries. A later attribute that is refused or has another length ends the list.
    func readByType(
        _ range: AttributeHandleRange, type: BluetoothUUID, isGrouped: Bool = false, known: ProgramAnswers,
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(Interruption) {
        try check(range)
        if isGrouped, type != .primaryService, type != .secondaryService {
            throw .refused(.unsupportedGroupType, range.start)
        }
        var response = ATTReadByTypeResponseBuilder(isGrouped: isGrouped)
        var entryLength = 0
        for handle in database.handles(of: type, in: range) {
            // The program is not asked for a value that does not fit.
            guard writer.remaining >= entryLength else { break }
            let attribute = database.attributes[database.lowerBound(handle)]
            let before = writer.count
            do throws(Interruption) {
                try check(.read, to: attribute, known: known)
                let value = try value(of: attribute, known: known)
                let fits = response.append(handle, groupEnd: attribute.groupEnd, value: value.span.bytes, to: &writer)
                guard fits else { return }
            } catch {
                guard case .refused = error, response.count > 0 else { throw error }
                return
            }
            entryLength = writer.count - max(before, 2)
        }
        guard response.count > 0 else { throw .refused(.attributeNotFound, range.start) }
    }
}
