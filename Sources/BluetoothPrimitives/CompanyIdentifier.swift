/// A company identifier assigned by the Bluetooth SIG (Assigned Numbers §7).
///
/// Several thousand are assigned; this package names those that are frequent in advertisements. All others are valid
/// too and print in hexadecimal.
public struct CompanyIdentifier: RawRepresentable, Hashable, Sendable {
    /// The assigned value.
    public var rawValue: UInt16

    /// The company with the value `rawValue`, named or not.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The company with the value `rawValue`, named or not.
    @inlinable
    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Musen Connect, the maker of LINBLE.
    public static let musenConnect = CompanyIdentifier(0x07A6)
    /// ADC Technology, the maker of ZEAL.
    public static let adcTechnology = CompanyIdentifier(0x0492)
    /// Microsoft.
    public static let microsoft = CompanyIdentifier(0x0006)
    /// The Bluetooth SIG.
    public static let bluetoothSIG = CompanyIdentifier(0x003F)
    /// Apple, also used by iBeacons.
    public static let apple = CompanyIdentifier(0x004C)
    /// Nordic Semiconductor.
    public static let nordicSemiconductor = CompanyIdentifier(0x0059)
    /// Samsung Electronics.
    public static let samsung = CompanyIdentifier(0x0075)
    /// Google.
    public static let google = CompanyIdentifier(0x00E0)
    /// The value for internal tests before an identifier is assigned; a released product must not use it.
    public static let internalTest = CompanyIdentifier(0xFFFF)

    /// The company's name, or nil when this package has none.
    public var name: String? { Self.names[rawValue] }

    private static let names: [UInt16: String] = [
        0x0000: "Ericsson", 0x0001: "Nokia", 0x0002: "Intel", 0x0003: "IBM", 0x0004: "Toshiba", 0x0006: "Microsoft",
        0x0008: "Motorola", 0x0009: "Infineon", 0x000A: "Qualcomm", 0x001D: "Qualcomm", 0x000D: "Texas Instruments",
        0x000F: "Broadcom", 0x0030: "STMicroelectronics", 0x0036: "Renesas", 0x003F: "Bluetooth SIG",
        0x0046: "MediaTek", 0x004C: "Apple", 0x0059: "Nordic Semiconductor", 0x005D: "Realtek", 0x006B: "Polar",
        0x0075: "Samsung", 0x0077: "Laird", 0x0087: "Garmin", 0x008F: "Telit", 0x009E: "Bose", 0x009F: "Suunto",
        0x00C4: "LG Electronics", 0x00CD: "Microchip", 0x00D2: "Dialog Semiconductor", 0x00E0: "Google",
        0x0118: "Radius Networks", 0x012D: "Sony", 0x0131: "Cypress", 0x013C: "Murata", 0x015D: "Estimote",
        0x0171: "Amazon", 0x0178: "Casio", 0x0179: "Lapis", 0x018E: "Fitbit", 0x01DA: "Logitech", 0x027D: "Huawei",
        0x02E5: "Espressif", 0x02FF: "Silicon Labs", 0x038F: "Xiaomi", 0x0492: "ADC Technology", 0x0499: "Ruuvi",
        0x04B7: "Analog Devices", 0x0553: "Nintendo", 0x05F1: "Linux Foundation", 0x07A6: "Musen Connect",
        0xFFFF: "Internal test",
    ]
}

extension CompanyIdentifier: CustomStringConvertible {
    /// The name, or the value of an unnamed company, such as `0x07A6`.
    public var description: String { name ?? "0x" + hexadecimal(rawValue, digits: 4) }
}

extension CompanyIdentifier: ExpressibleByIntegerLiteral {
    /// The company with this value.
    @inlinable
    public init(integerLiteral value: UInt16) {
        self.init(value)
    }
}
