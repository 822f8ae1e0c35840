import BluetoothPrimitives

/// A device known by its identity resolving key (IRK), which need not have paired with this machine.
///
/// A phone changes its address every 15 minutes or so; with its key, each of these addresses resolves to it (Core Vol 3
/// Part C §10.8.2.3). Whoever has the key can follow the device, so it is a secret: no description shows it.
public struct DeviceIdentity: Hashable, Sendable {
    /// The name that this program gives the device.
    public var name: String
    /// The identity resolving key.
    public var key: SecurityKey
    /// Whether the bytes of ``key`` may be in the opposite order, since programs that export keys disagree about it.
    /// Resolving then compares both orders.
    public var mayBeReversed: Bool
    /// The identity address, public or static random; nil if it is unknown. Resolving does not need it.
    public var address: BluetoothAddress?

    /// A device with a key whose byte order is known, such as that of a bond.
    public init(name: String, key: SecurityKey, address: BluetoothAddress? = nil) {
        (self.name, self.key, self.address) = (name, key, address)
        mayBeReversed = false
    }

    /// A device with a key as other programs export it, in either byte order.
    ///
    /// The text is one of
    /// - 32 hexadecimal digits, also with `0x` before them, or with colons, hyphens or spaces between the bytes;
    /// - 16 bytes as `0x1A,0x1B,…`;
    /// - 24 characters of Base64, or 22 without the padding.
    ///
    /// Each may begin with `irk:`.
    /// - Throws: `.invalidArgument`, with what is wrong with the text, but without the text.
    public init(
        name: String, exportedKey text: some StringProtocol, address: BluetoothAddress? = nil
    ) throws(BluetoothError) {
        do throws(ExportedKey.Problem) {
            self.init(name: name, key: try ExportedKey.parse(text), address: address)
        } catch {
            throw .invalidArgument(.init("read an identity resolving key"), "The key \(error).")
        }
        mayBeReversed = true
    }

    /// The keys to compare with an address.
    var candidates: [SecurityKey] {
        let reversed = key.reversed
        return mayBeReversed && reversed != key ? [key, reversed] : [key]
    }
}

extension DeviceIdentity: CustomStringConvertible {
    /// The name, and the identity address if it is known.
    public var description: String { address.map { "\(name) (\($0.digits))" } ?? name }
}

extension SecurityKey {
    /// The key with its bytes in the opposite order.
    fileprivate var reversed: SecurityKey { SecurityKey(bytes.reversed()) ?? self }
}

/// The texts in which programs export identity resolving keys.
enum ExportedKey {
    /// The reason why a text is no key, or a line has none. It never contains what may be a part of a key.
    struct Problem: Error, Hashable, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Parses a key; a number is read as usual, with its most significant byte first, and Base64 the other way round.
    static func parse(_ text: some StringProtocol) throws(Problem) -> SecurityKey {
        var text = Substring(text)
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        if text.lowercased().hasPrefix("irk:") { text.removeFirst(4) }
        guard !text.isEmpty else { throw Problem("is empty") }
        let bytes: [UInt8]
        if isBase64(text) {
            bytes = try base64(text)
        } else {
            bytes = try hexadecimalBytes(text).reversed()
        }
        guard let key = SecurityKey(bytes) else { throw Problem("has \(bytes.count) bytes instead of 16") }
        guard key != .zero else { throw Problem("is zero, which means that the device has no key") }
        return key
    }

    /// Whether a text is meant as Base64: 16 bytes have 22 characters, and of hexadecimal digits alone more are needed.
    private static func isBase64(_ text: Substring) -> Bool {
        let count = text.utf8.count
        guard !text.hasPrefix("0x"), !text.hasPrefix("0X") else { return false }
        guard !text.hasSuffix("=") else { return true }
        guard (22...24).contains(count), text.utf8.allSatisfy({ value(ofBase64: $0) != nil }) else { return false }
        return count == 22 || !text.utf8.allSatisfy { hexadecimalDigit($0) != nil }
    }

    private static func base64(_ text: Substring) throws(Problem) -> [UInt8] {
        var padding = 0
        var digits: [UInt8] = []
        for character in text.utf8 {
            if character == UInt8(ascii: "=") {
                padding += 1
            } else if padding == 0, let value = value(ofBase64: character) {
                digits.append(value)
            } else {
                throw Problem("is not Base64")
            }
        }
        guard digits.count == 22, padding == 0 || padding == 2 else {
            let count = text.utf8.count
            throw Problem(
                count == 24
                    ? "has \(digits.count * 6 / 8) bytes of Base64 instead of 16"
                    : "has \(count) characters of Base64 instead of 24")
        }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            bits = bits << 6 | UInt32(digit)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        // 22 digits have four bits more than 16 bytes.
        guard bits & 0xF == 0 else { throw Problem("is not Base64 of 16 bytes") }
        return bytes
    }

    private static func value(ofBase64 character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// The bytes of hexadecimal digits, in the order written.
    private static func hexadecimalBytes(_ text: Substring) throws(Problem) -> [UInt8] {
        if text.utf8.contains(UInt8(ascii: ",")) {
            // As in a program: 0x1A,0x1B.
            var bytes: [UInt8] = []
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let digits = withoutPrefix(part.drop { $0 == " " })
                guard (1...2).contains(digits.utf8.count), digits.utf8.allSatisfy({ hexadecimalDigit($0) != nil }),
                    let byte = UInt8(digits, radix: 16)
                else {
                    throw Problem("is not a list of 16 bytes")
                }
                bytes.append(byte)
            }
            return bytes
        }
        let digits = withoutPrefix(text).filter { !":- ".contains($0) }
        guard digits.utf8.allSatisfy({ hexadecimalDigit($0) != nil }) else {
            throw Problem("needs 32 hexadecimal digits or 24 characters of Base64")
        }
        guard digits.count == 32 else { throw Problem("has \(digits.count) hexadecimal digits instead of 32") }
        return [UInt8](hexadecimal: digits) ?? []
    }

    private static func withoutPrefix(_ text: Substring) -> Substring {
        text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text
    }
}
