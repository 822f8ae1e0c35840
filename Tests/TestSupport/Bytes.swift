import BluetoothPrimitives

/// The bytes of a test table's hexadecimal text; a typing error in the table fails the test with the text.
package func hex(_ text: String) -> [UInt8] {
    guard let bytes = [UInt8](hexadecimal: text) else { preconditionFailure("not hexadecimal: \(text)") }
    return bytes
}

/// Every truncation and every single-byte change of `vector`, the malformed forms each decoder must survive.
package func mutations(of vector: [UInt8]) -> [[UInt8]] {
    var all = (0..<vector.count).map { Array(vector.prefix($0)) }
    for index in vector.indices {
        for value in UInt8.min...UInt8.max where value != vector[index] {
            var changed = vector
            changed[index] = value
            all.append(changed)
        }
    }
    return all
}
