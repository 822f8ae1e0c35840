import Advertising
import BluetoothPrimitives

extension SimulatedAdvertisement {
    /// An advertisement made of fields.
    ///
    /// Throws when they do not fit into a legacy advertisement.
    public init(
        fields: [ADField], scanResponse: [ADField] = [], isConnectable: Bool = true,
        isScannable: Bool = true,
        interval: Duration = .milliseconds(100)
    ) throws(AdvertisementDataError) {
        self.init(
            data: try Self.data(of: fields), scanResponse: try Self.data(of: scanResponse),
            isConnectable: isConnectable, isScannable: isScannable, interval: interval)
    }

    private static func data(of fields: [ADField]) throws(AdvertisementDataError) -> [UInt8] {
        var builder = AdvertisementDataBuilder()
        for field in fields { try builder.add(field) }
        return builder.bytes
    }

    /// Data that breaks the rules of AD structures in every way there is, for scanners that must not mind: each with
    /// what is wrong (Core Vol 3 Part C §11).
    public static let malformed: [(fault: String, data: [UInt8])] = [
        ("nothing at all", []),
        ("zero lengths only", [0, 0, 0, 0]),
        ("a length beyond the end", [2, 0x01, 6, 9, 0x09, 0x41]),
        ("a length and no type", [2, 0x01, 6, 1]),
        ("a type without data", [1, 0x09, 2, 0x01, 6]),
        ("something after the end", [2, 0x01, 6, 0, 3, 0x09, 0x41, 0x42]),
        ("half a service identifier", [2, 0x03, 0x0D, 4, 0x03, 0x0D, 0x18, 0x0F]),
        ("a name that is not text", [5, 0x09, 0xFF, 0xFE, 0xC3, 0x28]),
        ("manufacturer data without a company", [2, 0xFF, 0x4C]),
        ("service data without a service", [2, 0x16, 0x0D]),
        ("a transmit power of two bytes", [3, 0x0A, 4, 4]),
        ("the longest length", [0xFF, 0x09] + [UInt8](repeating: 0x41, count: 29)),
    ]
}
