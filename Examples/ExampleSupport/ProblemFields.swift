import BluetoothLE

extension DatabaseProblem {
    /// The fields of its JSON object.
    public var jsonFields: [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = [
            ("reason", .string("\(reason)")), ("type", .string("\(attributeType)")),
            ("handle", .integer(Int(handle.rawValue))),
        ]
        if let uuid { fields.append(("uuid", .string("\(uuid)"))) }
        if let declared {
            fields.append(("start", .integer(Int(declared.start.rawValue))))
            fields.append(("end", .integer(Int(declared.end.rawValue))))
        }
        return fields + [("text", .string("\(self)"))]
    }
}
