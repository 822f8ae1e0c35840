import BluetoothPrimitives
import Synchronization

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
    /// Whether it is off because a radio switch in software (rfkill) keeps it so.
    public var isSoftBlocked: Bool
    /// Whether it is off because a switch on the machine or its firmware keeps it so.
    public var isHardBlocked: Bool

    /// An adapter from its parts.
    public init(
        index: UInt16, publicAddress: BluetoothAddress, staticAddress: BluetoothAddress? = nil,
        manufacturer: CompanyIdentifier, version: UInt8, localName: String, supportedSettings: ManagementSettings,
        currentSettings: ManagementSettings, isSoftBlocked: Bool = false, isHardBlocked: Bool = false
    ) {
        self.index = index
        self.publicAddress = publicAddress
        self.staticAddress = staticAddress
        self.manufacturer = manufacturer
        self.version = version
        self.localName = localName
        self.supportedSettings = supportedSettings
        self.currentSettings = currentSettings
        self.isSoftBlocked = isSoftBlocked
        self.isHardBlocked = isHardBlocked
    }

    /// The kernel's name for it: `hci0`.
    public var name: String { "hci\(index)" }
    /// The address that is its identity, and the one it uses on the air unless it ``usesPrivateAddresses``: the public one
    /// unless it has none.
    public var address: BluetoothAddress { publicAddress.isZero ? staticAddress ?? publicAddress : publicAddress }
    /// Whether it hides that address from others behind ones that change.
    public var usesPrivateAddresses: Bool { currentSettings.contains(.privacy) }
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

extension AdapterInformation {
    /// Whether the adapter can be used as it stands here, and if not, what is in the way.
    public var state: AdapterState {
        guard isLowEnergySupported else { return .unsupported }
        if isPowered { return isLowEnergyEnabled ? .poweredOn : .lowEnergyOff }
        if isHardBlocked { return .blocked(isHard: true) }
        if isSoftBlocked { return .blocked(isHard: false) }
        return .poweredOff
    }
}

/// Which adapter to use.
public enum AdapterSelector: Hashable, Sendable {
    /// The first that works: one that is powered on is tried before one that is off, a lower index before a higher.
    /// One that is blocked, cannot be powered on or fails otherwise is passed over for the next.
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

    /// Whether an adapter is one that is meant.
    public func matches(_ information: AdapterInformation) -> Bool {
        switch self {
        case .first: information.isLowEnergySupported
        case .index(let index): information.index == index
        // A static address is as good a name as a public one, so the kind does not count.
        case .address(let address): information.address.value == address.value
        }
    }
}

/// What is known of an opened adapter: read on any thread, written on the loop.
package final class AdapterFacts: Sendable {
    private let known: Mutex<AdapterInformation>

    package init(_ information: AdapterInformation) {
        known = Mutex(information)
    }

    /// The adapter as it is now, and while it is away as it was last.
    package var information: AdapterInformation { known.withLock { $0 } }

    /// Takes over what is known now; a static address that only this program knows stays.
    package func update(_ now: AdapterInformation) {
        known.withLock { known in
            let address = now.staticAddress ?? known.staticAddress
            known = now
            known.staticAddress = address
        }
    }
}
