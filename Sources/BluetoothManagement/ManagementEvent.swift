import BluetoothPackets
import BluetoothPrimitives

/// An event of the kernel's management socket: its code and name, and its parameters.
///
/// Without CAP_NET_ADMIN only Index Added and Removed, New Settings and replies to own commands arrive.
public protocol ManagementEvent: DefinedPacket where Code == ManagementEventCode {}

/// The code of an event and its name in the kernel's documentation.
public typealias ManagementEventDefinition = PacketDefinition<ManagementEventCode>

extension ManagementEventDefinition {
    /// The definition of an event.
    public init(_ code: UInt16, _ name: String) { self.init(code: ManagementEventCode(rawValue: code), name) }
}

extension ManagementEvent {
    /// The event code.
    public static var code: ManagementEventCode { definition.code }

    /// The event as a packet about the adapter hci`index`, or about none, as the kernel sends it.
    ///
    /// Throws ``BufferFull`` when the parameters take more than 65535 bytes.
    public func packet(for index: UInt16 = ManagementPacket.noController) throws(BufferFull) -> [UInt8] {
        try Self.code.packet(for: index) { (writer) throws(BufferFull) in try write(to: &writer) }
    }
}

extension ManagementPacket {
    /// The code of an event's packet.
    public var eventCode: ManagementEventCode { ManagementEventCode(rawValue: code) }

    /// The event if it is of the given type, nil otherwise. Excess parameters are ignored.
    ///
    /// Throws when the event has too few parameters.
    public func `as`<Event: ManagementEvent>(_ type: Event.Type) throws(TruncatedBytes) -> Event? {
        guard code == Event.code.rawValue else { return nil }
        var reader = ByteReader(parameters)
        return try Event(reading: &reader)
    }

    /// The event; nil for one without a type. Excess parameters are ignored.
    ///
    /// Throws when the event has too few parameters.
    package func event() throws(TruncatedBytes) -> (any ManagementEvent)? {
        var reader = ByteReader(parameters)
        return try eventCode.known?.init(reading: &reader)
    }

    /// The event's name and its parameters; for keys only their owner, and no secret number of pairing.
    ///
    /// Throws when a defined event has too few parameters.
    public func eventText() throws(TruncatedBytes) -> String {
        if let event = try event() { return event.description }
        let text: String
        if let complete = try commandComplete() {
            text = complete.description
        } else if let connected = try deviceConnected() {
            text = connected.description
        } else if let found = try deviceFound() {
            text = found.description
        } else {
            // Events without a type may contain keys of BR/EDR.
            text = "\(parameters.byteCount) bytes"
        }
        return "\(eventCode): \(text)"
    }
}

/// The code of an event.
///
/// The set is open: kernels add events, and a code without a name keeps its value.
public struct ManagementEventCode: PacketCode, Hashable, Sendable {
    /// The number in the packet.
    public let rawValue: UInt16

    /// A code of any value.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Command Complete.
    public static let commandComplete = ManagementEventCode(rawValue: 0x0001)
    /// Device Connected.
    public static let deviceConnected = ManagementEventCode(rawValue: 0x000B)
    /// Device Found.
    public static let deviceFound = ManagementEventCode(rawValue: 0x0012)

    /// The event's packet about the adapter hci`index`, or about none, with the parameters that `body` writes.
    func packet(
        for index: UInt16, _ body: (inout ByteWriter) throws(BufferFull) -> Void
    ) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(growingTo: ManagementPacket.headerByteCount + Int(UInt16.max))
        try writer.writePacket(code: rawValue, index: index, parameters: body)
        return writer.bytes
    }
}

extension ManagementEventCode {
    /// Whether the event contains a key, a passkey or a number that a user compares, which must not be printed or recorded.
    public var carriesSecret: Bool {
        switch self {
        case ManagementNewLongTermKey.code, ManagementNewIdentityResolvingKey.code,
            ManagementNewSignatureResolvingKey.code, ManagementUserConfirmationRequest.code,
            ManagementPasskeyNotify.code:
            return true
        // New Link Key, Local Out Of Band Extended Data Updated.
        case Self(rawValue: 0x0009), Self(rawValue: 0x0022): return true
        default: return false
        }
    }
}

extension ManagementEventCode: CustomStringConvertible {
    /// The event's name in the kernel's documentation, or the code where it has none here.
    public var description: String {
        known?.definition.name ?? Self.namesWithoutType[rawValue] ?? "event 0x\(hexadecimal(rawValue, digits: 4))"
    }

    /// The names of the events that have no type, or borrow their parameters.
    private static let namesWithoutType: [UInt16: String] = [
        0x0001: "Command Complete", 0x0007: "Class Of Device Changed", 0x0008: "Local Name Changed",
        0x0009: "New Link Key", 0x000B: "Device Connected", 0x000E: "PIN Code Request", 0x0012: "Device Found",
        0x0014: "Device Blocked", 0x0015: "Device Unblocked", 0x001D: "Unconfigured Index Added",
        0x001E: "Unconfigured Index Removed", 0x001F: "New Configuration Options", 0x0020: "Extended Index Added",
        0x0021: "Extended Index Removed", 0x0022: "Local Out Of Band Extended Data Updated",
        0x0025: "Extended Controller Information Changed", 0x0026: "PHY Configuration Changed",
        0x0027: "Experimental Feature Changed", 0x0028: "Default System Configuration Changed",
        0x0029: "Default Runtime Configuration Changed", 0x002A: "Device Flags Changed",
        0x002B: "Advertisement Monitor Added", 0x002C: "Advertisement Monitor Removed", 0x002D: "Controller Suspend",
        0x002E: "Controller Resume", 0x002F: "Advertisement Monitor Device Found",
        0x0030: "Advertisement Monitor Device Lost", 0x0031: "Mesh Device Found",
        0x0032: "Mesh Packet Transmit Complete",
    ]

    /// The type of the code's event; nil for one without a type.
    var known: (any ManagementEvent.Type)? { Self.known.first { $0.code == self } }

    /// All events that have a type and own their parameters.
    private static let known: [any ManagementEvent.Type] = [
        ManagementCommandStatus.self,
        ManagementControllerError.self,
        ManagementIndexAdded.self,
        ManagementIndexRemoved.self,
        ManagementNewSettings.self,
        ManagementNewLongTermKey.self,
        ManagementDeviceDisconnected.self,
        ManagementConnectFailed.self,
        ManagementUserConfirmationRequest.self,
        ManagementUserPasskeyRequest.self,
        ManagementAuthenticationFailed.self,
        ManagementDiscovering.self,
        ManagementDeviceUnpaired.self,
        ManagementPasskeyNotify.self,
        ManagementNewIdentityResolvingKey.self,
        ManagementNewSignatureResolvingKey.self,
        ManagementDeviceAdded.self,
        ManagementDeviceRemoved.self,
        ManagementNewConnectionParameters.self,
        ManagementAdvertisingAdded.self,
        ManagementAdvertisingRemoved.self,
    ]
}
