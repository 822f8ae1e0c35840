import BluetoothLE

/// Which device to connect to.
public indirect enum UARTDevice: Hashable, Sendable {
    /// One that advertises this name, letter by letter.
    case name(String)
    /// The one with this address, of this kind. It is connected to without scanning for it.
    case address(BluetoothAddress)
    /// The one with the same 48 bits, whatever kind its advertisements say they are.
    case addressOfAnyKind(BluetoothAddress)
    /// The first that advertises the service of one of the profiles.
    case advertisedService
    /// Whichever of these is seen first. Addresses among them are scanned for.
    case any([UARTDevice])

    /// Whether an advertisement comes from this device.
    func matches(_ advertisement: Advertisement, profiles: [UARTProfile]) -> Bool {
        switch self {
        case .name(let name): advertisement.data.localName == name
        case .address(let address): advertisement.address == address
        case .addressOfAnyKind(let address): advertisement.address?.value == address.value
        case .advertisedService:
            profiles.contains { advertisement.data.containsService($0.service) }
        case .any(let devices): devices.contains { $0.matches(advertisement, profiles: profiles) }
        }
    }
}

extension UARTDevice: CustomStringConvertible {
    /// Who is meant, in words that fit after "looking for".
    public var description: String {
        switch self {
        case .name(let name): "a device named '\(name)'"
        case .address(let address), .addressOfAnyKind(let address): "the device \(address)"
        case .advertisedService: "a device that advertises a UART service"
        case .any(let devices): devices.map(\.description).joined(separator: " or ")
        }
    }
}

/// How fast bytes are handed to a device that has no flow control of its own.
public enum UARTPacing: Hashable, Sendable {
    /// As fast as the profile says the device can take them; without limit where it says nothing.
    case automatic
    /// As fast as the link takes them.
    case unlimited
    /// At most so many bytes a second; less than one stands for one.
    case bytesPerSecond(Int)

    /// What a UART passes on at this speed: ten bits a byte (8N1).
    public static func baudRate(_ bitsPerSecond: Int) -> UARTPacing { .bytesPerSecond(bitsPerSecond / 10) }

    func bytesPerSecond(for profile: UARTProfile) -> Int? {
        switch self {
        case .automatic: profile.bytesPerSecond.map { max(1, $0) }
        case .unlimited: nil
        case .bytesPerSecond(let rate): max(1, rate)
        }
    }
}

/// How to come to a UART and how to use it.
public struct UARTOptions: Sendable {
    /// The profiles that are looked for, most wanted first.
    public var profiles: [UARTProfile]
    /// How long to scan for the device; nil for ever.
    public var scanTimeout: Duration?
    /// How long one attempt to connect may take.
    public var connectTimeout: Duration
    /// How long each step after that may take: each discovery, the subscription, each Write Request.
    public var stepTimeout: Duration
    /// How often to start over from scanning before giving up; less than one stands for one.
    public var attempts: Int
    /// The ATT_MTU to ask for, 23 to 517.
    public var maximumTransmissionUnit: UInt16
    /// The most bytes in one write; nil leaves it to the ATT_MTU and the profile.
    public var maximumChunkLength: Int?
    /// How fast bytes are sent.
    public var pacing: UARTPacing
    /// How many received bytes are held for a slow reader before the sender is left to fill the subscription's own
    /// buffer.
    public var receiveCapacity: Int

    /// How well the link has to be protected before the UART is opened; nil for as well as the device demands. A LINBLE
    /// demands it once its command `BTLA` has turned pairing on; with a passkey of its own (`BTLP`) the adapter needs an
    /// agent that knows it, such as `FixedPasskeyAgent`.
    public var security: SecurityLevel?
    /// Whether to pair by itself with a device that demands it.
    public var securityPolicy: SecurityPolicy = .automatic

    /// Options with the times that the maker of LINBLE recommends; what is not given is as good as always right.
    public init(
        profiles: [UARTProfile] = [.linble], scanTimeout: Duration? = .seconds(10),
        connectTimeout: Duration = .seconds(7), stepTimeout: Duration = .seconds(5), attempts: Int = 3,
        maximumTransmissionUnit: UInt16 = 517, maximumChunkLength: Int? = nil, pacing: UARTPacing = .automatic,
        receiveCapacity: Int = 65_536
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
    }
}

/// How far the way to a UART has been gone.
public enum UARTProgress: Sendable {
    /// Scanning for the device.
    case scanning(UARTDevice)
    /// It was seen.
    case found(Advertisement)
    /// Connecting, for the given time, counted from 1.
    case connecting(BluetoothAddress, attempt: Int)
    /// The link is there, with this ATT_MTU.
    case connected(BluetoothAddress, maximumTransmissionUnit: Int)
    /// The service and its two characteristics were found.
    case discovered(UARTProfile)
    /// The device has confirmed the subscription: bytes flow both ways.
    case online(maximumChunkLength: Int)
    /// A step failed; the link has been ended, and it starts over from scanning.
    case startingOver(after: BluetoothError)
}
