import BluetoothPrimitives

/// What is known of a key that pairing made.
package struct MadeKey: Sendable {
    package var kind: LongTermKey.Kind
    /// Whether it is to be kept: both sides bond.
    package var isStored: Bool

    package init(kind: LongTermKey.Kind, isStored: Bool) {
        (self.kind, self.isStored) = (kind, isStored)
    }
}

/// What pairing asks of this side.
package enum PairingQuestion: Hashable, Sendable {
    case confirm
    case compare(Passkey)
    case enter
    case show(Passkey, enteredCount: Int)

    /// Whether numbers are in play, so that they may be wrong.
    package var isAboutNumber: Bool { if case .confirm = self { false } else { true } }
    /// Whether the host waits for an answer.
    package var wantsAnswer: Bool { if case .show = self { false } else { true } }
}

/// What this side answers.
package enum PairingAnswer: Hashable, Sendable {
    case yes
    case no
    case passkey(Passkey)
}

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
