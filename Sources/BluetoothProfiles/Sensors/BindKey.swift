/// The key with which a sensor encrypts its advertisements: 16 bytes that its app or its maker's cloud shows, often called
/// bindkey. It does not print itself.
public struct BindKey: Sendable {
    /// The key, whose first byte is the most significant.
    let number: UInt128

    /// A key of 32 hexadecimal digits in either case; nil for another text.
    public init?(_ digits: String) {
        guard digits.utf8.count == 32, digits.utf8.allSatisfy({ UInt8(ascii: "0") <= $0 }),
            let number = UInt128(digits, radix: 16)
        else { return nil }
        self.number = number
    }

    /// A key of 16 bytes in the order of its digits; nil for another count.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        number = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }
}

extension BindKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder without the key's value.
    public var description: String { "secret key" }

    /// A placeholder without the key's value.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` does not show the key's value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
