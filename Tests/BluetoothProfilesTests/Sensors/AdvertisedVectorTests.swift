import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothProfiles
import TestSupport
import Testing

/// The sensors' formats against other decoders, with the payloads of their tests and random ones (`Tests/Vectors/sensors`).
@Suite struct AdvertisedVectorTests {
    /// A row of a table.
    private struct Vector {
        let data: [UInt8]
        let key: BindKey?
        let address: BluetoothAddress?
        /// The names and values; nil for data that the key does not decrypt.
        let values: [(name: String, text: String)]?

        init(_ row: [String]) {
            data = hex(row[0])
            key = BindKey(row[1])
            address =
                row[2].isEmpty
                ? nil : BluetoothAddress(hex(row[2]).reduce(0) { $0 << 8 | UInt64($1) }, kind: .public)
            let values = row.dropFirst(3).map { word in
                let parts = word.split(separator: "=", maxSplits: 1)
                return (name: String(parts[0]), text: parts.count > 1 ? String(parts[1]) : "")
            }
            self.values = values.first?.name == "!" ? nil : Self.sorted(values)
        }

        /// The values by name; those of one name stay in their order.
        static func sorted(_ values: [(name: String, text: String)]) -> [(name: String, text: String)] {
            let names = Set(values.map(\.name)).sorted()
            return names.flatMap { name in values.filter { $0.name == name } }
        }
    }

    private static func text(of value: SensorValue) -> String {
        if let number = value.number { return "\(number)" }
        if let event = value.event {
            // No decoder says which button it is.
            guard value.quantity != .button else { return event.kind.rawValue }
            return event.kind.rawValue + (event.arguments.isEmpty ? "" : "," + event.arguments.hexadecimal.lowercased())
        }
        if let text = value.text {
            return value.quantity == .text ? Array(text.utf8).hexadecimal.lowercased() : text
        }
        return value.bytes?.hexadecimal.lowercased() ?? "\(value.state ?? false)"
    }

    /// Whether a text means the same: numbers may differ by what a rounded decimal loses.
    private static func agree(_ ours: String, _ theirs: String, within tolerance: Double) -> Bool {
        guard let one = Double(ours), let other = Double(theirs) else { return ours == theirs }
        return abs(one - other) <= max(tolerance, 1e-12 * abs(other))
    }

    private func check<Value: SensorAdvertisement>(
        _ table: String, tolerance: (Vector, String) -> Double = { _, _ in 1e-9 }, decode: ([UInt8]) -> Value?
    ) {
        let rows = vectorTable(table).map { Vector($0) }
        #expect(rows.count > 240)
        for row in rows {
            var found = decode(row.data)
            let text = row.data.hexadecimal
            if let key = row.key {
                #expect(found?.isEncrypted == true && found?.values.isEmpty == true, "\(text)")
                found = try? found?.decrypted(with: key, from: row.address)
                #expect((found == nil) == (row.values == nil), "\(text)")
            }
            #expect(found?.isEncrypted != true, "\(text)")
            let values = (found?.values ?? []).filter { $0.event?.kind != .idle }
            let ours = Vector.sorted(values.map { (name: $0.quantity.rawValue, text: Self.text(of: $0)) })
            let theirs = row.values ?? []
            let areEqual =
                ours.count == theirs.count
                && zip(ours, theirs).allSatisfy { one, other in
                    one.name == other.name && Self.agree(one.text, other.text, within: tolerance(row, one.name))
                }
            #expect(areEqual, "\(text): \(ours) instead of \(theirs)")
        }
    }

    @Test func bthomeIsDecodedAsByAnotherDecoder() {
        check("bthome.txt") { BTHome(ServiceData(service: BTHome.service, data: $0)) }
    }

    @Test func mibeaconIsDecodedAsByAnotherDecoder() {
        check("mibeacon.txt") { MiBeacon(ServiceData(service: MiBeacon.service, data: $0)) }
    }

    @Test func ruuviIsDecodedAsByAnotherDecoder() {
        // The decoder rounds the logarithmic illuminance, and in format 5 the temperature and the humidity.
        let rounded: [UInt8: Set<String>] = [5: ["temperature", "humidity"], 6: ["illuminance"]]
        check("ruuvi.txt", tolerance: { rounded[$0.data[0]]?.contains($1) == true ? 0.0051 : 1e-9 }) {
            RuuviTag(ManufacturerData(company: 0x0499, data: $0))
        }
    }
}
