import BluetoothProfiles

/// The layout of a characteristic's value: items in their order, some of them only with certain flags.
struct ValueLayout: Sendable {
    /// The size of the flags, which come first; 0 without flags.
    var flagByteCount = 0
    /// The items after the flags.
    var items: [Item]

    /// A layout with flags.
    init(flags byteCount: Int, _ items: [Item]) {
        flagByteCount = byteCount
        self.items = items
    }

    /// A layout without flags.
    init(_ items: Item...) {
        self.items = items
    }

    /// The presence of an item.
    enum Condition: Sendable {
        case always
        /// The flag with this number is set.
        case set(Int)
        /// The flag with this number is clear.
        case clear(Int)
        /// The first flag is set, and the second one has the value.
        case pair(Int, Int, isSet: Bool)

        /// Both flags are set.
        static func both(_ first: Int, set second: Int) -> Condition { .pair(first, second, isSet: true) }
        /// The first flag is set and the second one is clear.
        static func both(_ first: Int, clear second: Int) -> Condition { .pair(first, second, isSet: false) }
    }

    /// An item of a layout.
    struct Item: Sendable {
        /// The form of an item.
        enum Content: Sendable {
            /// A number; the raw value `unknown` means that it is not known.
            case number(NumberFormat, NumberScale, unit: String?, unknown: UInt64?)
            /// One byte that selects a name.
            case names([UInt8: String])
            /// Bits with names, the least significant first.
            case bits(byteCount: Int, [Int: String])
            /// Seven bytes: year, month, day, hours, minutes, seconds.
            case dateTime
            /// Four bytes: year, month, day.
            case date
            /// Bytes shown in hexadecimal, the most significant first.
            case identifier(byteCount: Int)
            /// No bytes: the condition itself.
            case mark
            /// Bytes that are reserved.
            case skipped(byteCount: Int)
        }

        var name: String?
        var content: Content
        var condition = Condition.always

        static func number(
            _ name: String? = nil, _ format: NumberFormat, _ scale: NumberScale = .one, _ unit: String? = nil,
            unknown: UInt64? = nil, when condition: Condition = .always
        ) -> Item {
            Item(name: name, content: .number(format, scale, unit: unit, unknown: unknown), condition: condition)
        }

        static func names(_ name: String? = nil, _ names: [UInt8: String], when condition: Condition = .always) -> Item
        {
            Item(name: name, content: .names(names), condition: condition)
        }

        static func bits(
            _ name: String? = nil, _ byteCount: Int, _ names: [Int: String], when condition: Condition = .always
        ) -> Item {
            Item(name: name, content: .bits(byteCount: byteCount, names), condition: condition)
        }

        static func mark(_ name: String, when condition: Condition) -> Item {
            Item(name: name, content: .mark, condition: condition)
        }

        static func dateTime(_ name: String? = nil, when condition: Condition = .always) -> Item {
            Item(name: name, content: .dateTime, condition: condition)
        }

        static func date() -> Item { Item(content: .date) }

        static func identifier(
            _ name: String? = nil, _ byteCount: Int, when condition: Condition = .always
        ) -> Item {
            Item(name: name, content: .identifier(byteCount: byteCount), condition: condition)
        }

        static func skipped(_ byteCount: Int, when condition: Condition = .always) -> Item {
            Item(content: .skipped(byteCount: byteCount), condition: condition)
        }
    }
}

extension NumberScale {
    /// The value of a number, with a text of its resolution.
    func apply(_ number: ScalarNumber) -> ScalarNumber {
        let value = value(number)
        switch number {
        case .special: return number
        case .binary(let same, _) where same == value || same.isNaN: return number
        case .decimal(let decimal): if let exact = exact(decimal) { return .decimal(exact) }
        case .binary: break
        }
        let text = fraction.map { formatDecimal(value, digits: $0.digits) } ?? "\(value)"
        return .binary(Double(text) ?? value, text: text)
    }
}
