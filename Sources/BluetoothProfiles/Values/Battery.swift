// Battery Service 1.1.

extension Characteristic where Value == Int {
    /// Battery Level: the charge in percent, 0 to 100.
    public static var batteryLevel: Self {
        Self(.batteryLevel, in: .battery, properties: [.read, .notify], initial: 0) {
            (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value, .u8, unit: "%")
            guard 0...100 ~= value else { throw MalformedValue("value", "\(value) is out of range") }
        }
    }
}
