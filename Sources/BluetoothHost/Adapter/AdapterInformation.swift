import BluetoothPrimitives
import Synchronization

/// The identity of an adapter among those of its source. Not stable: an adapter that is plugged in again may get another
/// one.
public struct AdapterID: Hashable, Sendable, CustomStringConvertible {
    /// The name that the host gives the adapter; the kernel's are `hci0`, `hci1` …
    public let description: String

    package init(_ name: String) { description = name }
}

/// The identity, version, features and state of an adapter.
public struct AdapterInformation: Hashable, Identifiable, Sendable {
    /// The adapter's identity while it is present.
    public var id: AdapterID
    /// The controller's public address; zero where it has none.
    public var publicAddress: BluetoothAddress
    /// The static random address that the adapter uses instead, if this program knows it.
    public var staticAddress: BluetoothAddress?
    /// The manufacturer of the controller.
    public var manufacturer: CompanyIdentifier
    /// The version of the Bluetooth specification the controller follows, as the Link Layer numbers it: 9 is 5.0.
    public var version: UInt8
    /// The name the kernel has stored for the adapter.
    public var localName: String
    /// The features that the controller supports.
    package var supportedFeatures: AdapterFeatures
    /// The features that are on.
    package var activeFeatures: AdapterFeatures
    /// The public address with which the controller answered before, if it has another one without having been unplugged.
    package var formerAddress: BluetoothAddress?
    /// Whether the adapter is off because rfkill blocks it by software.
    public var isSoftBlocked = false
    /// Whether the adapter is off because a hardware switch or the firmware blocks it (rfkill).
    public var isHardBlocked = false

    /// Creates the information from its parts.
    package init(
        id: AdapterID, publicAddress: BluetoothAddress, manufacturer: CompanyIdentifier, version: UInt8,
        localName: String, supportedFeatures: AdapterFeatures, activeFeatures: AdapterFeatures
    ) {
        self.id = id
        self.publicAddress = publicAddress
        self.manufacturer = manufacturer
        self.version = version
        self.localName = localName
        self.supportedFeatures = supportedFeatures
        self.activeFeatures = activeFeatures
    }

    /// The host's name for the adapter: `hci0`.
    public var name: String { id.description }
    /// The identity address: the public one unless the adapter has none. It is also the address on the air unless the
    /// adapter ``usesPrivateAddresses``.
    public var address: BluetoothAddress { publicAddress.isZero ? staticAddress ?? publicAddress : publicAddress }
    /// Whether the adapter hides its identity address behind private addresses that change.
    public var usesPrivateAddresses: Bool { activeFeatures.contains(.privacy) }
    /// Whether the adapter is powered on.
    public var isPowered: Bool { activeFeatures.contains(.powered) }
    /// Whether LE is switched on; without it the kernel refuses LE connections.
    public var isLowEnergyEnabled: Bool { activeFeatures.contains(.lowEnergy) }
    /// Whether the controller supports LE.
    public var isLowEnergySupported: Bool { supportedFeatures.contains(.lowEnergy) }
    /// Whether the controller supports both LE and BR/EDR.
    public var isDualMode: Bool { supportedFeatures.contains(.brEDR) && isLowEnergySupported }

    /// The Bluetooth specification's own version number, such as `5.0`.
    public var versionName: String {
        codeName(
            version,
            ["1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0"])
            ?? "unknown (\(version))"
    }
}

/// Features and states of an adapter that are on or off.
package struct AdapterFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The controller is powered on.
    package static let powered = AdapterFeatures(rawValue: 1 << 0)
    /// Pairing creates keys that are stored (bondable mode).
    package static let bondable = AdapterFeatures(rawValue: 1 << 1)
    /// Secure Simple Pairing.
    package static let secureSimplePairing = AdapterFeatures(rawValue: 1 << 2)
    /// BR/EDR.
    package static let brEDR = AdapterFeatures(rawValue: 1 << 3)
    /// Low Energy.
    package static let lowEnergy = AdapterFeatures(rawValue: 1 << 4)
    /// LE Secure Connections.
    package static let secureConnections = AdapterFeatures(rawValue: 1 << 5)
    /// Private addresses.
    package static let privacy = AdapterFeatures(rawValue: 1 << 6)
    /// A static random address is set.
    package static let staticAddress = AdapterFeatures(rawValue: 1 << 7)

    /// The names of the features, separated by commas.
    package var description: String {
        listed(
            rawValue,
            names: [
                0: "powered", 1: "bondable", 2: "secure simple pairing", 3: "BR/EDR", 4: "LE", 5: "secure connections",
                6: "privacy", 7: "static address",
            ])
    }
}

extension AdapterInformation {
    /// The state of the adapter, derived from its settings and radio switches.
    public var state: AdapterState {
        guard isLowEnergySupported else { return .unsupported }
        if isPowered { return isLowEnergyEnabled ? .poweredOn : .lowEnergyOff }
        if isHardBlocked { return .blocked(isHard: true) }
        if isSoftBlocked { return .blocked(isHard: false) }
        return .poweredOff
    }
}

/// The choice of an adapter to open.
public enum AdapterSelector: Hashable, Sendable {
    /// The first that works: one that is powered on is tried before one that is off, a lower index before a higher one.
    /// An adapter that is blocked, cannot be powered on or fails otherwise is skipped.
    case first
    /// The adapter with an identity.
    case id(AdapterID)
    /// The adapter with an address, which survives unplugging.
    case address(BluetoothAddress)

    /// The kernel's adapter hciN, by its number.
    public static func index(_ number: UInt16) -> AdapterSelector { .id(AdapterID("hci\(number)")) }

    /// Parses `hci0`, `0` or an address; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let digits = text.hasPrefix("hci") ? String(text.dropFirst(3)) : String(text)
        if let index = UInt16(digits) {
            self = .index(index)
        } else if let address = BluetoothAddress(text, kind: .public) {
            self = .address(address)
        } else {
            return nil
        }
    }
}

extension AdapterSelector: CustomStringConvertible {
    /// The selector as a user would type it.
    public var description: String {
        switch self {
        case .first: "the first adapter"
        case .id(let id): "\(id)"
        case .address(let address): address.digits
        }
    }

    /// Whether an adapter matches the selector.
    package func matches(_ information: AdapterInformation) -> Bool {
        switch self {
        case .first: information.isLowEnergySupported
        case .id(let id): information.id == id
        // A static address identifies an adapter as well as a public one, so the kind is not compared.
        case .address(let address): information.address.value == address.value
        }
    }
}

/// The information of an opened adapter: readable on any thread, written on the loop.
package final class AdapterRecord: Sendable {
    private let known: Mutex<AdapterInformation>
    private let lastState: Mutex<AdapterState>
    /// Whether another program has switched the adapter's private addresses on or off while this one uses it: to peers
    /// that know only its other addresses it is a stranger.
    package let isStranger = Atomic(false)

    package init(_ information: AdapterInformation) {
        known = Mutex(information)
        lastState = Mutex(information.state)
    }

    /// The current information; while the adapter is absent, the last.
    package var information: AdapterInformation { known.withLock { $0 } }

    /// The state that the session has reported last.
    package var state: AdapterState {
        get { lastState.withLock { $0 } }
        set { lastState.withLock { $0 = newValue } }
    }

    /// Replaces the information; a static address that only this program knows is kept.
    package func update(_ now: AdapterInformation) {
        known.withLock { known in
            let address = now.staticAddress ?? known.staticAddress
            known = now
            known.staticAddress = address
        }
    }
}
