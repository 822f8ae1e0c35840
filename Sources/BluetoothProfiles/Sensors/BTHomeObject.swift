/// The first object of BTHome data: an identifier, then bytes in its format (bthome.io/format).
struct BTHomeObject {
    /// The number of bytes, with the identifier.
    let byteCount: Int
    /// The value; nil for a text or bytes of no length.
    let value: SensorValue?

    /// Nil if the object is unknown or incomplete.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let identifier = bytes.first else { return nil }
        var start = 1
        let count: Int
        let format = Self.format(identifier)
        switch identifier {
        case 0x3B, 0x53, 0x54:
            guard let length = bytes.dropFirst().first else { return nil }
            start = 2
            // That of a command counts its arguments alone.
            count = identifier == 0x3B ? 1 + Int(length & 0x1F) : Int(length)
        case 0x3A: count = 1
        case 0x3C: count = 2
        case 0xF1: count = 4
        case 0xF2: count = 3
        default:
            guard let format else { return nil }
            count = format.byteCount
        }
        guard bytes.count >= start + count else { return nil }
        byteCount = start + count
        let content = bytes.dropFirst(start).prefix(count)
        value = count == 0 ? nil : format?.value(content) ?? Self.value(identifier, Array(content))
    }

    /// The value of an object that is no number, with at least one byte.
    private static func value(_ identifier: UInt8, _ bytes: [UInt8]) -> SensorValue {
        switch identifier {
        case 0x3A: SensorValue(.button, event: event(bytes, buttonEvents))
        case 0x3B: SensorValue(.command, event: event(bytes, commandEvents))
        case 0x3C: SensorValue(.dimmer, event: event(bytes, dimmerEvents))
        case 0x53: SensorValue(.text, text: String(decoding: bytes, as: UTF8.self))
        case 0x54: SensorValue(.raw, bytes: bytes)
        // The most significant part comes last.
        default: SensorValue(.firmwareVersion, text: bytes.reversed().map { "\($0)" }.joined(separator: "."))
        }
    }

    private static func event(_ bytes: [UInt8], _ kinds: [UInt8: SensorEvent.Kind]) -> SensorEvent {
        SensorEvent(kinds[bytes[0]] ?? SensorEvent.Kind(rawValue: "\(bytes[0])"), Array(bytes.dropFirst()))
    }

    private static let buttonEvents: [UInt8: SensorEvent.Kind] = [
        0x00: .idle, 0x01: .press, 0x02: .doublePress, 0x03: .triplePress, 0x04: .longPress, 0x05: .longDoublePress,
        0x06: .longTriplePress, 0x80: .holdPress, 0x81: .holdRelease,
    ]
    private static let commandEvents: [UInt8: SensorEvent.Kind] = [
        0x00: .off, 0x01: .on, 0x02: .toggle, 0x03: .stepUp, 0x04: .stepDown,
    ]
    private static let dimmerEvents: [UInt8: SensorEvent.Kind] = [0x00: .idle, 0x01: .rotateLeft, 0x02: .rotateRight]

    /// The states from 0x15 on.
    private static let states: [SensorQuantity] = [
        .lowBattery, .batteryCharging, .carbonMonoxide, .cold, .connectivity, .door, .garageDoor, .gasDetected, .heat,
        .light, .unlocked, .wet, .motion, .moving, .occupancy, .plug, .presence, .problem, .running, .safety, .smoke,
        .sound, .tamper, .vibration, .window,
    ]

    /// The format of a number or a state; nil for another object.
    private static func format(_ identifier: UInt8) -> SensorFormat? {
        switch identifier {
        case 0x0F: .state(.generic)
        case 0x10: .state(.powerOn)
        case 0x11: .state(.opening)
        case 0x15...0x2D: .state(states[Int(identifier) - 0x15])
        case 0x00: .number(.packetID, 1)
        case 0x01: .number(.battery, 1, "%")
        case 0x02: .number(.temperature, 2, "°C", as: .signed, over: 100)
        case 0x03: .number(.humidity, 2, "%", over: 100)
        case 0x04: .number(.pressure, 3, "hPa", over: 100)
        case 0x05: .number(.illuminance, 3, "lx", over: 100)
        case 0x06: .number(.mass, 2, "kg", over: 100)
        case 0x07: .number(.mass, 2, "lb", over: 100)
        case 0x08: .number(.dewPoint, 2, "°C", as: .signed, over: 100)
        case 0x09: .number(.count, 1)
        case 0x0A: .number(.energy, 3, "kWh", over: 1000)
        case 0x0B: .number(.power, 3, "W", over: 100)
        case 0x0C: .number(.voltage, 2, "V", over: 1000)
        case 0x0D: .number(.pm25, 2, "µg/m³")
        case 0x0E: .number(.pm10, 2, "µg/m³")
        case 0x12: .number(.carbonDioxide, 2, "ppm")
        case 0x13: .number(.volatileOrganicCompounds, 2, "µg/m³")
        case 0x14: .number(.moisture, 2, "%", over: 100)
        case 0x2E: .number(.humidity, 1, "%")
        case 0x2F: .number(.moisture, 1, "%")
        case 0x3D: .number(.count, 2)
        case 0x3E: .number(.count, 4)
        case 0x3F: .number(.rotation, 2, "°", as: .signed, over: 10)
        case 0x40: .number(.distance, 2, "mm")
        case 0x41: .number(.distance, 2, "m", over: 10)
        case 0x42: .number(.duration, 3, "s", over: 1000)
        case 0x43: .number(.current, 2, "A", over: 1000)
        case 0x44: .number(.speed, 2, "m/s", over: 100)
        case 0x45: .number(.temperature, 2, "°C", as: .signed, over: 10)
        case 0x46: .number(.uvIndex, 1, over: 10)
        case 0x47: .number(.volume, 2, "L", over: 10)
        case 0x48: .number(.volume, 2, "mL")
        case 0x49: .number(.volumeFlowRate, 2, "m³/h", over: 1000)
        case 0x4A: .number(.voltage, 2, "V", over: 10)
        case 0x4B: .number(.gas, 3, "m³", over: 1000)
        case 0x4C: .number(.gas, 4, "m³", over: 1000)
        case 0x4D: .number(.energy, 4, "kWh", over: 1000)
        case 0x4E: .number(.volume, 4, "L", over: 1000)
        case 0x4F: .number(.water, 4, "L", over: 1000)
        case 0x50: .number(.timestamp, 4, "s")
        case 0x51: .number(.acceleration, 2, "m/s²", over: 1000)
        case 0x52: .number(.angularVelocity, 2, "°/s", over: 1000)
        case 0x55: .number(.volumeStorage, 4, "L", over: 1000)
        case 0x56: .number(.conductivity, 2, "µS/cm")
        case 0x57: .number(.temperature, 1, "°C", as: .signed)
        case 0x58: .number(.temperature, 1, "°C", as: .signed, times: 35, over: 100)
        case 0x59: .number(.count, 1, as: .signed)
        case 0x5A: .number(.count, 2, as: .signed)
        case 0x5B: .number(.count, 4, as: .signed)
        case 0x5C: .number(.power, 4, "W", as: .signed, over: 100)
        case 0x5D: .number(.current, 2, "A", as: .signed, over: 1000)
        case 0x5E: .number(.direction, 2, "°", over: 100)
        case 0x5F: .number(.precipitation, 2, "mm", over: 10)
        case 0x60: .number(.channel, 1)
        case 0x61: .number(.rotationalSpeed, 2, "rpm")
        case 0x62: .number(.speed, 4, "m/s", as: .signed, over: 1_000_000)
        case 0x63: .number(.acceleration, 4, "m/s²", as: .signed, over: 1_000_000)
        case 0x64: .number(.lightLevel, 1)
        case 0x65: .number(.settingsRevision, 1)
        case 0xF0: .number(.deviceType, 2)
        default: nil
        }
    }
}
