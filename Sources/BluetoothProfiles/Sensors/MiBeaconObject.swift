extension MiBeacon.Object {
    /// What the object means for a product; empty for an unknown object, or a content of another length.
    func values(of product: UInt16) -> [SensorValue] {
        if let format {
            guard content.count == format.byteCount || format.byteCount == 1 && !content.isEmpty else { return [] }
            return [format.value(content.prefix(format.byteCount))]
        }
        switch (code, content.count) {
        // Without a content, or with one of no meaning.
        case (0x0003, 1...), (0x000F, 3): return [SensorValue(.motion, state: true)]
        case (0x101B, 1...): return [SensorValue(.motion, state: false)]
        // The seconds since the last motion, which the app shows as motion for half a minute.
        case (0x1017, 4), (0x4818, 2): return [SensorValue(.motion, state: integer(content.count) <= 30)]
        case (0x0007, 1...): return state(.door, [true, false, true, false, true, false])
        case (0x1019, 1...): return state(.opening, [true, false, true])
        case (0x480C, 1): return state(.opening, [true, false])
        case (0x4804, 1...), (0x4A12, 1...): return state(.opening, [nil, true, false])
        case (0x4A0F, 1...), (0x4A1A, 1...): return state(.opening, [nil, true])
        case (0x1005, 2...):
            return [
                SensorValue(.powerOn, state: content[0] != 0),
                SensorFormat.number(.temperature, 1, "°C").value(content[1...1]),
            ]
        case (0x1007, 3):
            // Two night lights say 100 for light.
            let isState = product == 0x07F6 || product == 0x098B
            return isState
                ? [SensorValue(.light, state: integer(3) == 100)]
                : [SensorFormat.number(.illuminance, 3, "lx").value(content)]
        case (0x100D, 4):
            return [
                SensorFormat.number(.temperature, 2, "°C", as: .signed, over: 10).value(content[..<2]),
                SensorFormat.number(.humidity, 2, "%", over: 10).value(content[2...]),
            ]
        case (0x4A08, 4):
            return [
                SensorValue(.motion, state: true),
                SensorFormat.number(.illuminance, 4, "lx", as: .float).value(content),
            ]
        case (0x1001, 3):
            let kinds: [SensorEvent.Kind] = [.press, .doublePress, .longPress]
            return content[2] < 3
                ? [SensorValue(.button, event: SensorEvent(kinds[Int(content[2])], [content[0]]))] : []
        case (0x4A0C, _): return [SensorValue(.button, event: SensorEvent(.press, content))]
        case (0x4A0D, _): return [SensorValue(.button, event: SensorEvent(.doublePress, content))]
        case (0x4A0E, _): return [SensorValue(.button, event: SensorEvent(.longPress, content))]
        default: return []
        }
    }

    /// The format of an object that is one number or state; nil for another object.
    private var format: SensorFormat? {
        switch code {
        case 0x000A: .number(.temperature, 2, "°C", as: .signed, over: 100)
        case 0x1004: .number(.temperature, 2, "°C", as: .signed, over: 10)
        case 0x1006: .number(.humidity, 2, "%", over: 10)
        case 0x1008: .number(.moisture, 1, "%")
        case 0x1009: .number(.conductivity, 2, "µS/cm")
        case 0x100A, 0x4803, 0x4C03, 0x5003: .number(.battery, 1, "%")
        case 0x1010: .number(.formaldehyde, 2, "mg/m³", over: 100)
        case 0x1012: .state(.powerOn)
        case 0x1013: .number(.consumable, 1, "%")
        case 0x1014, 0x4806: .state(.wet)
        case 0x1015: .state(.smoke)
        case 0x1018: .state(.light)
        case 0x4801, 0x4C01: .number(.temperature, 4, "°C", as: .float)
        case 0x4802, 0x4C02: .number(.humidity, 1, "%")
        case 0x4805: .number(.illuminance, 4, "lx", as: .float)
        case 0x4808, 0x4C08: .number(.humidity, 4, "%", as: .float)
        case 0x483C, 0x484E: .state(.occupancy)
        case 0x4A01, 0x4E01: .state(.lowBattery)
        default: nil
        }
    }

    /// The integer of `count` bytes, the least significant one first.
    private func integer(_ count: Int) -> UInt32 {
        content.prefix(count).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The state that the first byte chooses; nothing for a byte without a state.
    private func state(_ quantity: SensorQuantity, _ states: [Bool?]) -> [SensorValue] {
        guard Int(content[0]) < states.count, let state = states[Int(content[0])] else { return [] }
        return [SensorValue(quantity, state: state)]
    }
}
