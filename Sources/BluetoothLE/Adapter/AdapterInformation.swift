import BluetoothPrimitives
import Management

/// What is known of an adapter.
public struct AdapterInformation: Hashable, Sendable {
    /// N of hciN. Not stable: an adapter that is plugged in again may come back with another.
    public var index: UInt16
    /// The controller's public address; zero where it has none.
    public var publicAddress: BluetoothAddress
    /// The static random address it uses instead, as far as this program knows.
    public var staticAddress: BluetoothAddress?
    /// Who made the controller.
    public var manufacturer: CompanyIdentifier
    /// The version of the Bluetooth specification the controller follows, as the Link Layer numbers it: 9 is 5.0.
    public var version: UInt8
    /// The name the kernel gives it towards others.
    public var localName: String
    /// What it can do.
    public var supportedSettings: ManagementSettings
    /// What is switched on.
    public var currentSettings: ManagementSettings

    /// An adapter from its parts.
    public init(
        index: UInt16, publicAddress: BluetoothAddress, staticAddress: BluetoothAddress? = nil,
        manufacturer: CompanyIdentifier, version: UInt8, localName: String, supportedSettings: ManagementSettings,
        currentSettings: ManagementSettings
    ) {
        self.index = index
        self.publicAddress = publicAddress
        self.staticAddress = staticAddress
        self.manufacturer = manufacturer
        self.version = version
        self.localName = localName
        self.supportedSettings = supportedSettings
        self.currentSettings = currentSettings
    }

    /// The kernel's name for it: `hci0`.
    public var name: String { "hci\(index)" }
    /// The address it uses on the air: the public one unless it has none.
    public var address: BluetoothAddress { publicAddress.isZero ? staticAddress ?? publicAddress : publicAddress }
    /// Whether it is powered on.
    public var isPowered: Bool { currentSettings.contains(.powered) }
    /// Whether LE is switched on; without it the kernel refuses LE connections.
    public var isLowEnergyEnabled: Bool { currentSettings.contains(.lowEnergy) }
    /// Whether the controller has LE.
    public var isLowEnergySupported: Bool { supportedSettings.contains(.lowEnergy) }
    /// Whether the controller has BR/EDR as well.
    public var isDualMode: Bool { supportedSettings.contains(.brEDR) && isLowEnergySupported }

    /// The Bluetooth specification's own version number, such as `5.0`.
    public var versionName: String {
        let names = [
            "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0",
        ]
        return names.indices.contains(Int(version)) ? names[Int(version)] : "unknown (\(version))"
    }
}

/// Which adapter to use.
public enum AdapterSelector: Hashable, Sendable {
    /// The first that is powered on and has LE, otherwise the first that has LE.
    case first
    /// hciN by its number.
    case index(UInt16)
    /// By its address, which survives unplugging.
    case address(BluetoothAddress)

    /// Reads `hci0`, `0` or an address; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let digits = text.hasPrefix("hci") ? String(text.dropFirst(3)) : String(text)
        if let index = UInt16(digits) {
            self = .index(index)
        } else if let address = BluetoothAddress(text) {
            self = .address(address)
        } else {
            return nil
        }
    }
}

extension AdapterSelector: CustomStringConvertible {
    /// The selector as one would type it.
    public var description: String {
        switch self {
        case .first: "the first adapter"
        case .index(let index): "hci\(index)"
        case .address(let address): "\(address)"
        }
    }

    func matches(_ information: AdapterInformation) -> Bool {
        switch self {
        case .first: information.isLowEnergySupported
        case .index(let index): information.index == index
        // A static address is as good a name as a public one, so the kind does not count.
        case .address(let address): information.address.value == address.value
        }
    }
}

/// Whether opening an adapter may switch it on.
public enum PowerPolicy: Hashable, Sendable {
    /// Fail when it is off.
    case leave
    /// Switch it on. Needs CAP_NET_ADMIN.
    case powerOn
}
