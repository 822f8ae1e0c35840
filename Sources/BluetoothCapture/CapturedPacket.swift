import BluetoothPrimitives

/// What a packet of a capture is: the numbers of the kernel's monitor channel (`HCI_CHANNEL_MONITOR`).
///
/// The set is open: kernels add kinds, and one without a name keeps its number.
public struct CapturedPacketKind: RawRepresentable, Hashable, Sendable {
    /// The number in the packet.
    public let rawValue: UInt16

    /// A kind of any number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An adapter is there: type, bus, address and name.
    public static let newIndex = CapturedPacketKind(rawValue: 0)
    /// An adapter is gone.
    public static let deletedIndex = CapturedPacketKind(rawValue: 1)
    /// An HCI command, without its packet type.
    public static let command = CapturedPacketKind(rawValue: 2)
    /// An HCI event, without its packet type.
    public static let event = CapturedPacketKind(rawValue: 3)
    /// ACL data to the controller.
    public static let aclSent = CapturedPacketKind(rawValue: 4)
    /// ACL data from the controller.
    public static let aclReceived = CapturedPacketKind(rawValue: 5)
    /// Synchronous data to the controller.
    public static let synchronousSent = CapturedPacketKind(rawValue: 6)
    /// Synchronous data from the controller.
    public static let synchronousReceived = CapturedPacketKind(rawValue: 7)
    /// An adapter's transport was opened.
    public static let openedIndex = CapturedPacketKind(rawValue: 8)
    /// An adapter's transport was closed.
    public static let closedIndex = CapturedPacketKind(rawValue: 9)
    /// An adapter's address and manufacturer, once they are known.
    public static let indexInformation = CapturedPacketKind(rawValue: 10)
    /// Something a controller tells in its maker's own way.
    public static let vendorDiagnostics = CapturedPacketKind(rawValue: 11)
    /// A line of text about the system.
    public static let systemNote = CapturedPacketKind(rawValue: 12)
    /// A line of a program's log.
    public static let userLogging = CapturedPacketKind(rawValue: 13)
    /// A program opened a management or raw socket.
    public static let controlOpened = CapturedPacketKind(rawValue: 14)
    /// A program closed a management or raw socket.
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
    /// The kind in words.
    public var description: String {
        Self.names.indices.contains(Int(rawValue)) ? Self.names[Int(rawValue)] : "kind \(rawValue)"
    }
}

/// One packet as it is captured: of which adapter, of what kind, and its bytes, which are borrowed.
public struct CapturedPacket: ~Escapable {
    /// Stands for "no adapter".
    public static var noAdapter: UInt16 { 0xFFFF }

    /// Which adapter: 0 is hci0; ``noAdapter`` is none.
    public var adapter: UInt16
    /// What the bytes are.
    public var kind: CapturedPacketKind
    /// The packet, as its kind says; HCI packets without their leading packet type.
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
    /// Takes apart what was received from the monitor channel: kind, adapter and length in two bytes each, then the
    /// packet. Bytes after the length it gives are ignored.
    @_lifetime(copy bytes)
    public init(monitorPacket bytes: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(bytes)
        kind = CapturedPacketKind(rawValue: try reader.readUInt16())
        adapter = try reader.readUInt16()
        let count = Int(try reader.readUInt16())
        payload = try reader.read(count)
    }

    /// Appends the packet as the monitor channel hands it out.
    ///
    /// - Throws: ``BufferFull`` when `writer` has no room for it or the payload has more than 65535 bytes; the writer
    ///   is then as it was.
    public func encodeMonitorPacket(into writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt16(exactly: payload.byteCount) else {
            throw BufferFull(needed: payload.byteCount, available: Int(UInt16.max))
        }
        guard writer.remaining >= 6 + Int(count) else {
            throw BufferFull(needed: 6 + Int(count), available: writer.remaining)
        }
        try writer.write(kind.rawValue)
        try writer.write(adapter)
        try writer.write(count)
        try writer.write(payload)
    }
}
