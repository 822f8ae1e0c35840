import BluetoothPrimitives

/// An HCI event (Core Vol 4 Part E §5.4.4).
///
/// Lists and unknown events are borrowed from the packet. Additional parameters are ignored, since later versions of
/// the specification append some.
public enum HCIEvent: ~Escapable {
    /// Disconnection Complete (§7.7.5).
    case disconnectionComplete(HCIDisconnectionComplete)
    /// Encryption Change (§7.7.8).
    case encryptionChange(HCIEncryptionChange)
    /// Command Complete (§7.7.14).
    case commandComplete(HCICommandComplete)
    /// Command Status (§7.7.15).
    case commandStatus(HCICommandStatus)
    /// Hardware Error, with a vendor-specific code (§7.7.16).
    case hardwareError(UInt8)
    /// Number Of Completed Packets (§7.7.19).
    case numberOfCompletedPackets(HCICompletedPackets)
    /// LE Meta (§7.7.65).
    case leMeta(HCILEMetaEvent)
    /// A change of an adapter, sent by the Linux kernel and not by a controller.
    case deviceEvent(HCIDeviceEvent)
    /// Another event.
    case unknown(HCIEventCode, parameters: RawSpan)

    /// The maximum size of an event packet in bytes: type, code, length and 255 bytes of parameters.
    public static var maximumByteCount: Int { 258 }

    /// Decodes a packet with its leading 0x04, ignoring bytes after its length.
    @inlinable
    @_lifetime(copy packet)
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        var reader = ByteReader(packet)
        let type: UInt8
        let code: UInt8
        let parameters: RawSpan
        do throws(TruncatedBytes) {
            type = try reader.readUInt8()
            code = try reader.readUInt8()
            let count = Int(try reader.readUInt8())
            parameters = try reader.read(count)
        } catch {
            throw .truncated(error)
        }
        guard type == HCIPacketType.event.rawValue else {
            throw .unexpectedPacketType(HCIPacketType(rawValue: type))
        }
        do throws(TruncatedBytes) {
            if code == HCIEventCode.leMeta.rawValue {
                self = .leMeta(try HCILEMetaEvent(decoding: parameters))
            } else {
                self = try HCIEvent(code: HCIEventCode(rawValue: code), parameters: parameters)
            }
        } catch {
            throw .truncated(error)
        }
    }

    /// Decodes the events other than LE Meta.
    @usableFromInline
    @_lifetime(copy parameters)
    init(code: HCIEventCode, parameters: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(parameters)
        switch code {
        case .disconnectionComplete: self = .disconnectionComplete(try HCIDisconnectionComplete(reading: &reader))
        case .encryptionChange: self = .encryptionChange(try HCIEncryptionChange(reading: &reader))
        case .commandComplete:
            let allowed = try reader.readUInt8()
            let opcode = HCIOpcode(rawValue: try reader.readUInt16())
            self = .commandComplete(
                HCICommandComplete(
                    opcode: opcode, allowedCommandPackets: allowed, returnParameters: reader.readRemaining()))
        case .commandStatus: self = .commandStatus(try HCICommandStatus(reading: &reader))
        case .hardwareError: self = .hardwareError(try reader.readUInt8())
        case .numberOfCompletedPackets: self = .numberOfCompletedPackets(try HCICompletedPackets(reading: reader))
        case .stackInternal:
            // The kernel has one type of internal event.
            if let event = try HCIDeviceEvent(reading: &reader) {
                self = .deviceEvent(event)
            } else {
                self = .unknown(code, parameters: parameters)
            }
        default: self = .unknown(code, parameters: parameters)
        }
    }

    /// The event code.
    public var code: HCIEventCode {
        switch self {
        case .disconnectionComplete: return .disconnectionComplete
        case .encryptionChange: return .encryptionChange
        case .commandComplete: return .commandComplete
        case .commandStatus: return .commandStatus
        case .hardwareError: return .hardwareError
        case .numberOfCompletedPackets: return .numberOfCompletedPackets
        case .leMeta: return .leMeta
        case .deviceEvent: return .stackInternal
        case .unknown(let code, _): return code
        }
    }

    /// The name of the event and its parameters.
    public var description: String {
        switch self {
        case .disconnectionComplete(let event): return "\(code): \(event)"
        case .encryptionChange(let event): return "\(code): \(event)"
        case .commandComplete(let event): return "\(code): \(event.description)"
        case .commandStatus(let event): return "\(code): \(event)"
        case .hardwareError(let value): return "\(code): 0x\(hexadecimal(value, digits: 2))"
        case .numberOfCompletedPackets(let packets): return "\(code): \(packets.description)"
        case .leMeta(let event): return event.description
        case .deviceEvent(let event): return "\(code): \(event)"
        case .unknown(_, let parameters):
            return "\(code): \(code.carriesSecret ? "\(parameters.byteCount) bytes" : [UInt8](parameters).hexadecimal)"
        }
    }

    /// The event packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` when the parameters exceed 255 bytes.
    public func packet() throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.maximumByteCount)
        try encode(into: &writer)
        return writer.bytes
    }

    /// Appends the event packet with its leading 0x04, as a controller sends it.
    ///
    /// - Throws: `BufferFull` when `writer` or the event has no room for it; `writer` is then unchanged.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.writePacket { (writer) throws(BufferFull) in
            try writer.write(HCIPacketType.event.rawValue)
            try writer.write(code.rawValue)
        } parameters: { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }

    private func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .disconnectionComplete(let event): try event.write(to: &writer)
        case .encryptionChange(let event): try event.write(to: &writer)
        case .commandComplete(let event):
            try writer.write(event.allowedCommandPackets)
            try writer.write(event.opcode.rawValue)
            try writer.write(event.returnParameters)
        case .commandStatus(let event): try event.write(to: &writer)
        case .hardwareError(let value): try writer.write(value)
        case .numberOfCompletedPackets(let packets): try packets.write(to: &writer)
        case .leMeta(let event): try event.encodeParameters(into: &writer)
        case .deviceEvent(let event): try event.write(to: &writer)
        case .unknown(_, let parameters): try writer.write(parameters)
        }
    }
}
