import BluetoothPackets
import BluetoothPrimitives

// The events about commands, data and the controller itself.

/// Command Complete (Core Vol 4 Part E §7.7.14).
public struct HCICommandComplete: ~Escapable {
    /// The completed command.
    public var opcode: HCIOpcode
    /// The number of commands that the controller accepts now.
    public var allowedCommandPackets: UInt8
    /// The return parameters, which nearly always begin with the status. ``answer(to:)`` decodes them.
    public var returnParameters: RawSpan

    /// The completion of a command with encoded return parameters.
    @_lifetime(copy returnParameters)
    public init(opcode: HCIOpcode, allowedCommandPackets: UInt8 = 1, returnParameters: RawSpan) {
        self.opcode = opcode
        self.allowedCommandPackets = allowedCommandPackets
        self.returnParameters = returnParameters
    }

    /// The first byte of the return parameters; nil when there are none.
    public var status: HCIStatus? {
        var reader = ByteReader(returnParameters)
        return try? reader.read()
    }

    /// The return parameters after the status.
    public var answerParameters: RawSpan {
        @_lifetime(copy self) get { returnParameters.extracting(droppingFirst: min(1, returnParameters.byteCount)) }
    }

    /// The return parameters of a successful command.
    ///
    /// - Throws: `TruncatedBytes` when they are too short for the command.
    public func answer<Command: HCICommand>(to command: Command.Type) throws(TruncatedBytes) -> Command.Return {
        var reader = ByteReader(answerParameters)
        return try reader.read()
    }

    /// The event packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` when the return parameters do not fit into an event.
    public func packet() throws(BufferFull) -> [UInt8] {
        try HCIEventCode.commandComplete.packet { (writer) throws(BufferFull) in
            try writer.write(allowedCommandPackets, opcode)
            try writer.write(returnParameters)
        }
    }

    /// The command, its status and its return parameters.
    public var description: String {
        "\(opcode), \(status?.description ?? "no answer"), \(hidden(returnParameters, if: opcode.returnsSecret))"
    }
}

extension HCIEventPacket {
    /// The event if it is Command Complete, nil otherwise.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    @_lifetime(copy self)
    public func commandComplete() throws(TruncatedBytes) -> HCICommandComplete? {
        guard code == .commandComplete else { return nil }
        var reader = ByteReader(parameters)
        let allowed = try reader.readUInt8()
        return HCICommandComplete(
            opcode: try reader.read(), allowedCommandPackets: allowed, returnParameters: reader.readRemaining())
    }

    /// The event if it is Number Of Completed Packets, nil otherwise.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    @_lifetime(copy self)
    public func completedPackets() throws(TruncatedBytes) -> HCICompletedPackets? {
        guard code == .numberOfCompletedPackets else { return nil }
        return try HCICompletedPackets(reading: ByteReader(parameters))
    }

    /// The event if it is a change of an adapter, nil otherwise.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    public func deviceEvent() throws(TruncatedBytes) -> HCIDeviceEvent? {
        guard code == .stackInternal else { return nil }
        var reader = ByteReader(parameters)
        return try HCIDeviceEvent(reading: &reader)
    }
}

/// Command Status (Core Vol 4 Part E §7.7.15).
public struct HCICommandStatus: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(0x0F, "Command Status")
    /// Success for a pending command, or the reason for its refusal.
    public var status: HCIStatus
    /// The number of commands that the controller accepts now.
    public var allowedCommandPackets: UInt8
    /// The command.
    public var opcode: HCIOpcode

    /// The status of a command.
    public init(status: HCIStatus, allowedCommandPackets: UInt8 = 1, opcode: HCIOpcode) {
        self.status = status
        self.allowedCommandPackets = allowedCommandPackets
        self.opcode = opcode
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), allowedCommandPackets: reader.read(), opcode: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status, allowedCommandPackets, opcode)
    }

    /// The command and its status.
    public var parameterDescription: String { "\(opcode), \(status)" }
}

/// Hardware Error (Core Vol 4 Part E §7.7.16).
public struct HCIHardwareError: HCIEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = HCIEventDefinition(0x10, "Hardware Error")
    /// The vendor-specific code.
    public var value: UInt8

    /// An error with the code `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The code in hexadecimal.
    public var parameterDescription: String { "0x\(hexadecimal(value, digits: 2))" }
}

/// The connections of a Number Of Completed Packets event, decoded during iteration (Core Vol 4 Part E §7.7.19).
public struct HCICompletedPackets: ~Escapable {
    /// The number of remaining connections.
    public private(set) var remainingCount: Int
    private var reader: ByteReader

    @_lifetime(copy reader)
    init(reading reader: consuming ByteReader) throws(TruncatedBytes) {
        let count = Int(try reader.readUInt8())
        guard reader.remaining >= 4 * count else {
            throw TruncatedBytes(offset: reader.offset, needed: 4 * count, available: reader.remaining)
        }
        remainingCount = count
        self.reader = reader
    }

    /// The next connection and the number of its completed packets, or nil after the last.
    @_lifetime(self: copy self)
    public mutating func next() -> (handle: ConnectionHandle, count: UInt16)? {
        // The initializer has verified the number of bytes.
        guard remainingCount > 0, let handle: ConnectionHandle = try? reader.read(),
            let count = try? reader.readUInt16()
        else { return nil }
        remainingCount -= 1
        return (handle, count)
    }

    /// The connections and the numbers of their packets.
    public var description: String {
        var walk = self
        var parts: [String] = []
        while let (handle, count) = walk.next() { parts.append("handle \(handle) \(count)") }
        return parts.joined(separator: ", ")
    }

    /// The event packet with its leading 0x04 for the packets in `completed`.
    ///
    /// - Throws: `BufferFull` for more than 63 connections, the maximum of one event.
    public static func packet(
        _ completed: [(handle: ConnectionHandle, count: UInt16)]
    ) throws(BufferFull) -> [UInt8] {
        try HCIEventCode.numberOfCompletedPackets.packet { (writer) throws(BufferFull) in
            try writer.write(UInt8(truncatingIfNeeded: completed.count))
            for (handle, count) in completed { try writer.write(handle, count) }
        }
    }
}

/// A change of an adapter, sent by the Linux kernel on raw sockets that are bound to no adapter.
public struct HCIDeviceEvent: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a change.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The value as sent.
        public let rawValue: UInt16

        /// The kind with the value `rawValue`.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The adapter was registered; the kernel may not have initialized it yet.
        public static let registered = Kind(rawValue: 1)
        /// The adapter was unregistered.
        public static let unregistered = Kind(rawValue: 2)
        /// The adapter was powered on.
        public static let up = Kind(rawValue: 3)
        /// The adapter was powered off.
        public static let down = Kind(rawValue: 4)

        /// The name of the kind.
        public var description: String {
            codeName(rawValue, ["registered", "unregistered", "up", "down"], from: 1)
                ?? "device event \(rawValue)"
        }
    }

    /// The kind of the change.
    public var kind: Kind
    /// The index of the adapter: 0 is hci0.
    public var deviceIndex: UInt16

    /// The type of stack internal events about adapters.
    private static let type: UInt16 = 0x0001

    /// A change of the adapter hci`deviceIndex`.
    public init(_ kind: Kind, deviceIndex: UInt16) {
        self.kind = kind
        self.deviceIndex = deviceIndex
    }

    /// Nil for another type of stack internal event.
    init?(reading reader: inout ByteReader) throws(TruncatedBytes) {
        guard try reader.readUInt16() == Self.type else { return nil }
        kind = Kind(rawValue: try reader.readUInt16())
        deviceIndex = try reader.read()
    }

    /// The adapter and its change.
    public var description: String { "hci\(deviceIndex) \(kind)" }
}
