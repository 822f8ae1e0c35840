import BluetoothLE
import BluetoothPrimitives
import BluetoothGATT

/// How one family of devices carries a UART over GATT: which service, which characteristic each way, and what the
/// device can take.
///
/// The ones that need neither credits nor modem lines are in ``known``; a program adds its own by making a value.
public struct UARTProfile: Hashable, Sendable {
    /// Which ATT operation carries bytes to the device.
    public enum WriteType: Hashable, Sendable {
        /// A Write Command where the characteristic allows it, else a Write Request.
        case automatic
        /// Write Commands (Core Vol 3 Part G §4.9.1): as fast as the link takes them.
        case command
        /// Write Requests (Core Vol 3 Part G §4.9.3): one round trip each.
        case request
    }

    /// What people call it, such as `LINBLE`.
    public var name: String
    /// The service that marks a device of this family.
    public var service: BluetoothUUID
    /// The characteristic that the host writes.
    public var toDevice: BluetoothUUID
    /// The characteristic that notifies the host; the same one in families that use one for both ways.
    public var fromDevice: BluetoothUUID
    /// How the host writes.
    public var writeType: WriteType
    /// The most bytes the device takes in one write, whatever the ATT_MTU; nil where the ATT_MTU alone decides.
    public var maximumChunkLength: Int?
    /// How many bytes a second the device can pass on, where it is known to lose what comes faster; nil where it is
    /// not.
    public var bytesPerSecond: Int?

    /// A profile from its parts.
    public init(
        name: String, service: BluetoothUUID, toDevice: BluetoothUUID, fromDevice: BluetoothUUID,
        writeType: WriteType = .automatic, maximumChunkLength: Int? = nil, bytesPerSecond: Int? = nil
    ) {
        self.name = name
        self.service = service
        self.toDevice = toDevice
        self.fromDevice = fromDevice
        self.writeType = writeType
        self.maximumChunkLength = maximumChunkLength
        self.bytesPerSecond = bytesPerSecond
    }
}

extension UARTProfile {
    /// LINBLE-Z1, LINBLE-Z2 and the older ZEAL-LE0: "LINBLE UART Service" with Data To Peripheral (DTP) and Data From
    /// Peripheral (DFP).
    public static let linble = UARTProfile(
        name: "LINBLE", service: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8",
        toDevice: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8", fromDevice: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8")

    /// Nordic UART Service. Devices that have its two characteristics the other way round are taken too.
    public static let nordic = UARTProfile(
        name: "Nordic UART", service: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E",
        toDevice: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E", fromDevice: "6E400003-B5A3-F393-E0A9-E50E24DCCA9E")

    /// Microchip (ISSC) Transparent UART of RN487x, BM7x and RNBD modules, without its optional credits.
    public static let microchip = UARTProfile(
        name: "Microchip Transparent UART", service: "49535343-FE7D-4AE5-8FA9-9FAFD205E455",
        toDevice: "49535343-8841-43F4-A8D4-ECBE34729BB3", fromDevice: "49535343-1E4D-4BD9-BA61-23C647249616")

    /// u-blox Serial Port Service in its mode without flow control, which is on while nobody subscribes to its credits
    /// characteristic.
    public static let uBlox = UARTProfile(
        name: "u-blox SPS", service: "2456E1B9-26E2-8F83-E744-F34F01E9D701",
        toDevice: "2456E1B9-26E2-8F83-E744-F34F01E9D703", fromDevice: "2456E1B9-26E2-8F83-E744-F34F01E9D703")

    /// HM-10, TI CC254x and their many copies: one characteristic both ways. Copies lose what is longer than 20 bytes,
    /// and what comes faster than the 9600 bit/s their UART starts with.
    public static let hm10 = UARTProfile(
        name: "HM-10", service: 0xFFE0, toDevice: 0xFFE1, fromDevice: 0xFFE1, maximumChunkLength: 20,
        bytesPerSecond: 960)

    /// Feasycom and others.
    public static let fff0 = UARTProfile(name: "FFF0", service: 0xFFF0, toDevice: 0xFFF2, fromDevice: 0xFFF1)

    /// JBD battery managers and others.
    public static let ff00 = UARTProfile(name: "FF00", service: 0xFF00, toDevice: 0xFF02, fromDevice: 0xFF01)

    /// CSR (Qualcomm) serial over GATT: one characteristic both ways, 20 bytes every 50 ms.
    public static let csr = UARTProfile(
        name: "CSR serial", service: "00005500-D102-11E1-9B23-00025B00A5A5",
        toDevice: "00005501-D102-11E1-9B23-00025B00A5A5", fromDevice: "00005501-D102-11E1-9B23-00025B00A5A5",
        maximumChunkLength: 20, bytesPerSecond: 400)

    /// All profiles of this package; the first whose service a device has is taken.
    public static let known: [UARTProfile] = [.linble, .nordic, .microchip, .uBlox, .hm10, .csr, .fff0, .ff00]

    /// The one of ``known`` with the given name, compared without regard to case, spaces and dashes; also found by its
    /// first word: `nordic`, `hm10`.
    public init?(named text: some StringProtocol) {
        func key(_ name: some StringProtocol) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }
        let wanted = key(text)
        let found =
            Self.known.first { key($0.name) == wanted }
            ?? Self.known.first { key($0.name.prefix { $0 != " " }) == wanted }
        guard let found, !wanted.isEmpty else { return nil }
        self = found
    }
}

extension UARTProfile: CustomStringConvertible {
    /// The name and the service.
    public var description: String { "\(name) (\(service))" }
}

extension UARTProfile {
    /// What a characteristic is and allows, as far as choosing between characteristics needs it.
    public struct Candidate: Hashable, Sendable {
        /// Its type.
        public var uuid: BluetoothUUID
        /// What it allows.
        public var properties: CharacteristicProperties

        /// A candidate from its parts.
        public init(uuid: BluetoothUUID, properties: CharacteristicProperties) {
            self.uuid = uuid
            self.properties = properties
        }

        fileprivate var isWritable: Bool { !properties.isDisjoint(with: [.write, .writeWithoutResponse]) }
        fileprivate var isNotifying: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    }

    /// Which characteristics of a service carry the bytes.
    public struct Selection: Hashable, Sendable {
        /// Index of the characteristic that the host writes.
        public var toDevice: Int
        /// Index of the characteristic that notifies the host.
        public var fromDevice: Int
        /// Whether the host sends Write Requests in place of Write Commands.
        public var isWrittenByRequest: Bool
    }

    /// Chooses among the characteristics of the profile's service.
    ///
    /// What a characteristic allows decides: where the two are the other way round, they are taken the other way
    /// round. Nil when no characteristic of the profile can be written, or none notifies.
    public func selection(among candidates: [Candidate]) -> Selection? {
        func index(preferring first: BluetoothUUID, over second: BluetoothUUID, where suits: (Candidate) -> Bool)
            -> Int?
        {
            candidates.firstIndex { $0.uuid == first && suits($0) }
                ?? candidates.firstIndex { $0.uuid == second && suits($0) }
        }
        guard
            let toDevice = index(preferring: toDevice, over: fromDevice, where: \.isWritable),
            let fromDevice = index(preferring: fromDevice, over: self.toDevice, where: \.isNotifying)
        else { return nil }
        let properties = candidates[toDevice].properties
        let isWrittenByRequest =
            switch writeType {
            case .automatic: !properties.contains(.writeWithoutResponse)
            case .command: false
            case .request: true
            }
        return Selection(toDevice: toDevice, fromDevice: fromDevice, isWrittenByRequest: isWrittenByRequest)
    }
}

extension UARTProfile {
    /// The service as a device of this family offers it: one characteristic that takes Write Commands, or Write Requests
    /// where ``writeType`` says so, and one that notifies.
    /// - Parameter requiresEncryption: whether only an encrypted link may use it.
    public func offeredService(requiresEncryption: Bool = false) -> GATTService {
        offeredService(security: requiresEncryption ? .medium : .low)
    }

    /// As ``offeredService(requiresEncryption:)``, for links that are protected as well as `security` says: `.medium` asks
    /// for one that is encrypted, `.high` and above for one that is authenticated.
    public func offeredService(security: SecurityLevel) -> GATTService {
        let protection: AttributePermissions =
            if security >= .high {
                [.readEncrypted, .writeEncrypted, .readAuthenticated, .writeAuthenticated]
            } else if security >= .medium {
                [.readEncrypted, .writeEncrypted]
            } else {
                []
            }
        func characteristic(_ uuid: BluetoothUUID, _ properties: CharacteristicProperties) -> GATTCharacteristic {
            GATTCharacteristic(
                uuid, properties: properties, permissions: AttributePermissions(properties).union(protection),
                descriptors: properties.contains(.notify)
                    ? [
                        GATTDescriptor(
                            .clientCharacteristicConfiguration, permissions: protection.union([.read, .write]))
                    ] : [])
        }
        let write: CharacteristicProperties = writeType == .request ? .write : .writeWithoutResponse
        return GATTService(
            service,
            characteristics: toDevice == fromDevice
                ? [characteristic(toDevice, write.union(.notify))]
                : [characteristic(fromDevice, .notify), characteristic(toDevice, write)])
    }
}
