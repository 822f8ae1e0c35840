import BluetoothLE

/// The device to connect to.
public indirect enum UARTDevice: Hashable, Sendable {
    /// A device that advertises exactly this name.
    case name(String)
    /// The device with this address, of this type. It is connected to without scanning.
    case address(BluetoothAddress)
    /// The device with the same 48 bits, of either address type.
    case addressOfAnyKind(BluetoothAddress)
    /// The device with this identity resolving key, whatever its private address is. It is connected to without scanning
    /// if it is bonded.
    case identity(DeviceIdentity)
    /// The first device that advertises the service of one of the profiles.
    case advertisedService
    /// The first of these that is found. Addresses among them are scanned for.
    case any([UARTDevice])

    /// The devices that are known by their keys.
    var identities: [DeviceIdentity] {
        switch self {
        case .identity(let identity): [identity]
        case .any(let devices): devices.flatMap(\.identities)
        default: []
        }
    }

    /// Whether an advertisement is from this device; `resolver` has ``identities``.
    func matches(_ advertisement: Advertisement, profiles: [UARTProfile], _ resolver: IdentityResolver) -> Bool {
        switch self {
        case .name(let name): advertisement.localName == name
        case .address(let address): advertisement.address == address
        case .addressOfAnyKind(let address): advertisement.address?.value == address.value
        case .identity(let identity): resolver.identity(of: advertisement) == identity
        case .advertisedService:
            profiles.contains { advertisement.data.containsService($0.service) }
        case .any(let devices): devices.contains { $0.matches(advertisement, profiles: profiles, resolver) }
        }
    }
}

extension UARTDevice: CustomStringConvertible {
    /// The device in words that fit after "looking for".
    public var description: String {
        switch self {
        case .name(let name): "a device named '\(name)'"
        case .address(let address), .addressOfAnyKind(let address): "the device \(address.digits)"
        case .identity(let identity): "the device \(identity)"
        case .advertisedService: "a device that advertises a UART service"
        case .any(let devices): devices.map(\.description).joined(separator: " or ")
        }
    }
}

/// The pacing of bytes sent to a device without flow control.
public enum UARTPacing: Hashable, Sendable {
    /// The rate that the profile gives for the device; unlimited if it gives none.
    case automatic
    /// The rate of the link.
    case unlimited
    /// At most this many bytes per second; values below one count as one.
    case bytesPerSecond(Int)

    /// The rate of a UART at this speed: ten bits per byte (8N1).
    public static func baudRate(_ bitsPerSecond: Int) -> UARTPacing { .bytesPerSecond(bitsPerSecond / 10) }

    func bytesPerSecond(for profile: UARTProfile) -> Int? {
        switch self {
        case .automatic: profile.bytesPerSecond.map { max(1, $0) }
        case .unlimited: nil
        case .bytesPerSecond(let rate): max(1, rate)
        }
    }
}

/// Options for opening and using a UART.
public struct UARTOptions: Sendable {
    /// The profiles to look for, in order of preference.
    public var profiles: [UARTProfile]
    /// The time limit for finding the device; nil, here and below, for none. A bonded device that is known by its key is found and
    /// connected to within this and ``connectTimeout`` together.
    public var scanTimeout: Duration?
    /// The time limit of one connection attempt, after the device was found.
    public var connectTimeout: Duration?
    /// The time limit of each later step: each discovery, the subscription, each Write Request.
    public var stepTimeout: Duration?
    /// The number of attempts, each beginning with scanning; values below one count as one.
    public var attempts: Int
    /// The ATT_MTU to request, 23 to 517.
    public var maximumTransmissionUnit: Int
    /// The maximum size of a write in bytes; nil leaves it to the ATT_MTU and the profile.
    public var maximumChunkLength: Int?
    /// The pacing of sent bytes.
    public var pacing: UARTPacing
    /// The number of received bytes buffered for a slow reader before the subscription's own buffer fills up.
    public var receiveCapacity: Int
    /// Whether to adapt the link to the traffic: as for `ConnectionUse.throughput` while at least 8 kB a second flow, and
    /// with its earlier connection parameters and PHYs three seconds after the last bytes, or once the UART is released
    /// while its connection goes on. Needs CAP_NET_RAW; without it the link stays as it is.
    public var adaptsToTraffic: Bool
    /// The PHYs of the link, as `ConnectionOptions.phys`; nil leaves them to the controllers and the traffic. With PHYs
    /// the link is not adapted to the traffic. With LE Coded the device is looked for there as well, also by its name or
    /// service.
    public var phys: LEPHYSet?

    /// The security of the link; by default the one that the device requires. A LINBLE requires it once its command
    /// `BTLA` has turned pairing on; with a passkey of its own (`BTLP`) the adapter needs an agent that knows it, such as
    /// `FixedPasskeyAgent`.
    public var security: SecurityOptions

    /// Creates options with the times that LINBLE's manufacturer recommends; the other defaults suit most cases.
    public init(
        profiles: [UARTProfile] = [.linble], scanTimeout: Duration? = .seconds(10),
        connectTimeout: Duration? = .seconds(7), stepTimeout: Duration? = .seconds(5), attempts: Int = 3,
        maximumTransmissionUnit: Int = 517, maximumChunkLength: Int? = nil, pacing: UARTPacing = .automatic,
        receiveCapacity: Int = 65_536, adaptsToTraffic: Bool = true, phys: LEPHYSet? = nil,
        security: SecurityOptions = SecurityOptions()
    ) {
        self.profiles = profiles
        self.scanTimeout = scanTimeout
        self.connectTimeout = connectTimeout
        self.stepTimeout = stepTimeout
        self.attempts = attempts
        self.maximumTransmissionUnit = maximumTransmissionUnit
        self.maximumChunkLength = maximumChunkLength
        self.pacing = pacing
        self.receiveCapacity = receiveCapacity
        self.adaptsToTraffic = adaptsToTraffic
        self.phys = phys
        self.security = security
    }
}

/// A step in opening a UART. An open set: each property is one step, nil for the others.
public struct UARTProgress: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case scanning(UARTDevice)
        case found(Advertisement)
        case connecting(BluetoothAddress, attempt: Int)
        case connected(BluetoothAddress, maximumTransmissionUnit: Int)
        case discovered(UARTProfile)
        case online(maximumChunkLength: Int)
        case startingOver(after: BluetoothError)
    }

    package let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    /// A program scans for the device itself.
    public static func scanning(_ device: UARTDevice) -> UARTProgress { UARTProgress(.scanning(device)) }
    /// A program has found the device itself.
    public static func found(_ advertisement: Advertisement) -> UARTProgress { UARTProgress(.found(advertisement)) }

    /// The device that is scanned for.
    public var scanning: UARTDevice? { if case .scanning(let device) = kind { device } else { nil } }
    /// The advertisement of the device that was found.
    public var found: Advertisement? { if case .found(let advertisement) = kind { advertisement } else { nil } }
    /// The device that is connected to; attempts are counted from 1.
    public var connecting: (peer: BluetoothAddress, attempt: Int)? {
        if case .connecting(let peer, let attempt) = kind { (peer, attempt) } else { nil }
    }
    /// The device whose link is up, with the ATT_MTU.
    public var connected: (peer: BluetoothAddress, maximumTransmissionUnit: Int)? {
        if case .connected(let peer, let unit) = kind { (peer, unit) } else { nil }
    }
    /// The profile whose service and two characteristics were discovered.
    public var discovered: UARTProfile? { if case .discovered(let profile) = kind { profile } else { nil } }
    /// The maximum size of a write in bytes, now that the device has confirmed the subscription: bytes flow in both
    /// directions.
    public var online: Int? { if case .online(let length) = kind { length } else { nil } }
    /// The reason for which a step failed; the link was ended, and the procedure restarts with scanning.
    public var startingOver: BluetoothError? { if case .startingOver(let error) = kind { error } else { nil } }
}

extension UARTProgress: CustomStringConvertible {
    /// The step.
    public var description: String { "\(kind)" }
}
