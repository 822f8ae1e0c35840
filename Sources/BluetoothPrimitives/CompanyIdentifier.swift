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
    public var name: String? {
        switch rawValue {
        case 0x0000: "Ericsson"
        case 0x0001: "Nokia"
        case 0x0002: "Intel"
        case 0x0003: "IBM"
        case 0x0004: "Toshiba"
        case 0x0006: "Microsoft"
        case 0x0008: "Motorola"
        case 0x0009: "Infineon"
        case 0x000A, 0x001D: "Qualcomm"
        case 0x000D: "Texas Instruments"
        case 0x000F: "Broadcom"
        case 0x0030: "STMicroelectronics"
        case 0x0036: "Renesas"
        case 0x003F: "Bluetooth SIG"
        case 0x0046: "MediaTek"
        case 0x004C: "Apple"
        case 0x0059: "Nordic Semiconductor"
        case 0x005D: "Realtek"
        case 0x006B: "Polar"
        case 0x0075: "Samsung"
        case 0x0077: "Laird"
        case 0x0087: "Garmin"
        case 0x008F: "Telit"
        case 0x009E: "Bose"
        case 0x009F: "Suunto"
        case 0x00C4: "LG Electronics"
        case 0x00CD: "Microchip"
        case 0x00D2: "Dialog Semiconductor"
        case 0x00E0: "Google"
        case 0x0118: "Radius Networks"
        case 0x012D: "Sony"
        case 0x0131: "Cypress"
        case 0x013C: "Murata"
        case 0x015D: "Estimote"
        case 0x0171: "Amazon"
        case 0x0178: "Casio"
        case 0x0179: "Lapis"
        case 0x018E: "Fitbit"
        case 0x01DA: "Logitech"
        case 0x027D: "Huawei"
        case 0x02E5: "Espressif"
        case 0x02FF: "Silicon Labs"
        case 0x038F: "Xiaomi"
        case 0x0492: "ADC Technology"
        case 0x0499: "Ruuvi"
        case 0x04B7: "Analog Devices"
        case 0x0553: "Nintendo"
        case 0x05F1: "Linux Foundation"
        case 0x07A6: "Musen Connect"
        case 0xFFFF: "Internal test"
        default: nil
        }
    }
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
