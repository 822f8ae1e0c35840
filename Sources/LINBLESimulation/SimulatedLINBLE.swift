import BluetoothAdvertising
import BluetoothGATT
import BluetoothLE
import BluetoothSimulation
import LINBLE
import Synchronization

/// A LINBLE, or another device with a UART over Bluetooth, on a simulated radio, and what is connected to its UART.
///
/// It stays on the air until its ``peripheral`` is removed.
public final class SimulatedLINBLE: Sendable {
    /// How it is.
    public struct Configuration: Sendable {
        /// The name it advertises in its scan response.
        public var name: String
        /// Its address; nil makes up a static random one.
        public var address: BluetoothAddress?
        /// Which service it has. Only `linble` makes it a LINBLE.
        public var profile: UARTProfile
        /// Whether its advertisement lists the service.
        public var advertisesService: Bool
        /// The device on its UART.
        public var attached: any AttachedDevice
        /// Whether what its UART takes in is cut at random places, as a real one may do.
        public var splitsAtRandom: Bool
        /// What the chance of the cutting comes from.
        public var seed: UInt64
        /// The ATT_MTU it accepts, 23 to 517.
        public var receiveMTU: UInt16
        /// How many bytes for the host it holds before it loses some.
        public var bufferCapacity: Int
        /// Whether only a link that is encrypted may use the UART, as when pairing is on in a LINBLE (`BTLA`).
        public var requiresEncryption: Bool
        /// How strong others receive it, in dBm.
        public var signalStrength: Int8

        /// A LINBLE-Z1 that echoes; what is not given is as it is there.
        public init(
            name: String = "LINBLE-Z1", address: BluetoothAddress? = nil, profile: UARTProfile = .linble,
            advertisesService: Bool = true, attached: any AttachedDevice = .loopback,
            splitsAtRandom: Bool = false, seed: UInt64 = 1, receiveMTU: UInt16 = 247, bufferCapacity: Int = 65_536,
            requiresEncryption: Bool = false, signalStrength: Int8 = -50
        ) {
            self.name = name
            self.address = address
            self.profile = profile
            self.advertisesService = advertisesService
            self.attached = attached
            self.splitsAtRandom = splitsAtRandom
            self.seed = seed
            self.receiveMTU = receiveMTU
            self.bufferCapacity = bufferCapacity
            self.requiresEncryption = requiresEncryption
            self.signalStrength = signalStrength
        }
    }

    /// What it has counted.
    public struct Statistics: Hashable, Sendable {
        /// Bytes that hosts wrote while it was online, which went out on its UART.
        public var bytesFromHosts = 0
        /// Bytes that came in on its UART while it was online.
        public var bytesForHosts = 0
        /// Bytes that hosts wrote while it was offline, which went nowhere.
        public var bytesIgnoredOffline = 0
        /// Bytes that came in on its UART and found its buffer full.
        public var bytesLost = 0
    }

    /// The device on the air, for everything that can happen to a peripheral.
    public let peripheral: SimulatedPeripheral
    private let device: Device

    /// Puts a device on the air.
    public init(on radio: SimulatedRadio, _ configuration: Configuration = Configuration()) {
        let device = Device(configuration)
        self.device = device
        peripheral = SimulatedPeripheral(
            on: radio, address: configuration.address, advertisements: [configuration.advertisement],
            signalStrength: configuration.signalStrength
        ) { link in UARTLinkHandler(device, link) }
    }

    /// Its address.
    public var address: BluetoothAddress { peripheral.address }

    /// What it has counted so far.
    public var statistics: Statistics { device.statistics.withLock { $0 } }

    /// The device on its UART as it is now.
    public var attached: any AttachedDevice { device.attached.withLock { $0 } }
}

extension SimulatedLINBLE.Configuration {
    /// The service in the advertising data and the name in the scan response: both do not fit into one.
    fileprivate var advertisement: SimulatedAdvertisement {
        var data = AdvertisementDataBuilder()
        // A field that does not fit is not advertised, as on a device.
        try? data.add(.flags([.leGeneralDiscoverable, .brEDRNotSupported]))
        if advertisesService { _ = data.addFitting(services: [profile.service]) }
        var response = AdvertisementDataBuilder()
        _ = try? response.addShortening(localName: name)
        return SimulatedAdvertisement(data: data.bytes, scanResponse: response.bytes)
    }

    /// The device's attributes: its name, and the UART service.
    fileprivate var services: [GATTService] {
        let name = GATTCharacteristic(0x2A00, properties: .read, value: .stored(Array(name.utf8)))
        return [
            GATTService(0x1800, characteristics: [name]),
            profile.offeredService(requiresEncryption: requiresEncryption),
        ]
    }
}

/// What a device is over all its links.
final class Device: Sendable {
    let configuration: SimulatedLINBLE.Configuration
    let database: AttributeDatabase
    let toDevice: AttributeHandle?
    let fromDevice: AttributeHandle?
    let attached: Mutex<any AttachedDevice>
    let generator: Mutex<SimulationGenerator>
    let statistics = Mutex(SimulatedLINBLE.Statistics())

    init(_ configuration: SimulatedLINBLE.Configuration) {
        self.configuration = configuration
        // A profile whose attributes make no database is a device without any.
        let database = (try? AttributeDatabase(configuration.services)) ?? .empty
        let profile = configuration.profile
        self.database = database
        toDevice = database.valueHandle(of: profile.toDevice, in: profile.service)
        fromDevice = database.valueHandle(of: profile.fromDevice, in: profile.service)
        attached = Mutex(configuration.attached)
        generator = Mutex(SimulationGenerator(seed: configuration.seed))
    }

    /// What comes back when bytes go out on the UART.
    func transmit(_ bytes: [UInt8]) -> [AttachedDeviceAction] { attached.withLock { $0.receive(bytes) } }

    func timerExpired() -> [AttachedDeviceAction] { attached.withLock { $0.timerExpired() } }

    func disconnected() -> [AttachedDeviceAction] { attached.withLock { $0.disconnected() } }

    /// How many of `available` bytes go into the next notification of at most `limit`.
    func pieceLength(of available: Int, limit: Int) -> Int {
        let longest = max(1, min(available, limit))
        guard configuration.splitsAtRandom else { return longest }
        return generator.withLock { Int.random(in: 1...longest, using: &$0) }
    }
}
