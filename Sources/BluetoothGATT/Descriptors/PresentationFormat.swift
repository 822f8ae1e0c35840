import BluetoothPrimitives

/// The value of a Server Characteristic Configuration descriptor, the same for all clients
/// (Core Vol 3 Part G §3.3.3.4).
public struct ServerCharacteristicConfiguration: OptionSet, Hashable, Sendable {
    /// The value of the descriptor, two bytes.
    public let rawValue: UInt16

    /// The configuration from the value of the descriptor.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The server broadcasts the value in its advertising data.
    public static let broadcast = ServerCharacteristicConfiguration(rawValue: 0x0001)
}

extension ServerCharacteristicConfiguration: CustomStringConvertible {
    /// The names of the bits, such as `[broadcast]`.
    public var description: String { describe(self, [(.broadcast, "broadcast")]) }
}

/// The value of a Characteristic Presentation Format descriptor (Core Vol 3 Part G §3.3.3.5).
public struct PresentationFormat: Hashable, Sendable {
    /// The format of a value (Assigned Numbers §2.4.1). An open set.
    public struct Format: RawRepresentable, Hashable, Sendable {
        /// The format field, one byte.
        public let rawValue: UInt8

        /// The format with the value `rawValue`.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        private static let names = [
            "reserved", "boolean", "uint2", "uint4", "uint8", "uint12", "uint16", "uint24", "uint32", "uint48",
            "uint64", "uint128", "sint8", "sint12", "sint16", "sint24", "sint32", "sint48", "sint64", "sint128",
            "float32", "float64", "medfloat16", "medfloat32", "uint16[2]", "utf8s", "utf16s", "struct",
            "medASN1",
        ]
    }

    /// The authority that defines the meaning of the description field. An open set.
    public struct Namespace: RawRepresentable, Hashable, Sendable {
        /// The name space field, one byte.
        public let rawValue: UInt8

        /// The name space with the value `rawValue`.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The Bluetooth SIG.
        public static let bluetoothSIG = Namespace(rawValue: 0x01)
    }

    /// The format of the value.
    public var format: Format
    /// The power of ten by which an integer value is multiplied; other formats have none.
    public var exponent: Int8
    /// The UUID of the unit (Assigned Numbers §3.5).
    public var unit: BluetoothUUID
    /// The authority that defines the meaning of ``valueDescription``.
    public var namespace: Namespace
    /// The description field, defined by ``namespace``.
    public var valueDescription: UInt16

    /// A format with the given fields.
    public init(
        format: Format, exponent: Int8 = 0, unit: BluetoothUUID = 0x2700, namespace: Namespace = .bluetoothSIG,
        valueDescription: UInt16 = 0
    ) {
        self.format = format
        self.exponent = exponent
        self.unit = unit
        self.namespace = namespace
        self.valueDescription = valueDescription
    }

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        format = Format(rawValue: try reader.readUInt8())
        exponent = try reader.readInt8()
        unit = BluetoothUUID(try reader.readUInt16())
        namespace = Namespace(rawValue: try reader.readUInt8())
        valueDescription = try reader.readUInt16()
    }

    /// The value of the descriptor, seven bytes; a unit without a 16-bit UUID is encoded as 0x2700 (unitless).
    public var bytes: [UInt8] {
        [format.rawValue, UInt8(bitPattern: exponent)] + encoded(unit.uint16 ?? 0x2700) + [namespace.rawValue]
            + encoded(valueDescription)
    }
}

extension PresentationFormat.Format {
    /// A Boolean value.
    public static let boolean = Self(rawValue: 0x01)
    /// An unsigned integer of 8 bits.
    public static let uint8 = Self(rawValue: 0x04)
    /// An unsigned integer of 16 bits.
    public static let uint16 = Self(rawValue: 0x06)
    /// An unsigned integer of 24 bits.
    public static let uint24 = Self(rawValue: 0x07)
    /// An unsigned integer of 32 bits.
    public static let uint32 = Self(rawValue: 0x08)
    /// An unsigned integer of 64 bits.
    public static let uint64 = Self(rawValue: 0x0A)
    /// A signed integer of 8 bits.
    public static let sint8 = Self(rawValue: 0x0C)
    /// A signed integer of 16 bits.
    public static let sint16 = Self(rawValue: 0x0E)
    /// A signed integer of 24 bits.
    public static let sint24 = Self(rawValue: 0x0F)
    /// A signed integer of 32 bits.
    public static let sint32 = Self(rawValue: 0x10)
    /// A signed integer of 64 bits.
    public static let sint64 = Self(rawValue: 0x12)
    /// An IEEE 754 floating-point number of 32 bits.
    public static let float32 = Self(rawValue: 0x14)
    /// An IEEE 754 floating-point number of 64 bits.
    public static let float64 = Self(rawValue: 0x15)
    /// A medical floating-point number of 16 bits (IEEE 11073-20601 SFLOAT).
    public static let medicalFloat16 = Self(rawValue: 0x16)
    /// A medical floating-point number of 32 bits (IEEE 11073-20601 FLOAT).
    public static let medicalFloat32 = Self(rawValue: 0x17)
    /// A UTF-8 string.
    public static let utf8 = Self(rawValue: 0x19)
    /// A UTF-16 string.
    public static let utf16 = Self(rawValue: 0x1A)
    /// An opaque structure.
    public static let structure = Self(rawValue: 0x1B)

    /// The size in bytes and the signedness of an integer of whole bytes; nil for other formats.
    var integer: (byteCount: Int, isSigned: Bool)? {
        switch rawValue {
        case 0x01, 0x02, 0x03, 0x04: (1, false)
        case 0x05, 0x06: (2, false)
        case 0x07: (3, false)
        case 0x08: (4, false)
        case 0x09: (6, false)
        case 0x0A: (8, false)
        case 0x0C: (1, true)
        case 0x0D, 0x0E: (2, true)
        case 0x0F: (3, true)
        case 0x10: (4, true)
        case 0x11: (6, true)
        case 0x12: (8, true)
        default: nil
        }
    }
}

extension PresentationFormat {
    /// The number in `value`, multiplied by the exponent; nil for text, structures, numbers of more than 64 bits, and
    /// values that are too short.
    ///
    /// Exact up to 53 bits.
    public func number(_ value: [UInt8]) -> Double? {
        var reader = ByteReader(value.span.bytes)
        switch format {
        case .float32: return (try? reader.readUInt32()).map { Double(Float(bitPattern: $0)) }
        case .float64: return (try? reader.readUInt64()).map { Double(bitPattern: $0) }
        default: break
        }
        guard let integer = format.integer, value.count >= integer.byteCount else { return nil }
        var bits: UInt64 = 0
        for byte in value[..<integer.byteCount].reversed() { bits = bits << 8 | UInt64(byte) }
        let mantissa: Double
        if integer.isSigned {
            let shift = 64 - 8 * integer.byteCount
            mantissa = Double(Int64(bitPattern: bits << shift) >> shift)
        } else {
            mantissa = Double(bits)
        }
        return mantissa * powerOfTen
    }

    /// The text in `value`, or nil when the format is not text.
    public func text(_ value: [UInt8]) -> String? {
        switch format {
        case .utf8: return String(decoding: value, as: UTF8.self)
        case .utf16:
            var units: [UInt16] = []
            var reader = ByteReader(value.span.bytes)
            while let unit = try? reader.readUInt16() { units.append(unit) }
            return String(decoding: units, as: UTF16.self)
        default: return nil
        }
    }

    private var powerOfTen: Double {
        var power = 1.0
        for _ in 0..<exponent.magnitude { power *= 10 }
        return exponent < 0 ? 1 / power : power
    }
}

extension PresentationFormat.Format: CustomStringConvertible {
    /// The short name, such as `sint16`, or the value in hexadecimal.
    public var description: String {
        codeName(rawValue, Self.names) ?? "0x" + hexadecimal(rawValue, digits: 2)
    }
}

extension PresentationFormat.Namespace: CustomStringConvertible {
    /// `Bluetooth SIG`, or the value in hexadecimal.
    public var description: String {
        self == .bluetoothSIG ? "Bluetooth SIG" : "name space 0x" + hexadecimal(rawValue, digits: 2)
    }
}

extension PresentationFormat: CustomStringConvertible {
    /// The format, exponent, unit and description: `sint16 × 10^-2 degree Celsius, outside`.
    public var description: String {
        var text = "\(format)"
        if exponent != 0 { text += " × 10^\(exponent)" }
        if unit != 0x2700 { text += " " + (unitName ?? "unit \(unit)") }
        if let descriptionName { text += ", " + descriptionName }
        return text
    }

    /// The name of ``valueDescription`` where the Bluetooth SIG defines one (Assigned Numbers §2.4.2.1): a location, or
    /// an ordinal such as `no. 3`. Nil for unknown.
    public var descriptionName: String? {
        guard namespace == .bluetoothSIG, valueDescription != 0 else {
            return valueDescription == 0 ? nil : "\(namespace) 0x" + hexadecimal(valueDescription, digits: 4)
        }
        if valueDescription <= 0xFF { return "no. \(valueDescription)" }
        let places = [
            "front", "back", "top", "bottom", "upper", "lower", "main", "backup", "auxiliary", "supplementary",
            "flash", "inside", "outside", "left", "right", "internal", "external",
        ]
        return codeName(valueDescription, places, from: 0x0100)
            ?? "description 0x" + hexadecimal(valueDescription, digits: 4)
    }
}
