import BluetoothPrimitives

/// The versions and manufacturer of a controller (Core Vol 4 Part E §7.4.1).
public struct HCIVersionInformation: Hashable, Sendable, CustomStringConvertible {
    /// The HCI version as assigned by the Bluetooth SIG: 6 is 4.0, 9 is 5.0.
    public var hciVersion: UInt8
    /// The HCI subversion, vendor-specific.
    public var hciSubversion: UInt16
    /// The link layer version as assigned by the Bluetooth SIG.
    public var linkLayerVersion: UInt8
    /// The manufacturer's company identifier.
    public var companyIdentifier: UInt16
    /// The link layer subversion, vendor-specific.
    public var linkLayerSubversion: UInt16

    /// The given versions.
    public init(
        hciVersion: UInt8, hciSubversion: UInt16 = 0, linkLayerVersion: UInt8, companyIdentifier: UInt16,
        linkLayerSubversion: UInt16 = 0
    ) {
        self.hciVersion = hciVersion
        self.hciSubversion = hciSubversion
        self.linkLayerVersion = linkLayerVersion
        self.companyIdentifier = companyIdentifier
        self.linkLayerSubversion = linkLayerSubversion
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        hciVersion = try reader.readUInt8()
        hciSubversion = try reader.readUInt16()
        linkLayerVersion = try reader.readUInt8()
        companyIdentifier = try reader.readUInt16()
        linkLayerSubversion = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(hciVersion)
        try writer.write(hciSubversion)
        try writer.write(linkLayerVersion)
        try writer.write(companyIdentifier)
        try writer.write(linkLayerSubversion)
    }

    /// The versions as assigned by the Bluetooth SIG, and the manufacturer.
    public var description: String {
        "HCI version \(hciVersion), link layer version \(linkLayerVersion), "
            + "company 0x\(hexadecimal(companyIdentifier, digits: 4))"
    }
}

/// The LMP features of a controller that concern LE (Core Vol 2 Part C §3.3).
public struct LMPFeatures: OptionSet, Hashable, Sendable {
    /// The 64 bits of page 0.
    public let rawValue: UInt64

    /// The features with the bits `rawValue`.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// BR/EDR Not Supported: the controller supports LE only.
    public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
    /// LE Supported (Controller).
    public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}

/// The return parameters of a Command Complete event, by command.
///
/// Every case except ``status(_:)`` implies success: a failed command returns its status only.
public enum HCIReturnParameters: Hashable, Sendable {
    /// The status of a command without other return parameters, of any failed command, and of a command without a case
    /// here, whose bytes are in ``HCICommandComplete/returnParameters``.
    case status(HCIStatus)
    /// Read Local Version Information.
    case versionInformation(HCIVersionInformation)
    /// Read Local Supported Commands.
    case supportedCommands(HCICommandSupport)
    /// Read Local Supported Features.
    case supportedFeatures(LMPFeatures)
    /// Read BD_ADDR: the public address.
    case address(BluetoothAddress)
    /// Read RSSI: the RSSI of the connection in dBm, if available.
    case rssi(ConnectionHandle, Int8?)
    /// Read Transmit Power Level: the level of the connection in dBm.
    case transmitPower(ConnectionHandle, Int8)
    /// LE Read Local Supported Features.
    case leFeatures(LEFeatures)
    /// LE Set Data Length: the connection.
    case dataLengthSet(ConnectionHandle)
    /// LE Read PHY.
    case phys(LEPHYUpdate)
    /// LE Set Extended Advertising Parameters: the selected transmit power in dBm.
    case selectedTransmitPower(Int8)
    /// LE Read Maximum Advertising Data Length: 31 to 1650 bytes.
    case maximumAdvertisingDataLength(UInt16)
    /// LE Read Number of Supported Advertising Sets.
    case numberOfSupportedAdvertisingSets(UInt8)
    /// LE Read Buffer Size [v1]: the maximum length of the data in a packet, and the number of packets.
    case leBuffers(packetLength: UInt16, count: UInt8)
    /// LE Read Supported States: the mask of states and their combinations.
    case supportedStates(UInt64)
    /// LE Read Filter Accept List Size, LE Read Resolving List Size: the number of entries.
    case listSize(UInt8)
    /// LE Read Maximum Data Length: the number of bytes in a packet that it transmits.
    case maximumDataLength(UInt16)
    /// LE Read Transmit Power: the least and the greatest in dBm.
    case transmitPowers(Int8, Int8)

    /// Decodes the return parameters of the event's command.
    ///
    /// - Throws: ``HCIDecodingError`` when they are too short for the command.
    public init(decoding event: HCICommandComplete) throws(HCIDecodingError) {
        do throws(TruncatedBytes) {
            var reader = ByteReader(event.returnParameters)
            let status = try reader.readStatus()
            self = status.isSuccess ? try Self(opcode: event.opcode, reading: &reader) : .status(status)
        } catch {
            throw .truncated(error)
        }
    }

    private init(opcode: HCIOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case .readLocalVersionInformation:
            self = .versionInformation(try HCIVersionInformation(reading: &reader))
        case .readLocalSupportedCommands: self = .supportedCommands(try HCICommandSupport(reading: &reader))
        case .readLocalSupportedFeatures: self = .supportedFeatures(LMPFeatures(rawValue: try reader.readUInt64()))
        case .readBDADDR: self = .address(try reader.readAddress(.public))
        case .readRSSI:
            let handle = try reader.readConnectionHandle()
            self = .rssi(handle, unlessUnavailable(try reader.readInt8()))
        case .readTransmitPowerLevel:
            self = .transmitPower(try reader.readConnectionHandle(), try reader.readInt8())
        case .leReadLocalSupportedFeatures: self = .leFeatures(LEFeatures(rawValue: try reader.readUInt64()))
        case .leSetDataLength: self = .dataLengthSet(try reader.readConnectionHandle())
        case .leReadPHY: self = .phys(try LEPHYUpdate(reading: &reader, status: .success))
        case .leSetExtendedAdvertisingParameters: self = .selectedTransmitPower(try reader.readInt8())
        case .leReadMaximumAdvertisingDataLength: self = .maximumAdvertisingDataLength(try reader.readUInt16())
        case .leReadNumberOfSupportedAdvertisingSets: self = .numberOfSupportedAdvertisingSets(try reader.readUInt8())
        case .leReadBufferSize:
            self = .leBuffers(packetLength: try reader.readUInt16(), count: try reader.readUInt8())
        case .leReadSupportedStates: self = .supportedStates(try reader.readUInt64())
        case .leReadFilterAcceptListSize, .leReadResolvingListSize: self = .listSize(try reader.readUInt8())
        case .leReadMaximumDataLength: self = .maximumDataLength(try reader.readUInt16())
        case .leReadTransmitPower: self = .transmitPowers(try reader.readInt8(), try reader.readInt8())
        default: self = .status(.success)
        }
    }

    /// Encodes the return parameters, which begin with the status.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        if case .status(let status) = self { return try writer.write(status) }
        if case .phys(let phys) = self { return try phys.write(to: &writer) }
        try writer.write(HCIStatus.success)
        switch self {
        case .status, .phys: break
        case .versionInformation(let information): try information.write(to: &writer)
        case .supportedCommands(let support): try writer.write(support.octets)
        case .supportedFeatures(let features): try writer.write(features.rawValue)
        case .address(let address): try writer.write(address)
        case .rssi(let handle, let rssi):
            try writer.write(handle)
            try writer.write(rssi ?? powerUnavailable)
        case .transmitPower(let handle, let power):
            try writer.write(handle)
            try writer.write(power)
        case .leFeatures(let features): try writer.write(features.rawValue)
        case .dataLengthSet(let handle): try writer.write(handle)
        case .selectedTransmitPower(let power): try writer.write(power)
        case .maximumAdvertisingDataLength(let length): try writer.write(length)
        case .numberOfSupportedAdvertisingSets(let count): try writer.write(count)
        case .leBuffers(let length, let count):
            try writer.write(length)
            try writer.write(count)
        case .supportedStates(let states): try writer.write(states)
        case .listSize(let size): try writer.write(size)
        case .maximumDataLength(let octets):
            // The time in µs on LE 1M; the receiver's values are the same.
            for _ in 0..<2 {
                try writer.write(octets)
                try writer.write(UInt16(clamping: (Int(octets) + 14) * 8))
            }
        case .transmitPowers(let least, let greatest):
            try writer.write(least)
            try writer.write(greatest)
        }
    }

    /// The Command Complete event with these return parameters, as a packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` never in practice, since all return parameters fit into an event.
    public func commandComplete(
        _ opcode: HCIOpcode, allowedCommandPackets: UInt8 = 1
    ) throws(BufferFull) -> [UInt8] {
        var answer = ByteWriter(capacity: 255)
        try encode(into: &answer)
        let event = HCIEvent.commandComplete(
            HCICommandComplete(
                opcode: opcode, allowedCommandPackets: allowedCommandPackets,
                returnParameters: answer.bytes.span.bytes))
        return try event.packet()
    }
}
