import BluetoothAdvertising
import BluetoothGATT
import BluetoothLE
import BluetoothSimulation
import LINBLE
import Synchronization

/// A LINBLE, or another device with a UART over Bluetooth, on a simulated radio, with the device attached to its UART.
///
/// It advertises until its ``peripheral`` is removed.
public final class SimulatedLINBLE: Sendable {
    /// The configuration of a simulated LINBLE.
    public struct Configuration: Sendable {
        /// The name in its scan response.
        public var name: String
        /// Its address; nil for a random static one.
        public var address: BluetoothAddress?
        /// The profile of its service. Only `linble` makes it a LINBLE.
        public var profile: UARTProfile
        /// Whether its advertising data lists the service.
        public var advertisesService: Bool
        /// The device on its UART.
        public var attached: any AttachedDevice
        /// Whether the input of its UART is split at random places, as by a real one.
        public var splitsAtRandom: Bool
        /// The seed of the random splitting.
        public var seed: UInt64
        /// The ATT_MTU it accepts, 23 to 517.
        public var receiveMTU: Int
        /// The capacity of its buffer for the host in bytes; bytes beyond it are lost.
        public var bufferCapacity: Int
        /// Whether its UART requires an encrypted link, as with pairing on in a LINBLE (`BTLA`).
        public var requiresEncryption: Bool
        /// The RSSI at which others receive it, in dBm.
        public var signalStrength: Int8

        /// Creates the configuration of a LINBLE-Z1 with a loopback, changed by the parameters given.
        public init(
            name: String = "LINBLE-Z1", address: BluetoothAddress? = nil, profile: UARTProfile = .linble,
            advertisesService: Bool = true, attached: any AttachedDevice = .loopback,
            splitsAtRandom: Bool = false, seed: UInt64 = 1, receiveMTU: Int = 247, bufferCapacity: Int = 65_536,
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

    /// The byte counts of a simulated LINBLE.
    public struct Statistics: Hashable, Sendable {
        /// Bytes that hosts wrote while it was online, sent on its UART.
        public var bytesFromHosts = 0
        /// Bytes received on its UART while it was online.
        public var bytesForHosts = 0
        /// Bytes that hosts wrote while it was offline, discarded.
        public var bytesIgnoredOffline = 0
        /// Bytes received on its UART while its buffer was full, lost.
        public var bytesLost = 0
    }

    /// The simulated peripheral, for everything else that can happen to it.
    public let peripheral: SimulatedPeripheral
    private let device: Device

    /// Creates a device that starts to advertise.
    public init(on radio: SimulatedRadio, _ configuration: Configuration = Configuration()) {
        let device = Device(configuration)
        self.device = device
        peripheral = SimulatedPeripheral(
            on: radio, address: configuration.address, advertisements: [configuration.advertisement],
            signalStrength: configuration.signalStrength
        ) { link in UARTLinkHandler(device, link) }
    }

    /// The device's address.
    public var address: BluetoothAddress { peripheral.address }

    /// The byte counts so far.
    public var statistics: Statistics { device.statistics.withLock { $0 } }

    /// The current state of the attached device.
    public var attached: any AttachedDevice { device.attached.withLock { $0 } }
}

extension SimulatedLINBLE.Configuration {
    /// The service in the advertising data and the name in the scan response, since both do not fit into one PDU.
    fileprivate var advertisement: SimulatedAdvertisement {
        var data = AdvertisementDataBuilder()
        // A field that does not fit is omitted, as by a device.
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
            profile.offeredService(security: requiresEncryption ? .medium : .low),
        ]
    }
}

/// The state that all links of a device share.
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
        // A profile whose attributes are not a valid database makes a device without any.
        let database = (try? AttributeDatabase(configuration.services)) ?? .empty
        let profile = configuration.profile
        self.database = database
        toDevice = database.valueHandle(of: profile.toDevice, in: profile.service)
        fromDevice = database.valueHandle(of: profile.fromDevice, in: profile.service)
        attached = Mutex(configuration.attached)
        generator = Mutex(SimulationGenerator(seed: configuration.seed))
    }

    /// The number of the `available` bytes in the next notification of at most `limit`.
    func pieceLength(of available: Int, limit: Int) -> Int {
        let longest = max(1, min(available, limit))
        guard configuration.splitsAtRandom else { return longest }
        return generator.withLock { Int.random(in: 1...longest, using: &$0) }
    }
}
