/// A number of six digits that one device shows and the user enters, or compares, at the other (Core Vol 3 Part H
/// §2.3.5.3, §2.3.5.6).
///
/// It is a secret as long as the pairing lasts, so that its description does not show it; ``digits`` does.
public struct Passkey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// 0 to 999999.
    public let value: UInt32

    /// A passkey; nil when `value` is above 999999.
    public init?(_ value: UInt32) {
        guard value <= 999_999 else { return nil }
        self.value = value
    }

    /// A passkey from one to six digits, among which spaces do not count; nil when it is anything else.
    public init?(digits: some StringProtocol) {
        let digits = digits.utf8.filter { $0 != UInt8(ascii: " ") }
        guard (1...6).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        value = digits.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
    }

    /// All six digits, to be shown to the user.
    public var digits: String {
        let text = String(value)
        return String(repeating: "0", count: 6 - text.count) + text
    }

    /// Not the number.
    public var description: String { "Passkey(not shown)" }
    /// Not the number.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
