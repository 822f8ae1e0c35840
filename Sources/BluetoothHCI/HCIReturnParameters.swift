import BluetoothPrimitives

/// Versions and manufacturer of a controller (Core Vol 4 Part E §7.4.1).
public struct HCIVersionInformation: Hashable, Sendable, CustomStringConvertible {
    /// The HCI version as numbered by the Bluetooth SIG: 6 is 4.0, 9 is 5.0.
    public var hciVersion: UInt8
    /// The maker's own subversion of HCI.
    public var hciSubversion: UInt16
    /// The link layer version as numbered by the Bluetooth SIG.
    public var linkLayerVersion: UInt8
    /// The maker's company identifier.
    public var companyIdentifier: UInt16
    /// The maker's own subversion of the link layer.
    public var linkLayerSubversion: UInt16

    /// Versions as numbered by the Bluetooth SIG.
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

    /// The versions as the Bluetooth SIG numbers them.
    public var description: String {
        "HCI version \(hciVersion), link layer version \(linkLayerVersion), "
            + "company 0x\(hexadecimal(companyIdentifier, digits: 4))"
    }
}

/// What a controller's BR/EDR link manager can do, as far as it matters for LE (Core Vol 2 Part C §3.3).
public struct LMPFeatures: OptionSet, Hashable, Sendable {
    /// The 64 bits of page 0.
    public let rawValue: UInt64

    /// A set from its bits.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// BR/EDR Not Supported: the controller is for LE alone.
    public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
    /// LE Supported (Controller).
    public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}

/// The answers that Command Complete events bring, by command.
///
/// Every answer but ``status(_:)`` means success: a command that failed answers with its status alone.
public enum HCIReturnParameters: Hashable, Sendable {
    /// How the command ended: of commands that only do something, and of all that failed. Also of commands whose
    /// answer is not named here; its bytes are in ``HCICommandComplete/returnParameters``.
    case status(HCIStatus)
    /// Read Local Version Information.
    case versionInformation(HCIVersionInformation)
    /// Read Local Supported Commands.
    case supportedCommands(HCICommandSupport)
    /// Read Local Supported Features.
    case supportedFeatures(LMPFeatures)
    /// Read BD_ADDR: the public address.
    case address(BluetoothAddress)
    /// Read RSSI: the strength of the connection's signal in dBm, where the controller knows.
    case rssi(ConnectionHandle, Int8?)
    /// Read Transmit Power Level: what the connection's packets are sent with, in dBm.
    case transmitPower(ConnectionHandle, Int8)
    /// LE Read Local Supported Features.
    case leFeatures(LEFeatures)
    /// LE Set Data Length: done for this connection.
    case dataLengthSet(ConnectionHandle)
    /// LE Read PHY.
    case phys(LEPHYUpdate)
    /// LE Set Extended Advertising Parameters: the transmit power the controller chose, in dBm.
    case selectedTransmitPower(Int8)
    /// LE Read Maximum Advertising Data Length: 31 to 1650 bytes.
    case maximumAdvertisingDataLength(UInt16)
    /// LE Read Number of Supported Advertising Sets.
    case numberOfSupportedAdvertisingSets(UInt8)

    /// Reads the answer to the command the event names.
    ///
    /// Throws when the answer is shorter than that command's.
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
        default: self = .status(.success)
        }
    }

    /// The answer's bytes, beginning with the status.
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
        }
    }

    /// The Command Complete event with this answer, as a packet with its leading 0x04.
    ///
    /// Throws ``BufferFull`` never in practice: no answer is longer than an event holds.
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
