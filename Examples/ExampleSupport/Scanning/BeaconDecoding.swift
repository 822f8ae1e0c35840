import BluetoothAdvertising
import BluetoothJSON
import BluetoothPrimitives

// The formats of beacons as text and JSON.

extension AdvertisementDecoder {
    static func describe(_ beacon: IBeacon) -> DecodedField {
        DecodedField(
            "iBeacon",
            text: [
                "iBeacon \(beacon.major)/\(beacon.minor)", beacon.proximityUUID.fullDescription,
                "\(beacon.measuredPower) dBm at 1 m",
            ],
            fields: [
                ("uuid", .string(beacon.proximityUUID.fullDescription)), ("major", .integer(Int(beacon.major))),
                ("minor", .integer(Int(beacon.minor))), ("measuredPower", .integer(Int(beacon.measuredPower))),
            ])
    }

    static func describe(_ beacon: AltBeacon) -> DecodedField {
        DecodedField(
            "AltBeacon",
            text: ["AltBeacon \(beacon.company)", beacon.identifier.hexadecimal, "\(beacon.referenceRSSI) dBm at 1 m"],
            fields: [
                ("company", .string("0x" + hexadecimal(beacon.company.rawValue, digits: 4))),
                ("identifier", .string(beacon.identifier.hexadecimal)),
                ("referenceRSSI", .integer(Int(beacon.referenceRSSI))), ("reserved", .integer(Int(beacon.reserved))),
            ])
    }

    static func describe(_ frame: Eddystone) -> DecodedField {
        switch frame {
        case .uid(let namespace, let instance, let power):
            return DecodedField(
                "Eddystone-UID",
                text: ["Eddystone-UID \(namespace.hexadecimal) \(instance.hexadecimal)", "\(power) dBm at 0 m"],
                fields: [
                    ("namespace", .string(namespace.hexadecimal)), ("instance", .string(instance.hexadecimal)),
                    ("txPower", .integer(Int(power))),
                ])
        case .url(let address, let power):
            return DecodedField(
                "Eddystone-URL", text: ["Eddystone-URL \(address)", "\(power) dBm at 0 m"],
                fields: [("url", .string(address)), ("txPower", .integer(Int(power)))])
        case .telemetry(let voltage, let temperature, let packets, let uptime):
            return telemetry(voltage, temperature.map { Double($0) / 256 }, packets, Double(uptime) / 10)
        case .ephemeralIdentifier(let identifier, let power):
            return DecodedField(
                "Eddystone-EID", text: ["Eddystone-EID \(identifier.hexadecimal)", "\(power) dBm at 0 m"],
                fields: [("identifier", .string(identifier.hexadecimal)), ("txPower", .integer(Int(power)))])
        case .other(let type, let bytes):
            return DecodedField(
                "Eddystone", text: ["Eddystone frame 0x\(hexadecimal(type, digits: 2))", bytes.hexadecimal],
                fields: [("frameType", .integer(Int(type))), ("data", .string(bytes.hexadecimal))])
        }
    }

    /// - Parameters:
    ///   - voltage: in mV; 0 if it is unknown.
    ///   - temperature: in °C.
    ///   - uptime: in seconds.
    private static func telemetry(
        _ voltage: UInt16, _ temperature: Double?, _ packets: UInt32, _ uptime: Double
    ) -> DecodedField {
        var text: [String] = []
        if voltage > 0 { text.append("\(voltage) mV") }
        if let temperature { text.append("\(formatDecimal(temperature, digits: 1)) °C") }
        text += [quantity(packets, "packet"), "up \(formatDecimal(uptime, digits: 1)) s"]
        text[0] = "Eddystone-TLM " + text[0]
        return DecodedField(
            "Eddystone-TLM", text: text,
            fields: [
                ("batteryVoltage", voltage > 0 ? .integer(Int(voltage)) : .null),
                ("temperature", temperature.map { .number($0) } ?? .null), ("packetCount", .integer(Int(packets))),
                ("uptime", .number(uptime)),
            ])
    }
}
