import BluetoothPrimitives

/// An AD structure with borrowed bytes (Core Vol 3 Part C §11).
public struct ADStructureView: ~Escapable {
    /// The AD type.
    public let type: ADType
    /// The bytes after the type.
    public let data: RawSpan
    /// The offset of the length byte in the payload.
    public let offset: Int

    @inlinable
    @_lifetime(copy data)
    init(type: ADType, data: RawSpan, offset: Int) {
        self.type = type
        self.data = data
        self.offset = offset
    }

    /// Whether this list of UUIDs of `width` contains `uuid` as a complete entry.
    @inlinable
    func contains(_ uuid: BluetoothUUID, width: BluetoothUUID.Width) -> Bool {
        guard uuid.shortestWidth.byteCount <= width.byteCount else { return false }
        var reader = ByteReader(data)
        while let entry = try? reader.readUUID(width) {
            if entry == uuid { return true }
        }
        return false
    }
}

/// The AD structures of a payload, iterated without copying or allocation (Core Vol 3 Part C §11).
///
/// ```swift
/// var structures = ADStructures(payload)
/// while let structure = structures.next() { … }
/// if let problem = structures.problem { … }
/// ```
///
/// A zero length ends the payload early. A structure that exceeds the payload is not returned; it ends the iteration
/// and becomes the ``problem``.
public struct ADStructures: ~Escapable {
    @usableFromInline enum State {
        case walking
        /// A zero length was read.
        case ended
        /// The next structure exceeds the payload; the reader is at its length.
        case overrun
    }

    @usableFromInline var reader: ByteReader
    @usableFromInline var state = State.walking

    /// Begins at the first structure of `payload`, which it borrows.
    @inlinable
    @_lifetime(copy payload)
    public init(_ payload: RawSpan) {
        reader = ByteReader(payload)
    }

    /// The next structure, or nil at the end of the payload.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() -> ADStructureView? {
        guard state == .walking, !reader.isAtEnd else { return nil }
        let start = reader
        do throws(TruncatedBytes) {
            let length = Int(try reader.readUInt8())
            guard length > 0 else {
                state = .ended
                return nil
            }
            let type = ADType(rawValue: try reader.readUInt8())
            return ADStructureView(type: type, data: try reader.read(length - 1), offset: start.offset)
        } catch {
            reader = start
            state = .overrun
            return nil
        }
    }

    /// The problem of the payload as a whole, after the end of the iteration: a structure that exceeds the payload, or
    /// nonzero bytes after the zero length that ends it.
    public var problem: ADProblem? {
        var rest = reader
        switch state {
        case .walking: return nil
        case .ended:
            while let byte = try? rest.readUInt8() {
                if byte != 0 {
                    return ADProblem(offset: reader.offset, type: nil, fault: .bytesAfterEnd(reader.remaining))
                }
            }
            return nil
        case .overrun:
            let declared = Int((try? rest.readUInt8()) ?? 0)
            let available = rest.remaining
            let type = (try? rest.readUInt8()).map { ADType(rawValue: $0) }
            let fault = ADFault.runsPastEnd(declared: declared, available: available)
            return ADProblem(offset: reader.offset, type: type, fault: fault)
        }
    }
}

/// The UUIDs in the lists of services in order, iterated without copying or allocation; one can occur several times.
///
/// ```swift
/// var services = data.serviceUUIDs
/// while let service = services.next() { … }
/// ```
public struct ADServiceUUIDs: ~Escapable {
    private var advertising: ADStructures
    private var scanResponse: ADStructures
    /// The rest of the current list.
    private var list: ByteReader
    private var width = BluetoothUUID.Width.bits16

    @_lifetime(copy advertising, copy scanResponse)
    init(_ advertising: ADStructures, _ scanResponse: ADStructures) {
        (self.advertising, self.scanResponse) = (advertising, scanResponse)
        list = advertising.reader
        _ = list.readRemaining()
    }

    /// The next UUID, or nil after the last.
    @_lifetime(self: copy self)
    public mutating func next() -> BluetoothUUID? {
        while list.remaining < width.byteCount {
            guard let structure = nextStructure() else { return nil }
            guard let width = structure.type.serviceListWidth else { continue }
            (self.width, list) = (width, ByteReader(structure.data))
        }
        return try? list.readUUID(width)
    }

    @_lifetime(copy self)
    @_lifetime(self: copy self)
    private mutating func nextStructure() -> ADStructureView? {
        if let structure = advertising.next() { return structure }
        return scanResponse.next()
    }
}

/// Queries of the remaining structures, without allocation.
extension ADStructures {
    @inlinable @inline(__always)
    func contains(where condition: (ADStructureView) -> Bool) -> Bool {
        var rest = self
        while let structure = rest.next() {
            if condition(structure) { return true }
        }
        return false
    }

    private func containsLocalName(where condition: (RawSpan) -> Bool) -> Bool {
        contains { $0.type.isLocalName && condition($0.data) }
    }

    /// Whether a list contains this service, in any width.
    @inlinable
    public func containsService(_ uuid: BluetoothUUID) -> Bool {
        contains { structure in
            structure.type.serviceListWidth.map { structure.contains(uuid, width: $0) } ?? false
        }
    }

    /// Whether a list solicits this service, in any width.
    @inlinable
    public func solicitsService(_ uuid: BluetoothUUID) -> Bool {
        contains { structure in
            structure.type.solicitationListWidth.map { structure.contains(uuid, width: $0) } ?? false
        }
    }

    /// Whether the payload contains data of this company.
    @inlinable
    public func containsManufacturerData(of company: CompanyIdentifier) -> Bool {
        contains { structure in
            guard structure.type == .manufacturerSpecificData else { return false }
            var reader = ByteReader(structure.data)
            return (try? reader.readUInt16()) == company.rawValue
        }
    }

    /// Whether a local name, complete or shortened, equals `name` bytewise.
    public func localName(equals name: String) -> Bool {
        containsLocalName { $0.text(equals: name, prefixOnly: false) }
    }

    /// Whether the payload contains data of this company that begins with `prefix` in the bits of `mask`; bits beyond
    /// the end of the mask count, and nil means all.
    public func containsManufacturerData(
        of company: CompanyIdentifier, startingWith prefix: [UInt8], mask: [UInt8]? = nil
    ) -> Bool {
        contains { structure in
            guard structure.type == .manufacturerSpecificData else { return false }
            var reader = ByteReader(structure.data)
            guard (try? reader.readUInt16()) == company.rawValue else { return false }
            return reader.readRemaining().begins(with: prefix, mask: mask)
        }
    }

    /// Whether the payload contains data of this service, in any width, that begins with `prefix` in the bits of `mask`;
    /// bits beyond the end of the mask count, and nil means all.
    public func containsServiceData(
        of uuid: BluetoothUUID, startingWith prefix: [UInt8] = [], mask: [UInt8]? = nil
    ) -> Bool {
        contains { structure in
            guard let width = structure.type.serviceDataWidth else { return false }
            var reader = ByteReader(structure.data)
            guard (try? reader.readUUID(width)) == uuid else { return false }
            return reader.readRemaining().begins(with: prefix, mask: mask)
        }
    }

    /// Whether a local name, complete or shortened, contains these bytes. With `ignoringCase`, `text` must be in
    /// lowercase, and ASCII capitals match it.
    public func localName(contains text: [UInt8], ignoringCase: Bool = false) -> Bool {
        containsLocalName { $0.text(contains: text, ignoringCase: ignoringCase) }
    }

    /// Whether a local name, complete or shortened, begins with the bytes of `prefix`.
    public func localName(hasPrefix prefix: String) -> Bool {
        containsLocalName { $0.text(equals: prefix, prefixOnly: true) }
    }
}

extension RawSpan {
    /// Whether the bytes begin with `prefix` in the bits of `mask`.
    fileprivate func begins(with prefix: [UInt8], mask: [UInt8]?) -> Bool {
        guard byteCount >= prefix.count else { return false }
        return prefix.indices.allSatisfy { index in
            let bits = mask.map { index < $0.count ? $0[index] : 0xFF } ?? 0xFF
            return unsafeLoad(fromByteOffset: index, as: UInt8.self) & bits == prefix[index] & bits
        }
    }
}
