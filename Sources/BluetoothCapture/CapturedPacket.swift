import BluetoothPrimitives

/// The kind of a captured packet, with the values of the kernel's monitor channel (`HCI_CHANNEL_MONITOR`).
///
/// An open set: kernels add kinds, and an unnamed one keeps its value.
public struct CapturedPacketKind: RawRepresentable, Hashable, Sendable {
    /// The value in the packet.
    public let rawValue: UInt16

    /// The kind with the value `rawValue`.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// A new adapter: type, bus, address and name.
    public static let newIndex = CapturedPacketKind(rawValue: 0)
    /// A removed adapter.
    public static let deletedIndex = CapturedPacketKind(rawValue: 1)
    /// An HCI command, without its packet indicator.
    public static let command = CapturedPacketKind(rawValue: 2)
    /// An HCI event, without its packet indicator.
    public static let event = CapturedPacketKind(rawValue: 3)
    /// ACL data to the controller.
    public static let aclSent = CapturedPacketKind(rawValue: 4)
    /// ACL data from the controller.
    public static let aclReceived = CapturedPacketKind(rawValue: 5)
    /// Synchronous data to the controller.
    public static let synchronousSent = CapturedPacketKind(rawValue: 6)
    /// Synchronous data from the controller.
    public static let synchronousReceived = CapturedPacketKind(rawValue: 7)
    /// An opened transport of an adapter.
    public static let openedIndex = CapturedPacketKind(rawValue: 8)
    /// A closed transport of an adapter.
    public static let closedIndex = CapturedPacketKind(rawValue: 9)
    /// The address and manufacturer of an adapter, once known.
    public static let indexInformation = CapturedPacketKind(rawValue: 10)
    /// A vendor-specific diagnostic packet of a controller.
    public static let vendorDiagnostics = CapturedPacketKind(rawValue: 11)
    /// A note about the system, as text.
    public static let systemNote = CapturedPacketKind(rawValue: 12)
    /// A log message of a program, as text.
    public static let userLogging = CapturedPacketKind(rawValue: 13)
    /// A management or raw socket opened by a program.
    public static let controlOpened = CapturedPacketKind(rawValue: 14)
    /// A management or raw socket closed by a program.
    public static let controlClosed = CapturedPacketKind(rawValue: 15)
    /// A management command.
    public static let controlCommand = CapturedPacketKind(rawValue: 16)
    /// A management event.
    public static let controlEvent = CapturedPacketKind(rawValue: 17)
    /// Isochronous data to the controller.
    public static let isochronousSent = CapturedPacketKind(rawValue: 18)
    /// Isochronous data from the controller.
    public static let isochronousReceived = CapturedPacketKind(rawValue: 19)

    private static let names = [
        "new index", "deleted index", "command", "event", "ACL data sent", "ACL data received",
        "synchronous data sent", "synchronous data received", "opened index", "closed index", "index information",
        "vendor diagnostics", "system note", "user logging", "control opened", "control closed", "control command",
        "control event", "isochronous data sent", "isochronous data received",
    ]
}

extension CapturedPacketKind: CustomStringConvertible {
    /// The name of the kind.
    public var description: String { codeName(rawValue, Self.names) ?? "kind \(rawValue)" }
}

/// A captured packet: the adapter, the kind, and borrowed bytes.
public struct CapturedPacket: ~Escapable {
    /// The index of no adapter.
    public static var noAdapter: UInt16 { 0xFFFF }

    /// The index of the adapter: 0 is hci0; ``noAdapter`` is none.
    public var adapter: UInt16
    /// The kind of the packet.
    public var kind: CapturedPacketKind
    /// The packet in the format of its kind; HCI packets without their packet indicator.
    public var payload: RawSpan

    /// A packet of an adapter.
    @_lifetime(copy payload)
    public init(adapter: UInt16, kind: CapturedPacketKind, payload: RawSpan) {
        self.adapter = adapter
        self.kind = kind
        self.payload = payload
    }
}

extension CapturedPacket {
    /// Decodes a packet of the monitor channel: kind, adapter and length in two bytes each, then the payload. Bytes
    /// after its length are ignored.
    @_lifetime(copy bytes)
    public init(monitorPacket bytes: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(bytes)
        kind = CapturedPacketKind(rawValue: try reader.readUInt16())
        adapter = try reader.readUInt16()
        let count = Int(try reader.readUInt16())
        payload = try reader.read(count)
    }

    /// Appends the packet in the format of the monitor channel.
    ///
    /// - Throws: ``BufferFull`` when `writer` has no room for it or the payload exceeds 65535 bytes; the writer is then
    ///   unchanged.
    public func encodeMonitorPacket(into writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt16(exactly: payload.byteCount) else {
            throw BufferFull(needed: payload.byteCount, available: Int(UInt16.max))
        }
        try writer.ensure(6 + Int(count))
        try writer.write(kind.rawValue)
        try writer.write(adapter)
        try writer.write(count)
        try writer.write(payload)
    }
}
