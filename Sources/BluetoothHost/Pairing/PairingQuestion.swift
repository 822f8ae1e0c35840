import BluetoothPrimitives

/// A question of pairing to this side.
package enum PairingQuestion: Hashable, Sendable {
    case confirm
    case compare(Passkey)
    case enter
    case show(Passkey, enteredCount: Int)

    /// Whether the question involves a number, which may be wrong.
    package var isAboutNumber: Bool { if case .confirm = self { false } else { true } }
    /// Whether the host waits for an answer.
    package var wantsAnswer: Bool { if case .show = self { false } else { true } }
}

/// This side's answer to a pairing question.
package enum PairingAnswer: Hashable, Sendable {
    case yes
    case no
    case passkey(Passkey)
}

/// A passkey: a number of six digits that one device shows and the user enters or compares at the other (Core Vol 3
/// Part H §2.3.5.3, §2.3.5.6).
///
/// It is secret during the pairing, so its description does not show it; ``digits`` does.
public struct Passkey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number, 0 to 999999.
    public let value: UInt32

    /// Creates a passkey; nil when `value` is above 999999.
    public init?(_ value: UInt32) {
        guard value <= 999_999 else { return nil }
        self.value = value
    }

    /// Parses one to six digits, ignoring spaces; nil for anything else.
    public init?(digits: some StringProtocol) {
        let digits = digits.utf8.filter { $0 != UInt8(ascii: " ") }
        guard (1...6).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        value = digits.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
    }

    /// Parses exactly six digits, ignoring spaces; nil for anything else, such as a number whose zeros are missing.
    package init?(sixDigits text: String) {
        guard text.utf8.count(where: { $0 != UInt8(ascii: " ") }) == 6 else { return nil }
        self.init(digits: text)
    }

    /// All six digits, for display to the user.
    public var digits: String {
        let text = String(value)
        return String(repeating: "0", count: 6 - text.count) + text
    }

    /// A text without the number.
    public var description: String { "Passkey(not shown)" }
    /// A text without the number.
    public var debugDescription: String { description }
    /// An empty mirror, which hides the number.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
