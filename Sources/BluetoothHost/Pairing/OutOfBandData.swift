import BluetoothPrimitives

/// The out-of-band data of a device for pairing with LE Secure Connections (Core Vol 3 Part H §2.3.5.6.4): what one device
/// transfers to the other by another way than Bluetooth, such as an NFC tag or a QR code.
///
/// Pairing is authenticated if the other way is: anyone who can read the data can pair in the device's place. The
/// values are for one pairing, and no description shows them.
public struct OutOfBandData: Hashable, Sendable {
    /// The confirmation value C of the device's public key.
    public var confirmation: SecurityKey
    /// The random value R that C was made with.
    public var random: SecurityKey
    /// The device's address; nil if it is unknown.
    public var address: BluetoothAddress?

    /// Data from their parts.
    public init(confirmation: SecurityKey, random: SecurityKey, address: BluetoothAddress? = nil) {
        (self.confirmation, self.random, self.address) = (confirmation, random, address)
    }
}

extension OutOfBandData: CustomStringConvertible, CustomDebugStringConvertible {
    /// The address, without the values.
    public var description: String { "out-of-band data" + (address.map { " of \($0.digits)" } ?? "") }
    /// The address, without the values.
    public var debugDescription: String { description }
}

// MARK: - Coding

extension OutOfBandData {
    /// The media type of an NFC tag's record with the data (NFC Forum, Bluetooth Secure Simple Pairing Using NFC §4.2).
    public static let mediaType = "application/vnd.bluetooth.le.oob"

    private static let textPrefix = "BLE-OOB:"

    private enum FieldType {
        static let temporaryKey: UInt8 = 0x10
        static let address: UInt8 = 0x1B
        static let role: UInt8 = 0x1C
        static let confirmation: UInt8 = 0x22
        static let random: UInt8 = 0x23
    }

    /// The data as AD structures, the content of a record of ``mediaType``: the address, if it is known, the LE role
    /// (either, peripheral preferred), the confirmation and the random value.
    public var structures: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ type: UInt8, _ content: [UInt8]) { bytes += [UInt8(content.count + 1), type] + content }
        if let address {
            add(
                FieldType.address,
                (0..<6).map { UInt8(truncatingIfNeeded: address.value >> (8 * UInt64($0))) }
                    + [address.kind == .random ? 1 : 0])
        }
        add(FieldType.role, [2])
        add(FieldType.confirmation, confirmation.bytes)
        add(FieldType.random, random.bytes)
        return bytes
    }

    /// An NFC message (NDEF) of one record of ``mediaType``, for writing to a tag.
    public var nfcMessage: [UInt8] {
        let (type, content) = (Array(Self.mediaType.utf8), structures)
        // The first, last and only record, short, with a media type.
        return [0xD2, UInt8(type.count), UInt8(content.count)] + type + content
    }

    /// A text for a QR code: `BLE-OOB:` and ``structures`` in uppercase hexadecimal digits, characters that QR codes
    /// encode compactly. The prefix is this library's; there is no standard for it.
    public var text: String { Self.textPrefix + structures.map { hexadecimal($0, digits: 2) }.joined() }

    /// The data in AD structures, or in an NFC message with a record of ``mediaType``.
    /// - Throws: `.invalidArgument` with what is wrong with them.
    public init(_ bytes: [UInt8]) throws(BluetoothError) {
        try self.init(structures: try Self.record(in: bytes) ?? bytes)
    }

    /// The data in a text as ``text``, also without the prefix.
    /// - Throws: `.invalidArgument` with what is wrong with it.
    public init(text: some StringProtocol) throws(BluetoothError) {
        var digits = Substring(text)
        while digits.last?.isWhitespace == true { digits.removeLast() }
        while digits.first?.isWhitespace == true { digits.removeFirst() }
        if digits.uppercased().hasPrefix(Self.textPrefix) { digits.removeFirst(Self.textPrefix.count) }
        guard let bytes = [UInt8](hexadecimal: digits), !bytes.isEmpty else {
            throw Self.malformed("are no text that begins with \(Self.textPrefix), nor hexadecimal digits")
        }
        try self.init(bytes)
    }

    private init(structures bytes: [UInt8]) throws(BluetoothError) {
        var values: [UInt8: SecurityKey] = [:]
        var (address, hasTemporaryKey) = (BluetoothAddress?.none, false)
        var rest = bytes[...]
        // A length of zero ends the significant part.
        while let length = rest.first.map({ Int($0) }), length > 0 {
            rest = rest.dropFirst()
            guard rest.count >= length, let type = rest.first else {
                throw Self.malformed("end in the middle of a structure")
            }
            let content = Array(rest.dropFirst().prefix(length - 1))
            rest = rest.dropFirst(length)
            switch type {
            case FieldType.confirmation, FieldType.random:
                guard let value = SecurityKey(content) else {
                    throw Self.malformed("have a value of \(content.count) bytes instead of 16")
                }
                guard values.updateValue(value, forKey: type) == nil else {
                    throw Self.malformed("have the same value twice")
                }
            case FieldType.address:
                guard content.count == 7, content[6] <= 1, content.prefix(6).contains(where: { $0 != 0 }) else {
                    throw Self.malformed("have a malformed address")
                }
                guard address == nil else { throw Self.malformed("have two addresses") }
                address = BluetoothAddress(
                    content.prefix(6).reversed().reduce(0) { $0 << 8 | UInt64($1) },
                    kind: content[6] == 1 ? .random : .public)
            case FieldType.temporaryKey: hasTemporaryKey = true
            default: break
            }
        }
        guard let confirmation = values[FieldType.confirmation], let random = values[FieldType.random] else {
            throw Self.malformed(
                hasTemporaryKey && values.isEmpty
                    ? "are for legacy pairing only" : "lack the confirmation or the random value of Secure Connections")
        }
        guard confirmation != .zero, random != .zero else { throw Self.malformed("have a value of zero") }
        self.init(confirmation: confirmation, random: random, address: address)
    }

    /// The content of the first record of ``mediaType`` in an NFC message; nil if the bytes are no such message.
    private static func record(in bytes: [UInt8]) throws(BluetoothError) -> [UInt8]? {
        // A message begins with a record that has the flag for that, and here with a media type; in AD structures this
        // would be a length of over 200.
        guard let first = bytes.first, first & 0x80 != 0 else { return nil }
        var rest = bytes[...]
        while let header = rest.popFirst() {
            guard let typeLength = rest.popFirst().map({ Int($0) }) else { break }
            let sizeOfLength = header & 0x10 != 0 ? 1 : 4
            guard rest.count >= sizeOfLength else { break }
            let length = rest.prefix(sizeOfLength).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(sizeOfLength)
            var identifierLength = 0
            if header & 0x08 != 0 {
                guard let value = rest.popFirst() else { break }
                identifierLength = Int(value)
            }
            guard rest.count >= typeLength + identifierLength + length else { break }
            let type = rest.prefix(typeLength)
            let content = rest.dropFirst(typeLength + identifierLength).prefix(length)
            if header & 0x07 == 2, type.elementsEqual(mediaType.utf8) { return Array(content) }
            rest = rest.dropFirst(typeLength + identifierLength + length)
            // The last record.
            if header & 0x40 != 0 { break }
        }
        throw malformed("are an NFC message without a whole record of \(mediaType)")
    }

    private static func malformed(_ problem: String) -> BluetoothError {
        .invalidArgument(.init("read out-of-band data"), "The data \(problem).")
    }
}
