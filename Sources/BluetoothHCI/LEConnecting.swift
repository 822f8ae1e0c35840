import BluetoothPrimitives

/// The connection parameters that a host requests (Core Vol 4 Part E §7.8.12).
public struct LEConnectionParameters: Hashable, Sendable {
    /// The minimum connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMinimum: UInt16
    /// The maximum connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMaximum: UInt16
    /// The peripheral latency in connection events, 0 to 499.
    public var latency: UInt16
    /// The supervision timeout, in units of 10 ms, 10 to 3200; it must exceed twice the maximum interval times (latency
    /// + 1).
    public var supervisionTimeout: UInt16

    /// Connection parameters in the units of HCI.
    public init(intervalMinimum: UInt16, intervalMaximum: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        intervalMinimum = try reader.readUInt16()
        intervalMaximum = try reader.readUInt16()
        latency = try reader.readUInt16()
        supervisionTimeout = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(intervalMinimum)
        try writer.write(intervalMaximum)
        try writer.write(latency)
        try writer.write(supervisionTimeout)
    }
}

extension LEConnectionParameters: CustomStringConvertible {
    /// The values with their units.
    public var description: String {
        "interval \(intervalMinimum)-\(intervalMaximum) x 1.25 ms, latency \(latency), "
            + "supervision timeout \(supervisionTimeout) x 10 ms"
    }
}

/// The expected length of connection events, a hint to the controller's scheduler.
public struct LEConnectionEventLength: Hashable, Sendable {
    /// The minimum length, in units of 0.625 ms.
    public var minimum: UInt16
    /// The maximum length, in units of 0.625 ms.
    public var maximum: UInt16

    /// A hint, none by default.
    public init(minimum: UInt16 = 0, maximum: UInt16 = 0) {
        self.minimum = minimum
        self.maximum = maximum
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        minimum = try reader.readUInt16()
        maximum = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(minimum)
        try writer.write(maximum)
    }
}

/// The parameters of LE Create Connection (Core Vol 4 Part E §7.8.12).
public struct LECreateConnectionParameters: Hashable, Sendable {
    /// The scan interval, in units of 0.625 ms, 4 to 0x4000.
    public var scanInterval: UInt16
    /// The scan window, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// Whether to connect to any device on the filter accept list; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// The peer.
    public var peer: LEPeerAddress
    /// The type of the initiator's address.
    public var ownAddressType: LEOwnAddressType
    /// The connection parameters.
    public var parameters: LEConnectionParameters
    /// The expected length of connection events.
    public var eventLength: LEConnectionEventLength

    /// Parameters of a legacy connection attempt.
    public init(
        scanInterval: UInt16, scanWindow: UInt16, usesAcceptList: Bool = false, peer: LEPeerAddress,
        ownAddressType: LEOwnAddressType = .public, parameters: LEConnectionParameters,
        eventLength: LEConnectionEventLength = LEConnectionEventLength()
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.usesAcceptList = usesAcceptList
        self.peer = peer
        self.ownAddressType = ownAddressType
        self.parameters = parameters
        self.eventLength = eventLength
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        scanInterval = try reader.readUInt16()
        scanWindow = try reader.readUInt16()
        usesAcceptList = try reader.readBool()
        peer = try LEPeerAddress(reading: &reader)
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        parameters = try LEConnectionParameters(reading: &reader)
        eventLength = try LEConnectionEventLength(reading: &reader)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(scanInterval)
        try writer.write(scanWindow)
        try writer.write(usesAcceptList)
        try peer.write(to: &writer)
        try writer.write(ownAddressType.rawValue)
        try parameters.write(to: &writer)
        try eventLength.write(to: &writer)
    }
}

/// The parameters of LE Extended Create Connection for one PHY.
public struct LEInitiatingParameters: Hashable, Sendable {
    /// The scan interval, in units of 0.625 ms.
    public var scanInterval: UInt16
    /// The scan window, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// The connection parameters.
    public var parameters: LEConnectionParameters
    /// The expected length of connection events.
    public var eventLength: LEConnectionEventLength

    /// Parameters for one PHY.
    public init(
        scanInterval: UInt16, scanWindow: UInt16, parameters: LEConnectionParameters,
        eventLength: LEConnectionEventLength = LEConnectionEventLength()
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.parameters = parameters
        self.eventLength = eventLength
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        scanInterval = try reader.readUInt16()
        scanWindow = try reader.readUInt16()
        parameters = try LEConnectionParameters(reading: &reader)
        eventLength = try LEConnectionEventLength(reading: &reader)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(scanInterval)
        try writer.write(scanWindow)
        try parameters.write(to: &writer)
        try eventLength.write(to: &writer)
    }
}

/// The parameters of LE Extended Create Connection (Core Vol 4 Part E §7.8.66).
public struct LEExtendedCreateConnectionParameters: Hashable, Sendable {
    /// Whether to connect to any device on the filter accept list; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// The type of the initiator's address.
    public var ownAddressType: LEOwnAddressType
    /// The peer.
    public var peer: LEPeerAddress
    /// The parameters for LE 1M; nil disables it.
    public var le1M: LEInitiatingParameters?
    /// The parameters for LE 2M, which has no primary advertising but connections; nil disables it.
    public var le2M: LEInitiatingParameters?
    /// The parameters for LE Coded; nil disables it.
    public var leCoded: LEInitiatingParameters?

    /// Parameters of an extended connection attempt, for at least one PHY.
    public init(
        usesAcceptList: Bool = false, ownAddressType: LEOwnAddressType = .public, peer: LEPeerAddress,
        le1M: LEInitiatingParameters?, le2M: LEInitiatingParameters? = nil, leCoded: LEInitiatingParameters? = nil
    ) {
        self.usesAcceptList = usesAcceptList
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.le1M = le1M
        self.le2M = le2M
        self.leCoded = leCoded
    }

    /// The PHYs that have parameters.
    public var phys: LEPHYSet {
        [le1M == nil ? [] : .le1M, le2M == nil ? [] : .le2M, leCoded == nil ? [] : .leCoded]
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        usesAcceptList = try reader.readBool()
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        peer = try LEPeerAddress(reading: &reader)
        let phys = LEPHYSet(rawValue: try reader.readUInt8())
        le1M = phys.contains(.le1M) ? try LEInitiatingParameters(reading: &reader) : nil
        le2M = phys.contains(.le2M) ? try LEInitiatingParameters(reading: &reader) : nil
        leCoded = phys.contains(.leCoded) ? try LEInitiatingParameters(reading: &reader) : nil
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(usesAcceptList)
        try writer.write(ownAddressType.rawValue)
        try peer.write(to: &writer)
        try writer.write(phys.rawValue)
        try le1M?.write(to: &writer)
        try le2M?.write(to: &writer)
        try leCoded?.write(to: &writer)
    }
}

/// An entry of the filter accept list (Core Vol 4 Part E §7.8.16).
public enum LEFilterAcceptListEntry: Hashable, Sendable {
    /// A device.
    case device(BluetoothAddress)
    /// All anonymous advertisers.
    case anonymousAdvertisers

    /// The address type of anonymous advertisers.
    static let anonymousType: UInt8 = 0xFF

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let type = try reader.readUInt8()
        let address = try reader.readAddress(LEPeerAddress.kind(ofType: type))
        self = type == Self.anonymousType ? .anonymousAdvertisers : .device(address)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .device(let address):
            try writer.write(address.kind.rawValue)
            try writer.write(address)
        case .anonymousAdvertisers:
            try writer.write(Self.anonymousType)
            try writer.write(BluetoothAddress.zero)
        }
    }
}

extension LEFilterAcceptListEntry: CustomStringConvertible {
    /// The device, or `anonymous advertisers`.
    public var description: String {
        switch self {
        case .device(let address): return "\(LEPeerAddress(address))"
        case .anonymousAdvertisers: return "anonymous advertisers"
        }
    }
}
