import BluetoothAdvertising
import BluetoothJSON
import BluetoothPrimitives
import BluetoothProfiles

// The values of sensors as text and JSON.

extension AdvertisementDecoder {
    /// What a sensor advertises. If it has a key, values count only if they are encrypted with it.
    static func describe(
        _ sensor: some SensorAdvertisement, key: BindKey?, from address: BluetoothAddress?
    ) -> DecodedField {
        let name = "\(type(of: sensor))"
        let isEncrypted = sensor.isEncrypted
        var values = sensor.values
        var problem: SensorDecryptionError?
        if let key {
            do throws(SensorDecryptionError) {
                values = try sensor.decrypted(with: key, from: address).values
            } catch {
                (values, problem) = ([], error)
            }
        }
        var text = values.map(\.description)
        if let problem { text = [problem.description] } else if isEncrypted, key == nil { text = ["encrypted"] }
        var fields: [(String, JSONValue)] = [("encrypted", .bool(isEncrypted))]
        if let counter = sensor.counter { fields.append(("counter", .integer(Int(counter)))) }
        if let problem { fields.append(("problem", .string(problem.description))) }
        fields.append(("values", .array(values.map(\.json))))
        return DecodedField(name, text: ["\(name) \(text.first ?? "")"] + text.dropFirst(), fields: fields)
    }
}

extension SensorValue {
    /// The quantity, the value, and the unit or the arguments of an event.
    fileprivate var json: JSONValue {
        var fields: [(String, JSONValue)] = [("quantity", .string(quantity.rawValue))]
        if let number {
            fields.append(("value", Int(exactly: number).map { .integer($0) } ?? .number(number)))
            if !unit.isEmpty { fields.append(("unit", .string(unit))) }
        } else if let event {
            fields.append(("value", .string(event.kind.rawValue)))
            if !event.arguments.isEmpty { fields.append(("arguments", .string(event.arguments.hexadecimal))) }
        } else {
            fields.append(("value", state.map { .bool($0) } ?? .string(text ?? bytes?.hexadecimal ?? "")))
        }
        return .object(fields)
    }
}
