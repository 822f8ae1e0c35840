import BluetoothPrimitives

/// A builder of one payload of limited size from fields in order.
///
/// ```swift
/// var builder = AdvertisementDataBuilder()
/// try builder.add(.flags([.leGeneralDiscoverable, .brEDRNotSupported]))
/// try builder.add(.services(["27ADC9CA-35EB-465A-9154-B8FF9076F3E8"]))
/// ```
///
/// ``AdvertisingPayloads`` builds an advertising payload and a scan response together.
public struct AdvertisementDataBuilder: Sendable {
    /// The maximum size in bytes of a legacy advertising packet or scan response (Core Vol 6 Part B §2.3.1).
    public static let legacyCapacity = 31
    /// The maximum size in bytes of the data in one HCI command, which every controller with extended advertising
    /// accepts (Core Vol 4 Part E §7.8.54).
    public static let extendedCommandCapacity = 251
    /// The maximum size in bytes of an extended advertising payload (Core Vol 6 Part B §2.3.4.9).
    public static let extendedCapacity = 1650

    /// The maximum size of the payload in bytes.
    public let capacity: Int
    /// The payload so far.
    public private(set) var bytes: [UInt8] = []
    private var present: Set<ADType> = []

    /// A builder of an empty payload with at most `capacity` bytes.
    public init(capacity: Int = legacyCapacity) {
        self.capacity = max(0, capacity)
    }

    /// The number of remaining bytes.
    public var remaining: Int { capacity - bytes.count }

    /// Adds a complete field, or nothing.
    ///
    /// - Throws: ``AdvertisementDataError`` when the field does not fit, cannot be encoded, or may occur once and is
    ///   already present.
    public mutating func add(_ field: ADField) throws(AdvertisementDataError) {
        try add(try field.structures())
    }

    /// Adds a complete structure of any type, or nothing; throws as for a field.
    public mutating func add(_ structure: ADStructure) throws(AdvertisementDataError) {
        try add([structure])
    }

    private mutating func add(_ structures: [ADStructure]) throws(AdvertisementDataError) {
        var needed = 0
        for structure in structures {
            guard structure.data.count <= ADStructure.maximumDataLength else {
                throw .tooLong(structure.type, byteCount: structure.data.count)
            }
            if let only = structure.type.onlyOne, present.contains(only) { throw .alreadyPresent(structure.type) }
            needed += structure.byteCount
        }
        guard needed <= remaining else { throw .doesNotFit(structures[0].type, needed: needed, left: remaining) }
        for structure in structures {
            bytes.append(UInt8(truncatingIfNeeded: structure.data.count + 1))
            bytes.append(structure.type.rawValue)
            bytes += structure.data
        }
        present.formUnion(structures.compactMap { $0.type.onlyOne })
    }

    /// The number of data bytes that a structure of this type could have; nil when not even an empty one fits.
    func room(for type: ADType) -> Int? {
        if let only = type.onlyOne, present.contains(only) { return nil }
        return remaining < 2 ? nil : min(remaining - 2, ADStructure.maximumDataLength)
    }

    /// Adds a name, complete or shortened between two characters to the part that fits; returns whether it is complete.
    ///
    /// - Throws: ``AdvertisementDataError`` when not even the first character fits, or a name is already present.
    @discardableResult
    public mutating func addShortening(localName name: String) throws(AdvertisementDataError) -> Bool {
        let needed = name.utf8.count
        guard let room = room(for: .completeLocalName), room < needed else {
            try add(.localName(name))
            return true
        }
        let shortened = prefix(of: name, byteCount: room)
        guard !shortened.isEmpty else { throw .doesNotFit(.completeLocalName, needed: 2 + needed, left: remaining) }
        try add(.localName(shortened, complete: false))
        return false
    }

    /// Adds as many services as fit. A truncated list is marked as incomplete in its width; all lists are when
    /// `services` are not all of the device's (`complete` is false).
    ///
    /// Returns the services that were not added, including those of a width whose list is already present.
    public mutating func addFitting(services: [BluetoothUUID], complete: Bool = true) -> [BluetoothUUID] {
        var left: [BluetoothUUID] = []
        for width in BluetoothUUID.Width.allCases {
            let own = services.filter { $0.shortestWidth == width }
            let room = room(for: .services(width, complete: true)) ?? 0
            let fitting = own.prefix(room / width.byteCount)
            let list = ADField.services(Array(fitting), complete: complete && fitting.count == own.count)
            let isAdded = !fitting.isEmpty && (try? add(list)) != nil
            left += isAdded ? own.dropFirst(fitting.count) : own[...]
        }
        return left
    }

    /// The payload as decoded by a scanner.
    public var data: AdvertisementData { AdvertisementData(advertising: bytes) }
}
