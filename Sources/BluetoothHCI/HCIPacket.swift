import BluetoothPrimitives

/// The byte in front of every packet on a transport that carries several kinds (Core Vol 4 Part A §2).
///
/// The kernel's raw and user channel sockets put it in front of each packet as well.
public struct HCIPacketType: RawRepresentable, Hashable, Sendable {
    /// The byte.
    public let rawValue: UInt8

    /// A type of any value.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A command, host to controller.
    public static let command = HCIPacketType(rawValue: 0x01)
    /// Data of an asynchronous connection, both ways.
    public static let acl = HCIPacketType(rawValue: 0x02)
    /// Data of a synchronous connection, both ways.
    public static let synchronous = HCIPacketType(rawValue: 0x03)
    /// An event, controller to host.
    public static let event = HCIPacketType(rawValue: 0x04)
    /// Isochronous data, both ways.
    public static let isochronous = HCIPacketType(rawValue: 0x05)
}

extension HCIPacketType: CustomStringConvertible {
    /// The kind of packet in words.
    public var description: String {
        switch self {
        case .command: return "command"
        case .acl: return "ACL data"
        case .synchronous: return "synchronous data"
        case .event: return "event"
        case .isochronous: return "isochronous data"
        default: return "packet type 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// Why bytes are not the packet they were taken for.
public enum HCIDecodingError: Error, Equatable, Sendable {
    /// The first byte names another kind of packet.
    case unexpectedPacketType(HCIPacketType)
    /// The packet, or a value in it, is longer than the bytes that came.
    case truncated(TruncatedBytes)
    /// An advertising report of a kind that does not exist.
    case reservedEventType
}

extension HCIDecodingError: CustomStringConvertible {
    /// What was found instead.
    public var description: String {
        switch self {
        case .unexpectedPacketType(let type): return "unexpected packet: \(type)"
        case .truncated(let error): return "truncated HCI packet: \(error)"
        case .reservedEventType: return "advertising report with a reserved event type"
        }
    }
}

/// The controller's number for a connection, 0x0000 to 0x0EFF (Core Vol 4 Part E §5.3.1).
///
/// Valid until Disconnection Complete. The socket option L2CAP_CONNINFO tells the one of a connection that the kernel
/// owns.
public struct ConnectionHandle: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number, in 12 bits.
    public let rawValue: UInt16

    /// A handle from the low 12 bits of `rawValue`; in a packet the other four are flags or reserved.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue & 0x0FFF
    }

    /// A handle written out in source code.
    @inlinable
    public init(integerLiteral value: UInt16) {
        self.init(rawValue: value)
    }
}

extension ConnectionHandle: CustomStringConvertible {
    /// The number in hexadecimal.
    public var description: String { "0x\(hexadecimal(rawValue, digits: 4))" }
}

/// A device's address together with how the controller knows it: the address types 0x00 to 0x03 of LE commands and
/// events.
public struct LEPeerAddress: Hashable, Sendable {
    /// The address.
    public var address: BluetoothAddress
    /// Whether the address is an identity on the controller's resolving list (types 0x02 and 0x03), which may differ
    /// from the private address that is on the air.
    public var isResolvedIdentity: Bool

    /// A peer's address, by default the one on the air.
    @inlinable
    public init(_ address: BluetoothAddress, isResolvedIdentity: Bool = false) {
        self.address = address
        self.isResolvedIdentity = isResolvedIdentity
    }

    /// The address type byte of HCI.
    @inlinable var type: UInt8 { address.kind.rawValue | (isResolvedIdentity ? 0x02 : 0x00) }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let type = try reader.readUInt8()
        self.init(try reader.readAddress(LEPeerAddress.kind(ofType: type)), isResolvedIdentity: type & 0x02 != 0)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(type)
        try writer.write(address)
    }

    /// The address space that an address type byte means; the low bit decides it in all types that have an address.
    @inlinable
    static func kind(ofType type: UInt8) -> BluetoothAddress.Kind {
        type & 0x01 == 0 ? .public : .random
    }
}

extension LEPeerAddress: CustomStringConvertible {
    /// The address, its kind, and whether it is an identity.
    public var description: String { "\(address) (\(address.kind)\(isResolvedIdentity ? " identity" : ""))" }
}

/// Which of its addresses a controller uses for scanning, advertising or connecting.
public struct LEOwnAddressType: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A type of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The public address.
    public static let `public` = LEOwnAddressType(rawValue: 0x00)
    /// The random address set before.
    public static let random = LEOwnAddressType(rawValue: 0x01)
    /// A private address made by the controller, or else the public one.
    public static let resolvablePrivateOrPublic = LEOwnAddressType(rawValue: 0x02)
    /// A private address made by the controller, or else the random one set before.
    public static let resolvablePrivateOrRandom = LEOwnAddressType(rawValue: 0x03)
}

extension LEOwnAddressType: CustomStringConvertible {
    /// The type in words.
    public var description: String {
        switch self {
        case .public: return "public"
        case .random: return "random"
        case .resolvablePrivateOrPublic: return "resolvable private or public"
        case .resolvablePrivateOrRandom: return "resolvable private or random"
        default: return "own address type 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

extension ByteReader {
    /// A byte that says yes or no; anything but zero is yes.
    @_lifetime(self: copy self)
    mutating func readBool() throws(TruncatedBytes) -> Bool {
        try readUInt8() != 0
    }

    @_lifetime(self: copy self)
    mutating func readConnectionHandle() throws(TruncatedBytes) -> ConnectionHandle {
        ConnectionHandle(rawValue: try readUInt16())
    }

    @_lifetime(self: copy self)
    mutating func readStatus() throws(TruncatedBytes) -> HCIStatus {
        HCIStatus(rawValue: try readUInt8())
    }
}

extension ByteWriter {
    /// Writes a packet whole, or nothing of it: what it begins with, how long its parameters are, and these.
    mutating func writePacket(
        header: (inout ByteWriter) throws(BufferFull) -> Void,
        parameters: (inout ByteWriter) throws(BufferFull) -> Void
    ) throws(BufferFull) {
        try writeWhole { (writer) throws(BufferFull) in
            try header(&writer)
            let start = writer.count
            try writer.write(0 as UInt8)
            try parameters(&writer)
            let count = writer.count - start - 1
            guard let length = UInt8(exactly: count) else { throw BufferFull(needed: count, available: 255) }
            writer.replace(at: start, with: length)
        }
    }

    mutating func write(_ value: Bool) throws(BufferFull) {
        try write(value ? 1 : 0 as UInt8)
    }

    mutating func write(_ handle: ConnectionHandle) throws(BufferFull) {
        try write(handle.rawValue)
    }

    mutating func write(_ status: HCIStatus) throws(BufferFull) {
        try write(status.rawValue)
    }
}
