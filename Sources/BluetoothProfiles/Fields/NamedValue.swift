import BluetoothPrimitives

/// A type whose codes or bits have names, which are its description.
protocol NamedValue: RawRepresentable where RawValue: FixedWidthInteger & UnsignedInteger {
    /// The names, one for each code or bit from ``firstName`` on.
    static var names: [String] { get }
    /// The code or the bit of the first name.
    static var firstName: Int { get }
}

extension NamedValue {
    static var firstName: Int { 0 }

    /// The name of the code; its digits if it has none.
    public var description: String {
        codeName(rawValue, Self.names, from: Self.firstName) ?? "0x" + hexadecimal(rawValue, digits: 2)
    }
}

/// A set whose bits have names.
protocol NamedBits: NamedValue {}

extension NamedBits {
    /// The names of the set bits, the lowest first.
    public var description: String {
        let names = Self.names.enumerated().map { ($0.offset + Self.firstName, $0.element) }
        return listed(rawValue, names: Dictionary(uniqueKeysWithValues: names))
    }
}
