import BluetoothPackets
import BluetoothPrimitives

/// An HCI event: its code and name, and its parameters (Core Vol 4 Part E §5.4.4).
///
/// A controller encodes it and a host decodes it.
public protocol HCIEvent: DefinedPacket where Code == HCIEventCode {}

/// The code of an event and its name in the specification.
public typealias HCIEventDefinition = PacketDefinition<HCIEventCode>

extension HCIEventDefinition {
    /// The definition of an event.
    public init(_ code: UInt8, _ name: String) { self.init(code: HCIEventCode(code), name) }

    /// The definition of an LE Meta event.
    public init(subevent: UInt8, _ name: String) { self.init(code: HCIEventCode(subevent: subevent), name) }
}

extension HCIEvent {
    /// The event code.
    public static var code: HCIEventCode { definition.code }

    /// The event packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` when the parameters exceed 255 bytes.
    public func packet() throws(BufferFull) -> [UInt8] {
        try Self.code.packet { (writer) throws(BufferFull) in try write(to: &writer) }
    }
}

/// The code and parameters of an event packet (Core Vol 4 Part E §5.4.4).
///
/// The parameters are borrowed from the packet. Additional ones are ignored, since later versions of the specification
/// append some.
public struct HCIEventPacket: ~Escapable {
    /// The maximum size of an event packet in bytes: type, code, length and 255 bytes of parameters.
    public static var maximumByteCount: Int { 258 }

    /// The event code.
    public let code: HCIEventCode
    /// The parameters, without the subevent code of an LE Meta event.
    public let parameters: RawSpan

    /// Decodes a packet with its leading 0x04, ignoring bytes after its length.
    @inlinable
    @_lifetime(copy packet)
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        var reader = ByteReader(packet)
        let type: UInt8
        do throws(TruncatedBytes) {
            type = try reader.readUInt8()
            let code = try reader.readUInt8()
            let count = Int(try reader.readUInt8())
            var content = ByteReader(try reader.read(count))
            self.code = code == 0x3E ? HCIEventCode(subevent: try content.readUInt8()) : HCIEventCode(code)
            parameters = content.readRemaining()
        } catch {
            throw .truncated(error)
        }
        guard type == HCIPacketType.event.rawValue else {
            throw .unexpectedPacketType(HCIPacketType(rawValue: type))
        }
    }

    /// The event if it is of the given type, nil otherwise.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    public func `as`<Event: HCIEvent>(_ type: Event.Type) throws(TruncatedBytes) -> Event? {
        guard code == Event.code else { return nil }
        var reader = ByteReader(parameters)
        return try Event(reading: &reader)
    }

    /// The connection of LE Connection Complete or LE Enhanced Connection Complete, nil for another event.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    public func connectionComplete() throws(TruncatedBytes) -> LEConnectionComplete? {
        if let enhanced = try self.as(LEEnhancedConnectionComplete.self) { return enhanced.value }
        return try self.as(LEConnectionComplete.self)
    }

    /// The advertising reports in LE Advertising Report, LE Directed Advertising Report or LE Extended Advertising Report,
    /// nil for another event.
    ///
    /// - Throws: `TruncatedBytes` without their number.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    public func advertisingReports() throws(TruncatedBytes) -> AdvertisingReports? {
        guard let layout = AdvertisingReports.Layout(code) else { return nil }
        return try AdvertisingReports(layout: layout, reading: ByteReader(parameters))
    }

    /// The name of the event and its parameters, in hexadecimal if this module does not define it; keys never appear.
    ///
    /// - Throws: `TruncatedBytes` when a defined event has too few parameters.
    public func text() throws(TruncatedBytes) -> String {
        var reader = ByteReader(parameters)
        if let known = code.known { return try known.text(&reader) }
        let text: String
        if let reports = try advertisingReports() {
            text = reports.description
        } else if let complete = try commandComplete() {
            text = complete.description
        } else if let packets = try completedPackets() {
            text = packets.description
        } else if let event = try deviceEvent() {
            text = event.description
        } else {
            text = hidden(parameters, if: code.carriesSecret)
        }
        return "\(code): \(text)"
    }
}

/// An event code (Core Vol 4 Part E §7.7), with the subevent code of an LE Meta event.
public struct HCIEventCode: Hashable, Sendable {
    /// The code as sent, one byte.
    public let code: UInt8
    /// The subevent code of an LE Meta event; zero in others.
    public let subevent: UInt8

    /// The code of an event.
    @inlinable
    public init(_ code: UInt8) {
        self.code = code
        self.subevent = 0
    }

    /// The code of an LE Meta event with the given subevent code.
    @inlinable
    public init(subevent: UInt8) {
        self.code = 0x3E
        self.subevent = subevent
    }

    /// Command Complete.
    public static let commandComplete = HCIEventCode(0x0E)
    /// Number Of Completed Packets.
    public static let numberOfCompletedPackets = HCIEventCode(0x13)
    /// LE Meta, without a subevent.
    public static let leMeta = HCIEventCode(0x3E)
    /// A stack internal event, sent by the Linux kernel and not by a controller.
    public static let stackInternal = HCIEventCode(0xFD)

    /// The event packet with its leading 0x04 and the parameters that `body` writes.
    func packet(_ body: (inout ByteWriter) throws(BufferFull) -> Void) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: HCIEventPacket.maximumByteCount)
        try writer.write(HCIPacketType.event, code, 0 as UInt8)
        if code == 0x3E { try writer.write(subevent) }
        try body(&writer)
        // The capacity is that of 255 bytes of parameters.
        writer.replace(at: 2, with: UInt8(truncatingIfNeeded: writer.count - 3))
        return writer.bytes
    }
}

extension HCIEventCode: CustomStringConvertible {
    /// The name in the specification, or the value of an unnamed code.
    public var description: String {
        known?.definition.name ?? Self.namesWithoutType[self]
            ?? (code == 0x3E
                ? "LE subevent 0x\(hexadecimal(subevent, digits: 2))" : "event 0x\(hexadecimal(code, digits: 2))")
    }

    /// The names of the events that are not defined here, or borrow their parameters.
    private static let namesWithoutType: [HCIEventCode: String] = [
        HCIEventCode(0x0C): "Read Remote Version Information Complete", commandComplete: "Command Complete",
        numberOfCompletedPackets: "Number Of Completed Packets", HCIEventCode(0x30): "Encryption Key Refresh Complete",
        stackInternal: "Stack Internal", leMeta: "LE Meta", HCIEventCode(subevent: 0x02): "LE Advertising Report",
        HCIEventCode(subevent: 0x05): "LE Long Term Key Request",
        HCIEventCode(subevent: 0x0B): "LE Directed Advertising Report",
        HCIEventCode(subevent: 0x0D): "LE Extended Advertising Report",
        HCIEventCode(subevent: 0x13): "LE Scan Request Received",
        HCIEventCode(subevent: 0x14): "LE Channel Selection Algorithm",
    ]

    /// The definition of the code's event; nil for one without a type.
    var known: DescribedPacket<HCIEventCode>? { Self.known.first { $0.definition.code == self } }

    /// All events that have a type and own their parameters.
    private static let known: [DescribedPacket<HCIEventCode>] = [
        DescribedPacket(HCIDisconnectionComplete.self),
        DescribedPacket(HCIEncryptionChange.self),
        DescribedPacket(HCICommandStatus.self),
        DescribedPacket(HCIHardwareError.self),
        DescribedPacket(LEConnectionComplete.self),
        DescribedPacket(LEConnectionUpdateComplete.self),
        DescribedPacket(LERemoteFeatures.self),
        DescribedPacket(LERemoteConnectionParameterRequest.self),
        DescribedPacket(LEDataLengthChange.self),
        DescribedPacket(LEEnhancedConnectionComplete.self),
        DescribedPacket(LEPHYUpdate.self),
        DescribedPacket(LEScanTimeout.self),
        DescribedPacket(LEAdvertisingSetTerminated.self),
    ]
}

extension AdvertisingReports.Layout {
    /// The layout of the reports in an event; nil for another event.
    @inlinable @inline(__always)
    init?(_ code: HCIEventCode) {
        guard code.code == 0x3E else { return nil }
        switch code.subevent {
        case 0x02: self = .legacy
        case 0x0D: self = .extended
        case 0x0B: self = .directed
        default: return nil
        }
    }

    /// The code of the event that contains reports of this layout.
    var code: HCIEventCode {
        switch self {
        case .legacy: HCIEventCode(subevent: 0x02)
        case .directed: HCIEventCode(subevent: 0x0B)
        case .extended: HCIEventCode(subevent: 0x0D)
        }
    }
}
