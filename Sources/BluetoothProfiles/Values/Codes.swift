import BluetoothGATT
import BluetoothLE
import BluetoothPrimitives

extension Characteristic
where Value: RawRepresentable, Value.RawValue: FixedWidthInteger & UnsignedInteger & Sendable {
    /// A characteristic whose value is a code or a set of bits.
    static func code(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, properties: CharacteristicProperties = .read, initial: Value
    ) -> Self {
        Characteristic(uuid, in: service, properties: properties, initial: initial) {
            (value, fields) throws(MalformedValue) in try fields.code(nil, &value)
        }
    }
}

/// The names of the bits that are set, or `none`.
func bitNames<Bits: FixedWidthInteger & UnsignedInteger>(_ bits: Bits, _ names: [String]) -> String {
    let set = (0..<Bits.bitWidth).filter { bits >> $0 & 1 == 1 }
    return set.isEmpty ? "none" : set.map { codeName($0, names) ?? "bit \($0)" }.joined(separator: ", ")
}

/// The name of a code, or its digits.
func codeText(_ code: UInt8, _ names: [String]) -> String {
    codeName(code, names) ?? "0x" + hexadecimal(code, digits: 2)
}
