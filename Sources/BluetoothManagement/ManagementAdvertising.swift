import BluetoothPackets
import BluetoothPrimitives

/// The kind of an advertising instance, and the data that the kernel adds.
public struct AdvertisingInstanceFlags: PacketCode, OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A central may connect, regardless of the connectable setting.
    public static let connectable = AdvertisingInstanceFlags(rawValue: 1 << 0)
    /// General discoverable; the kernel adds the Flags AD structure, three bytes.
    public static let generalDiscoverable = AdvertisingInstanceFlags(rawValue: 1 << 1)
    /// Limited discoverable; the kernel adds the Flags AD structure, three bytes.
    public static let limitedDiscoverable = AdvertisingInstanceFlags(rawValue: 1 << 2)
    /// The kernel adds the Flags AD structure and keeps it up to date, three bytes.
    public static let managedFlags = AdvertisingInstanceFlags(rawValue: 1 << 3)
    /// The kernel adds the transmit power, three bytes.
    public static let transmitPower = AdvertisingInstanceFlags(rawValue: 1 << 4)
    /// The kernel adds the appearance to the scan response, four bytes.
    public static let appearance = AdvertisingInstanceFlags(rawValue: 1 << 5)
    /// The kernel adds the adapter's name to the scan response, as much of it as fits.
    public static let localName = AdvertisingInstanceFlags(rawValue: 1 << 6)
    /// Extended advertising with the data on LE 1M.
    public static let secondaryLE1M = AdvertisingInstanceFlags(rawValue: 1 << 7)
    /// Extended advertising with the data on LE 2M.
    public static let secondaryLE2M = AdvertisingInstanceFlags(rawValue: 1 << 8)
    /// Extended advertising on LE Coded.
    public static let secondaryLECoded = AdvertisingInstanceFlags(rawValue: 1 << 9)
    /// Only reported by the kernel: a transmit power can be requested.
    public static let canSetTransmitPower = AdvertisingInstanceFlags(rawValue: 1 << 10)
    /// Only reported by the kernel: the controller has advertising sets.
    public static let hardwareOffload = AdvertisingInstanceFlags(rawValue: 1 << 11)

    // These flags select which parameters of Add Extended Advertising Parameters apply, and which commands follow.
    static let duration = AdvertisingInstanceFlags(rawValue: 1 << 12)
    static let timeout = AdvertisingInstanceFlags(rawValue: 1 << 13)
    static let intervals = AdvertisingInstanceFlags(rawValue: 1 << 14)
    static let requestedTransmitPower = AdvertisingInstanceFlags(rawValue: 1 << 15)

    /// In Add Extended Advertising Parameters: a scan response follows, so the set has to be scannable.
    public static let scanResponse = AdvertisingInstanceFlags(rawValue: 1 << 16)

    static let parameterPresence: AdvertisingInstanceFlags = [.duration, .timeout, .intervals, .requestedTransmitPower]
}

extension AdvertisingInstanceFlags: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "connectable", 1: "general discoverable", 2: "limited discoverable", 3: "managed flags",
                4: "transmit power", 5: "appearance", 6: "local name", 7: "secondary LE 1M", 8: "secondary LE 2M",
                9: "secondary LE Coded", 10: "can set transmit power", 11: "hardware offload", 12: "duration",
                13: "timeout", 14: "intervals", 15: "requested transmit power", 16: "scan response",
            ])
    }
}

/// The answer to Read Advertising Features.
public struct AdvertisingFeatures: ManagementReply {
    /// The flags that an instance may have.
    public var supportedFlags: AdvertisingInstanceFlags
    /// The capacity of the advertising data in bytes, including the flags' share.
    public var maximumAdvertisingDataLength: UInt8
    /// The capacity of the scan response in bytes, including the flags' share.
    public var maximumScanResponseLength: UInt8
    /// The maximum number of instances.
    public var maximumInstances: UInt8
    /// The numbers of the present instances.
    public var instances: [UInt8]

    /// Creates the features from their values.
    public init(
        supportedFlags: AdvertisingInstanceFlags, maximumAdvertisingDataLength: UInt8,
        maximumScanResponseLength: UInt8, maximumInstances: UInt8, instances: [UInt8] = []
    ) {
        self.supportedFlags = supportedFlags
        self.maximumAdvertisingDataLength = maximumAdvertisingDataLength
        self.maximumScanResponseLength = maximumScanResponseLength
        self.maximumInstances = maximumInstances
        self.instances = instances
    }

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            supportedFlags: reader.read(), maximumAdvertisingDataLength: reader.read(),
            maximumScanResponseLength: reader.read(), maximumInstances: reader.read())
        instances = [UInt8](try reader.read(Int(try reader.readUInt8())))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: instances.count) else {
            throw BufferFull(needed: instances.count, available: 255)
        }
        try writer.write(supportedFlags, maximumAdvertisingDataLength, maximumScanResponseLength)
        try writer.write(maximumInstances, count)
        try writer.write(instances)
    }

    /// The values in words.
    public var description: String {
        "\(supportedFlags), data \(maximumAdvertisingDataLength), scan response \(maximumScanResponseLength), "
            + "instances \(instances) of \(maximumInstances)"
    }
}

/// Read Advertising Features: reads the advertising features.
public struct ManagementReadAdvertisingFeatures: ManagementCommand, EmptyPacket {
    /// The features.
    public typealias Reply = AdvertisingFeatures
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x003D, "Read Advertising Features")

    /// The command.
    public init() {}
}

/// Set Advertising: switches advertising by setting. Add Advertising is preferable, since outgoing connections fail beside
/// this.
public struct ManagementSetAdvertising: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0029, "Set Advertising")
    /// The mode.
    public var value: AdvertisingMode

    /// The command with the parameter `value`.
    public init(_ value: AdvertisingMode) { self.value = value }
}

/// The mode of Set Advertising.
public struct AdvertisingMode: PacketCode, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A mode of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// No advertising.
    public static let off = AdvertisingMode(rawValue: 0)
    /// Advertising, connectable according to the setting.
    public static let on = AdvertisingMode(rawValue: 1)
    /// Connectable advertising, regardless of the setting.
    public static let connectable = AdvertisingMode(rawValue: 2)

    /// The mode in words.
    public var description: String { [0: "off", 1: "on", 2: "connectable"][rawValue] ?? "mode \(rawValue)" }
}
