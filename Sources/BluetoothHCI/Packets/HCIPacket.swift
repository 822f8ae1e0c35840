import BluetoothPackets
import BluetoothPrimitives

/// The packet indicator, the byte before each packet of a UART transport (Core Vol 4 Part A §2).
///
/// The kernel's raw and user channel sockets use it too.
public struct HCIPacketType: PacketCode, Hashable, Sendable {
    /// The indicator, one byte.
    public let rawValue: UInt8

    /// The type with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A command, from host to controller.
    public static let command = HCIPacketType(rawValue: 0x01)
    /// ACL data, in both directions.
    public static let acl = HCIPacketType(rawValue: 0x02)
    /// Synchronous data, in both directions.
    public static let synchronous = HCIPacketType(rawValue: 0x03)
    /// An event, from controller to host.
    public static let event = HCIPacketType(rawValue: 0x04)
    /// Isochronous data, in both directions.
    public static let isochronous = HCIPacketType(rawValue: 0x05)
}

extension HCIPacketType: CustomStringConvertible {
    /// The name of the packet type.
    public var description: String {
        codeName(rawValue, ["command", "ACL data", "synchronous data", "event", "isochronous data"], from: 1)
            ?? "packet type 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The reason for which bytes cannot be decoded.
public enum HCIDecodingError: Error, Equatable, Sendable {
    /// The packet is of another type.
    case unexpectedPacketType(HCIPacketType)
    /// The packet, or a field in it, exceeds the input.
    case truncated(TruncatedBytes)
    /// The event type of an advertising report is reserved.
    case reservedEventType
}

extension HCIDecodingError: CustomStringConvertible {
    /// The defect in one line.
    public var description: String {
        switch self {
        case .unexpectedPacketType(let type): return "unexpected packet: \(type)"
        case .truncated(let error): return "truncated HCI packet: \(error)"
        case .reservedEventType: return "advertising report with a reserved event type"
        }
    }
}

/// A connection handle, 0x0000 to 0x0EFF (Core Vol 4 Part E §5.3.1).
///
/// Valid until Disconnection Complete. The socket option L2CAP_CONNINFO returns that of a kernel's connection.
public struct ConnectionHandle: PacketCode, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The handle, 12 bits.
    public let rawValue: UInt16

    /// The handle in the low 12 bits of `rawValue`; the other four of a packet are flags or reserved.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue & 0x0FFF
    }

    /// A handle from a literal.
    @inlinable
    public init(integerLiteral value: UInt16) {
        self.init(rawValue: value)
    }
}

extension ConnectionHandle: CustomStringConvertible {
    /// The handle in hexadecimal.
    public var description: String { "0x\(hexadecimal(rawValue, digits: 4))" }
}

/// A peer's address with its HCI address type, 0x00 to 0x03 in LE commands and events.
public struct LEPeerAddress: PacketField, Hashable, Sendable {
    /// The address.
    public var address: BluetoothAddress
    /// Whether the address is an identity in the controller's resolving list (types 0x02 and 0x03), which can differ
    /// from the private address in the packets.
    public var isResolvedIdentity: Bool

    /// A peer's address, by default the one in its packets.
    @inlinable
    public init(_ address: BluetoothAddress, isResolvedIdentity: Bool = false) {
        self.address = address
        self.isResolvedIdentity = isResolvedIdentity
    }

    /// The Address_Type of HCI, one byte.
    @inlinable var type: UInt8 { address.kind.rawValue | (isResolvedIdentity ? 0x02 : 0x00) }

    /// Reads the type and the address.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let type = try reader.readUInt8()
        self.init(try reader.readAddress(LEPeerAddress.kind(ofType: type)), isResolvedIdentity: type & 0x02 != 0)
    }

    /// Writes the type and the address.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(type, address) }

    /// The kind of address for an Address_Type; the low bit determines it in all types that have an address.
    @inlinable
    static func kind(ofType type: UInt8) -> BluetoothAddress.Kind {
        type & 0x01 == 0 ? .public : .random
    }
}

extension LEPeerAddress: CustomStringConvertible {
    /// The address, its kind, and the mark of an identity.
    public var description: String { "\(address.digits) (\(address.kind)\(isResolvedIdentity ? " identity" : ""))" }
}

/// The type of a controller's own address for scanning, advertising or connecting.
public struct LEOwnAddressType: PacketCode, Hashable, Sendable {
    /// The type as sent, one byte.
    public let rawValue: UInt8

    /// The type with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The public address.
    public static let `public` = LEOwnAddressType(rawValue: 0x00)
    /// The random address from LE Set Random Address.
    public static let random = LEOwnAddressType(rawValue: 0x01)
    /// A resolvable private address that the controller generates, otherwise the public address.
    public static let resolvablePrivateOrPublic = LEOwnAddressType(rawValue: 0x02)
    /// A resolvable private address that the controller generates, otherwise the random address.
    public static let resolvablePrivateOrRandom = LEOwnAddressType(rawValue: 0x03)
}

extension LEOwnAddressType: CustomStringConvertible {
    /// The name of the type.
    public var description: String {
        codeName(rawValue, ["public", "random", "resolvable private or public", "resolvable private or random"])
            ?? "own address type 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

extension HCIPacketType {
    /// A packet with its leading type in one line: the name and parameters of a command or event, the connection and
    /// length of data. A malformed packet appears with its size and defect; keys never appear.
    public static func description(of packet: RawSpan) -> String {
        var reader = ByteReader(packet)
        guard let byte = try? reader.readUInt8() else { return "empty packet" }
        let type = HCIPacketType(rawValue: byte)
        do throws(HCIDecodingError) {
            switch type {
            case .event, .command: return try text(of: packet, isEvent: type == .event)
            case .acl:
                guard let handle = try? reader.readUInt16(), let count = try? reader.readUInt16() else { break }
                return "ACL data: handle \(ConnectionHandle(rawValue: handle)), \(count) bytes"
            default: return "\(type): \(reader.remaining) bytes"
            }
        } catch {
            return "malformed \(type) of \(packet.byteCount) bytes (\(error))"
        }
        return "malformed \(type) of \(packet.byteCount) bytes"
    }

    /// The name and parameters of an event or a command, a packet with its leading type; keys never appear.
    ///
    /// - Throws: ``HCIDecodingError`` when the packet is malformed, or has too few parameters for its code.
    public static func text(of packet: RawSpan, isEvent: Bool) throws(HCIDecodingError) -> String {
        if isEvent {
            let event = try HCIEventPacket(decoding: packet)
            do throws(TruncatedBytes) { return try event.text() } catch { throw .truncated(error) }
        }
        let command = try HCICommandPacket(decoding: packet)
        do throws(TruncatedBytes) { return try command.text() } catch { throw .truncated(error) }
    }
}
