import BluetoothPrimitives

/// How often and how patiently two devices meet, as a host asks for it (Core Vol 4 Part E §7.8.12).
public struct LEConnectionParameters: Hashable, Sendable {
    /// The shortest connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMinimum: UInt16
    /// The longest connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMaximum: UInt16
    /// How many events in a row the peripheral may sleep through, 0 to 499.
    public var latency: UInt16
    /// After how long without a packet the connection is lost, in units of 10 ms, 10 to 3200; it must be longer than
    /// two intervals with latency.
    public var supervisionTimeout: UInt16

    /// Parameters in the units of the packets.
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

/// How long the two devices may talk in one connection event: a hint to the controller's scheduler.
public struct LEConnectionEventLength: Hashable, Sendable {
    /// At least, in units of 0.625 ms.
    public var minimum: UInt16
    /// At most, in units of 0.625 ms.
    public var maximum: UInt16

    /// A hint, by default none.
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

/// LE Create Connection (Core Vol 4 Part E §7.8.12).
public struct LECreateConnectionParameters: Hashable, Sendable {
    /// From one scan window to the next, in units of 0.625 ms, 4 to 0x4000.
    public var scanInterval: UInt16
    /// How long of it the radio listens, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// Whether to connect to whichever device of the filter accept list is heard first; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// With whom to connect.
    public var peer: LEPeerAddress
    /// The address to connect with.
    public var ownAddressType: LEOwnAddressType
    /// What to begin with.
    public var parameters: LEConnectionParameters
    /// A hint to the scheduler.
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

/// What LE Extended Create Connection does on one PHY.
public struct LEInitiatingParameters: Hashable, Sendable {
    /// From one scan window to the next, in units of 0.625 ms.
    public var scanInterval: UInt16
    /// How long of it the radio listens, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// What to begin with.
    public var parameters: LEConnectionParameters
    /// A hint to the scheduler.
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

/// LE Extended Create Connection (Core Vol 4 Part E §7.8.66).
public struct LEExtendedCreateConnectionParameters: Hashable, Sendable {
    /// Whether to connect to whichever device of the filter accept list is heard first; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// The address to connect with.
    public var ownAddressType: LEOwnAddressType
    /// With whom to connect.
    public var peer: LEPeerAddress
    /// What to do on LE 1M; nil does not listen there.
    public var le1M: LEInitiatingParameters?
    /// What to begin with on LE 2M, where advertisements cannot be but connections can; nil does without.
    public var le2M: LEInitiatingParameters?
    /// What to do on LE Coded; nil does not listen there.
    public var leCoded: LEInitiatingParameters?

    /// Parameters of an extended connection attempt; at least one PHY has to be given.
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

    /// The PHYs that parameters are given for.
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

/// A line of the filter accept list (Core Vol 4 Part E §7.8.16).
public enum LEFilterAcceptListEntry: Hashable, Sendable {
    /// One device.
    case device(BluetoothAddress)
    /// Every advertiser that does not say who it is.
    case anonymousAdvertisers

    /// The address type byte that means an advertiser without an address.
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
    /// The device, or that there is no saying which.
    public var description: String {
        switch self {
        case .device(let address): return "\(LEPeerAddress(address))"
        case .anonymousAdvertisers: return "anonymous advertisers"
        }
    }
}
