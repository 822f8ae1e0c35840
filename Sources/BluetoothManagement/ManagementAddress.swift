import BluetoothPackets
import BluetoothPrimitives

/// A device's address in the management interface, which includes BR/EDR devices.
public struct ManagementAddress: PacketField, Hashable, Sendable {
    /// The address; a BR/EDR device's is public.
    public var address: BluetoothAddress
    /// Whether the address is an LE device's.
    public var isLowEnergy: Bool

    /// An LE device's address.
    public init(_ address: BluetoothAddress) {
        self.address = address
        isLowEnergy = true
    }

    /// A BR/EDR device's address.
    public static func brEDR(_ address: BluetoothAddress) -> ManagementAddress {
        var result = ManagementAddress(BluetoothAddress(address.value, kind: .public))
        result.isLowEnergy = false
        return result
    }

    /// All devices, in commands that allow that.
    public static let any = brEDR(.zero)

    private static let randomType: UInt8 = 2

    /// The byte in the packet: 0 BR/EDR, 1 LE public, 2 LE random.
    private var type: UInt8 {
        guard isLowEnergy else { return 0 }
        return address.kind == .random ? Self.randomType : 1
    }

    /// Reads the address and its type.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let bits = try reader.readAddress(.public)
        let type = try reader.readUInt8()
        address = BluetoothAddress(bits.value, kind: type == Self.randomType ? .random : .public)
        isLowEnergy = type != 0
    }

    /// Writes the address and its type.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(address, type) }
}

extension ManagementAddress: CustomStringConvertible {
    /// The address and its kind.
    public var description: String { "\(address.digits) (\(isLowEnergy ? "LE \(address.kind)" : "BR/EDR"))" }
}

/// A device and one value about it, the parameters of several commands and events.
public struct ManagementDeviceDetail<Detail: ManagementReply> {
    /// The device.
    public var address: ManagementAddress
    /// The value.
    public var detail: Detail
}

extension ManagementDeviceDetail: ManagementReply {
    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(address: reader.read(), detail: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(address, detail) }

    /// The device and the value.
    public var description: String { "\(address), \(detail)" }
}

extension SingleValuePacket {
    /// The packet with a device and a value about it.
    package init<Detail>(_ address: ManagementAddress, _ detail: Detail) where Value == ManagementDeviceDetail<Detail> {
        self.init(ManagementDeviceDetail(address: address, detail: detail))
    }
}

/// The address types of a discovery.
public struct ManagementAddressTypes: PacketCode, OptionSet, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// BR/EDR devices.
    public static let brEDR = ManagementAddressTypes(rawValue: 1 << 0)
    /// LE devices with a public address.
    public static let lowEnergyPublic = ManagementAddressTypes(rawValue: 1 << 1)
    /// LE devices with a random address.
    public static let lowEnergyRandom = ManagementAddressTypes(rawValue: 1 << 2)
    /// All LE devices; the kernel accepts the two LE bits only together.
    public static let lowEnergy: ManagementAddressTypes = [.lowEnergyPublic, .lowEnergyRandom]
}

extension ManagementAddressTypes: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String { listed(rawValue, names: [0: "BR/EDR", 1: "LE public", 2: "LE random"]) }
}
