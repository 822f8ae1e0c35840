/// The format of one value in the bytes of a sensor: an integer or a float, least significant byte first, times a factor.
struct SensorFormat: Sendable {
    enum Form: Sendable {
        case unsigned
        case signed
        case float
        case state
    }

    let quantity: SensorQuantity
    let unit: String
    let byteCount: Int
    let form: Form
    /// The factor is a quotient, whose result is the closest number to the decimal one.
    let factor: Double
    let divisor: Double

    /// A number of `byteCount` bytes.
    static func number(
        _ quantity: SensorQuantity, _ byteCount: Int, _ unit: String = "", as form: Form = .unsigned,
        times factor: Double = 1, over divisor: Double = 1
    ) -> SensorFormat {
        SensorFormat(
            quantity: quantity, unit: unit, byteCount: byteCount, form: form, factor: factor, divisor: divisor)
    }

    /// A byte that is zero for false.
    static func state(_ quantity: SensorQuantity) -> SensorFormat {
        SensorFormat(quantity: quantity, unit: "", byteCount: 1, form: .state, factor: 1, divisor: 1)
    }

    /// The value of `byteCount` bytes.
    func value(_ bytes: some Collection<UInt8>) -> SensorValue {
        let bits = bytes.reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let number: Double
        switch form {
        case .unsigned: number = Double(bits)
        case .signed:
            let empty = UInt32(32 - 8 * byteCount)
            number = Double(Int32(bitPattern: bits << empty) >> Int32(empty))
        case .float:
            // The shortest decimal number, as the sensor means it: 26.1, not 26.100000381.
            let float = Float(bitPattern: bits)
            number = Double("\(float)") ?? Double(float)
        case .state: return SensorValue(quantity, state: bits != 0)
        }
        return SensorValue(quantity, number: number * factor / divisor, unit: unit)
    }
}
