import BluetoothPrimitives
import BluetoothProfiles

// The formats of characteristics without a type in BluetoothProfiles.

extension CharacteristicFormat {
    /// Fields, which `read` reads in their order.
    static func fields(
        _ read: @escaping @Sendable (inout FieldCoder) throws(MalformedValue) -> Void
    ) -> CharacteristicFormat {
        let codec = FieldCodec(0) { (_, fields) throws(MalformedValue) in try read(&fields) }
        return .custom { codec.describe($0).map(DecodedValue.init(fields:)) }
    }

    /// One number.
    static func number(
        _ format: NumberFormat, _ scale: NumberScale = .one, _ unit: String? = nil, unknown: UInt64? = nil
    ) -> CharacteristicFormat {
        .fields { (fields) throws(MalformedValue) in
            try fields.number(nil, format, scale, unit, unknown: unknown)
        }
    }

    /// One byte that selects a name.
    static func names(_ names: [UInt8: String]) -> CharacteristicFormat {
        .custom { value in
            guard let code = value.first, value.count == 1 else { return nil }
            return DecodedValue([.init(nil, names[code] ?? "0x" + hexadecimal(code, digits: 2), .integer(Int(code)))])
        }
    }

    /// One byte whose bits have names.
    static func bits(_ names: [Int: String]) -> CharacteristicFormat {
        .custom { value in
            guard let bits = value.first, value.count == 1 else { return nil }
            return DecodedValue([.init(nil, listed(bits, names: names), .integer(Int(bits)))])
        }
    }
}

extension FieldCoder {
    /// A number that is only shown: without its flag there is none.
    mutating func number(
        _ name: String?, _ format: NumberFormat, _ scale: NumberScale = .one, _ unit: String? = nil, flag: Int? = nil,
        unknown: UInt64? = nil
    ) throws(MalformedValue) {
        var number: Double?
        try self.number(name, &number, format, scale, unit: unit, flag: flag, unknown: unknown)
    }

    /// A mass that is only shown, in one of the two units of a scale.
    mutating func mass(_ name: String, isImperial: Bool, flag: Int) throws(MalformedValue) {
        if isImperial {
            try number(name, .u16, .ten(-2), "lb", flag: flag)
        } else {
            try number(name, .u16, .times(5, ten: -3), "kg", flag: flag)
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
