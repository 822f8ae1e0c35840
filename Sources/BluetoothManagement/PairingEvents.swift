import BluetoothPackets
import BluetoothPrimitives

// The events of pairing, and of the keys that it makes.

/// An event about a key that pairing has made.
public protocol ManagementKeyEvent: ManagementEvent {
    /// The type of the key.
    associatedtype Key: PacketField & CustomStringConvertible
    /// The key.
    var key: Key { get }
    /// Whether it must be stored; otherwise it is valid for this connection only.
    var isStored: Bool { get }
    /// The event about a key.
    init(_ key: Key, isStored: Bool)
}

extension ManagementKeyEvent {
    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let isStored: Bool = try reader.read()
        self.init(try reader.read(), isStored: isStored)
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(isStored, key) }

    /// The owner of the key.
    public var parameterDescription: String { "\(key)\(notStored(isStored))" }
}

private func notStored(_ isStored: Bool) -> String { isStored ? "" : ", not to be stored" }

/// New Long Term Key: pairing made a long term key.
public struct ManagementNewLongTermKey: ManagementKeyEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x000A, "New Long Term Key")
    /// The key.
    public var key: LongTermKey
    /// Whether it must be stored; otherwise it is valid for this connection only.
    public var isStored: Bool

    /// The event about a key.
    public init(_ key: LongTermKey, isStored: Bool) {
        self.key = key
        self.isStored = isStored
    }
}

/// New Signature Resolving Key: pairing exchanged a signature resolving key.
public struct ManagementNewSignatureResolvingKey: ManagementKeyEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0019, "New Signature Resolving Key")
    /// The key.
    public var key: SignatureResolvingKey
    /// Whether it must be stored; otherwise it is valid for this connection only.
    public var isStored: Bool

    /// The event about a key.
    public init(_ key: SignatureResolvingKey, isStored: Bool) {
        self.key = key
        self.isStored = isStored
    }
}

/// New Identity Resolving Key: a device distributed its identity resolving key.
public struct ManagementNewIdentityResolvingKey: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0018, "New Identity Resolving Key")
    /// The key; from now on the device is known by the identity in it.
    public var key: IdentityResolvingKey
    /// The private address that the device was known by, if any.
    public var randomAddress: BluetoothAddress?
    /// Whether it must be stored; otherwise it is valid for this connection only.
    public var isStored: Bool

    /// The event about a key.
    public init(_ key: IdentityResolvingKey, randomAddress: BluetoothAddress?, isStored: Bool) {
        self.key = key
        self.randomAddress = randomAddress
        self.isStored = isStored
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        isStored = try reader.read()
        let address = try reader.readAddress(.random)
        randomAddress = address.isZero ? nil : address
        key = try reader.read()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(isStored, randomAddress ?? .zero, key)
    }

    /// The owner of the key.
    public var parameterDescription: String {
        "\(key)\(randomAddress.map { ", known as \($0.digits)" } ?? "")\(notStored(isStored))"
    }
}

/// New Connection Parameter: a peripheral requested connection parameters and got them.
public struct ManagementNewConnectionParameters: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x001C, "New Connection Parameter")
    /// The parameters.
    public var parameters: DeviceConnectionParameters
    /// Whether they must be stored.
    public var isStored: Bool

    /// The event about a device's parameters.
    public init(_ parameters: DeviceConnectionParameters, isStored: Bool) {
        self.parameters = parameters
        self.isStored = isStored
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let address: ManagementAddress = try reader.read()
        isStored = try reader.read()
        parameters = DeviceConnectionParameters(address: address.address, try reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ManagementAddress(parameters.address), isStored, parameters.values)
    }

    /// The device and its parameters.
    public var parameterDescription: String { "\(parameters)\(notStored(isStored))" }
}

/// User Confirmation Request: pairing needs a confirmation.
public struct ManagementUserConfirmationRequest: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x000F, "User Confirmation Request")
    /// The device.
    public var address: ManagementAddress
    /// Whether there is no number to compare, and the question is whether to pair at all; it is asked for Just Works too.
    public var isSimple: Bool
    /// The number to compare.
    public var value: UInt32

    /// The event with its parameters.
    public init(_ address: ManagementAddress, isSimple: Bool, value: UInt32) {
        self.address = address
        self.isSimple = isSimple
        self.value = value
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), isSimple: reader.read(), value: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(address, isSimple, value) }

    /// The parameters in words.
    public var parameterDescription: String { "\(address), \(isSimple ? "yes or no" : "compare numbers")" }
}

/// User Passkey Request: pairing needs the passkey that the other device shows.
public struct ManagementUserPasskeyRequest: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0010, "User Passkey Request")
    /// The device.
    public var value: ManagementAddress

    /// The event with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// Passkey Notify: pairing shows a passkey here that is entered at the device.
public struct ManagementPasskeyNotify: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0017, "Passkey Notify")
    /// The device.
    public var address: ManagementAddress
    /// The passkey.
    public var passkey: UInt32
    /// The number of digits that were entered so far.
    public var enteredCount: UInt8

    /// The event with its parameters.
    public init(_ address: ManagementAddress, passkey: UInt32, enteredCount: UInt8) {
        self.address = address
        self.passkey = passkey
        self.enteredCount = enteredCount
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), passkey: reader.read(), enteredCount: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(address, passkey, enteredCount)
    }

    /// The parameters in words.
    public var parameterDescription: String { "\(address), \(enteredCount) digits entered" }
}

/// Authentication Failed: pairing failed, or a connection could not be encrypted.
public struct ManagementAuthenticationFailed: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0011, "Authentication Failed")
    /// The device and the reason.
    public var value: ManagementDeviceDetail<ManagementStatus>

    /// The event with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<ManagementStatus>) { self.value = value }

    /// The device.
    public var address: ManagementAddress { value.address }
}

/// Device Unpaired: another program made the kernel forget a device's keys.
public struct ManagementDeviceUnpaired: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0016, "Device Unpaired")
    /// The device.
    public var value: ManagementAddress

    /// The event with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}
