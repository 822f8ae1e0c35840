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
