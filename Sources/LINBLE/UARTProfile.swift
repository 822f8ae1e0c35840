import BluetoothLE
import BluetoothPrimitives
import BluetoothGATT

/// The GATT profile of a family of devices with a UART: the service, the characteristic of each direction, and the
/// device's limits.
///
/// Those that need neither credits nor modem lines are in ``known``; a program adds its own by creating a value.
public struct UARTProfile: Hashable, Sendable {
    /// The ATT operation that carries bytes to the device.
    public enum WriteType: Hashable, Sendable {
        /// A Write Command if the characteristic allows it, else a Write Request.
        case automatic
        /// Write Commands (Core Vol 3 Part G §4.9.1): as fast as the link allows.
        case command
        /// Write Requests (Core Vol 3 Part G §4.9.3): one round trip each.
        case request
    }

    /// The family's usual name, such as `LINBLE`.
    public var name: String
    /// The service that identifies a device of this family.
    public var service: BluetoothUUID
    /// The characteristic that the host writes.
    public var toDevice: BluetoothUUID
    /// The characteristic that notifies the host; the same one in families that use one for both directions.
    public var fromDevice: BluetoothUUID
    /// The ATT operation of the host's writes.
    public var writeType: WriteType
    /// The maximum size of a write that the device accepts, in bytes; nil if only the ATT_MTU limits it.
    public var maximumChunkLength: Int?
    /// The rate at which the device can forward bytes, if it is known to lose faster ones; else nil.
    public var bytesPerSecond: Int?

    /// Creates a profile from its parts.
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

    /// Nordic UART Service, including devices with its two characteristics exchanged.
    public static let nordic = UARTProfile(
        name: "Nordic UART", service: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E",
        toDevice: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E", fromDevice: "6E400003-B5A3-F393-E0A9-E50E24DCCA9E")

    /// Microchip (ISSC) Transparent UART of RN487x, BM7x and RNBD modules, without its optional credits.
    public static let microchip = UARTProfile(
        name: "Microchip Transparent UART", service: "49535343-FE7D-4AE5-8FA9-9FAFD205E455",
        toDevice: "49535343-8841-43F4-A8D4-ECBE34729BB3", fromDevice: "49535343-1E4D-4BD9-BA61-23C647249616")

    /// u-blox Serial Port Service in its mode without flow control, which is on while its credits characteristic has no
    /// subscriber.
    public static let uBlox = UARTProfile(
        name: "u-blox SPS", service: "2456E1B9-26E2-8F83-E744-F34F01E9D701",
        toDevice: "2456E1B9-26E2-8F83-E744-F34F01E9D703", fromDevice: "2456E1B9-26E2-8F83-E744-F34F01E9D703")

    /// HM-10, TI CC254x and their many copies: one characteristic for both directions. Copies lose writes above 20
    /// bytes, and bytes faster than the 9600 bit/s their UART starts with.
    public static let hm10 = UARTProfile(
        name: "HM-10", service: 0xFFE0, toDevice: 0xFFE1, fromDevice: 0xFFE1, maximumChunkLength: 20,
        bytesPerSecond: 960)

    /// Feasycom and others.
    public static let fff0 = UARTProfile(name: "FFF0", service: 0xFFF0, toDevice: 0xFFF2, fromDevice: 0xFFF1)

    /// JBD battery managers and others.
    public static let ff00 = UARTProfile(name: "FF00", service: 0xFF00, toDevice: 0xFF02, fromDevice: 0xFF01)

    /// CSR (Qualcomm) serial over GATT: one characteristic for both directions, 20 bytes every 50 ms.
    public static let csr = UARTProfile(
        name: "CSR serial", service: "00005500-D102-11E1-9B23-00025B00A5A5",
        toDevice: "00005501-D102-11E1-9B23-00025B00A5A5", fromDevice: "00005501-D102-11E1-9B23-00025B00A5A5",
        maximumChunkLength: 20, bytesPerSecond: 400)

    /// All profiles of this package; the first whose service a device has is used.
    public static let known: [UARTProfile] = [.linble, .nordic, .microchip, .uBlox, .hm10, .csr, .fff0, .ff00]

    /// The profile in ``known`` with the given name, ignoring case, spaces and dashes; also found by its first word:
    /// `nordic`, `hm10`.
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
    /// A characteristic, as far as selecting it requires.
    public struct Candidate: Hashable, Sendable {
        /// The characteristic's type.
        public var uuid: BluetoothUUID
        /// The characteristic's properties.
        public var properties: CharacteristicProperties

        /// Creates a candidate from its parts.
        public init(uuid: BluetoothUUID, properties: CharacteristicProperties) {
            self.uuid = uuid
            self.properties = properties
        }

        fileprivate var isWritable: Bool { !properties.isDisjoint(with: [.write, .writeWithoutResponse]) }
        fileprivate var isNotifying: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    }

    /// The characteristics of a service that carry the bytes.
    public struct Selection: Hashable, Sendable {
        /// The index of the characteristic that the host writes.
        public var toDevice: Int
        /// The index of the characteristic that notifies the host.
        public var fromDevice: Int
        /// Whether the host sends Write Requests in place of Write Commands.
        public var isWrittenByRequest: Bool
    }

    /// Selects among the characteristics of the profile's service.
    ///
    /// The properties decide: if the two characteristics are exchanged, they are used that way. Nil when no
    /// characteristic of the profile can be written, or none notifies.
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
    /// The service as a device of this family publishes it: one characteristic with Write Commands, or Write Requests
    /// if ``writeType`` is `request`, and one that notifies.
    /// - Parameter security: the level of its permissions: `.medium` requires an encrypted link, `.high` and above an
    ///   authenticated one.
    package func offeredService(security: SecurityLevel = .low) -> GATTService {
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
