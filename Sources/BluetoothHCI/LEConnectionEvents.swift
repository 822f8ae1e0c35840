import BluetoothPrimitives

/// Which side of a connection this device is.
public struct LERole: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A role of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The side that connected.
    public static let central = LERole(rawValue: 0x00)
    /// The side that advertised.
    public static let peripheral = LERole(rawValue: 0x01)

    /// The role in words.
    public var description: String {
        switch self {
        case .central: return "central"
        case .peripheral: return "peripheral"
        default: return "role 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The parameters a connection runs with.
public struct LEActiveConnectionParameters: Hashable, Sendable, CustomStringConvertible {
    /// From one connection event to the next, in units of 1.25 ms.
    public var interval: UInt16
    /// How many events in a row the peripheral may sleep through.
    public var latency: UInt16
    /// After how long without a packet the connection is lost, in units of 10 ms.
    public var supervisionTimeout: UInt16

    /// Parameters in the units of the packets.
    public init(interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        interval = try reader.readUInt16()
        latency = try reader.readUInt16()
        supervisionTimeout = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(interval)
        try writer.write(latency)
        try writer.write(supervisionTimeout)
    }

    /// The values with their units.
    public var description: String {
        "interval \(interval) x 1.25 ms, latency \(latency), supervision timeout \(supervisionTimeout) x 10 ms"
    }
}

/// LE Connection Complete and LE Enhanced Connection Complete (Core Vol 4 Part E §7.7.65.1, §7.7.65.10).
public struct LEConnectionComplete: Hashable, Sendable, CustomStringConvertible {
    /// Whether there is a connection, or why not; without one only the status counts.
    public var status: HCIStatus
    /// The new connection.
    public var handle: ConnectionHandle
    /// Which side this device is.
    public var role: LERole
    /// Who the other side is.
    public var peer: LEPeerAddress
    /// The private address this device used, where the controller made one; enhanced event only.
    public var localResolvablePrivateAddress: BluetoothAddress?
    /// The private address the peer used, where the controller resolved it; enhanced event only.
    public var peerResolvablePrivateAddress: BluetoothAddress?
    /// What the connection begins with.
    public var parameters: LEActiveConnectionParameters
    /// The central's clock accuracy as coded in the specification, 0 (500 ppm) to 7 (20 ppm); for a peripheral.
    public var centralClockAccuracy: UInt8

    /// A connection that was made or, with a status other than success, was not.
    public init(
        status: HCIStatus = .success, handle: ConnectionHandle, role: LERole, peer: LEPeerAddress,
        localResolvablePrivateAddress: BluetoothAddress? = nil, peerResolvablePrivateAddress: BluetoothAddress? = nil,
        parameters: LEActiveConnectionParameters, centralClockAccuracy: UInt8 = 0
    ) {
        self.status = status
        self.handle = handle
        self.role = role
        self.peer = peer
        self.localResolvablePrivateAddress = localResolvablePrivateAddress
        self.peerResolvablePrivateAddress = peerResolvablePrivateAddress
        self.parameters = parameters
        self.centralClockAccuracy = centralClockAccuracy
    }

    init(reading reader: inout ByteReader, isEnhanced: Bool) throws(TruncatedBytes) {
        status = try reader.readStatus()
        handle = try reader.readConnectionHandle()
        role = LERole(rawValue: try reader.readUInt8())
        peer = try LEPeerAddress(reading: &reader)
        if isEnhanced {
            let local = try reader.readAddress(.random)
            let peer = try reader.readAddress(.random)
            localResolvablePrivateAddress = local.isZero ? nil : local
            peerResolvablePrivateAddress = peer.isZero ? nil : peer
        }
        parameters = try LEActiveConnectionParameters(reading: &reader)
        centralClockAccuracy = try reader.readUInt8()
    }

    func write(to writer: inout ByteWriter, isEnhanced: Bool) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try writer.write(role.rawValue)
        try peer.write(to: &writer)
        if isEnhanced {
            try writer.write(localResolvablePrivateAddress ?? .zero)
            try writer.write(peerResolvablePrivateAddress ?? .zero)
        }
        try parameters.write(to: &writer)
        try writer.write(centralClockAccuracy)
    }

    /// The connection with its peer, or why there is none.
    public var description: String {
        status.isSuccess ? "handle \(handle), \(role), peer \(peer), \(parameters)" : "\(status)"
    }
}

/// LE Connection Update Complete (Core Vol 4 Part E §7.7.65.3).
public struct LEConnectionUpdateComplete: Hashable, Sendable, CustomStringConvertible {
    /// Whether the parameters are new.
    public var status: HCIStatus
    /// Which connection.
    public var handle: ConnectionHandle
    /// What the connection runs with.
    public var parameters: LEActiveConnectionParameters

    /// New parameters of a connection.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, parameters: LEActiveConnectionParameters) {
        self.status = status
        self.handle = handle
        self.parameters = parameters
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        handle = try reader.readConnectionHandle()
        parameters = try LEActiveConnectionParameters(reading: &reader)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try parameters.write(to: &writer)
    }

    /// The connection and its parameters.
    public var description: String { "handle \(handle), \(status), \(parameters)" }
}

/// LE Read Remote Features Complete (Core Vol 4 Part E §7.7.65.4).
public struct LERemoteFeatures: Hashable, Sendable, CustomStringConvertible {
    /// Whether the peer told.
    public var status: HCIStatus
    /// Which connection.
    public var handle: ConnectionHandle
    /// What the peer's link layer can do.
    public var features: LEFeatures

    /// A peer's features.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, features: LEFeatures) {
        self.status = status
        self.handle = handle
        self.features = features
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        handle = try reader.readConnectionHandle()
        features = LEFeatures(rawValue: try reader.readUInt64())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try writer.write(features.rawValue)
    }

    /// The connection and the peer's features.
    public var description: String { "handle \(handle), \(status), \(features)" }
}

/// LE Data Length Change (Core Vol 4 Part E §7.7.65.7).
public struct LEDataLengthChange: Hashable, Sendable, CustomStringConvertible {
    /// Which connection.
    public var handle: ConnectionHandle
    /// The most bytes in a packet sent, 27 to 251.
    public var transmitOctets: UInt16
    /// The most time for a packet sent, in microseconds.
    public var transmitTime: UInt16
    /// The most bytes in a packet received, 27 to 251.
    public var receiveOctets: UInt16
    /// The most time for a packet received, in microseconds.
    public var receiveTime: UInt16

    /// New limits of a connection's packets.
    public init(
        handle: ConnectionHandle, transmitOctets: UInt16, transmitTime: UInt16, receiveOctets: UInt16,
        receiveTime: UInt16
    ) {
        self.handle = handle
        self.transmitOctets = transmitOctets
        self.transmitTime = transmitTime
        self.receiveOctets = receiveOctets
        self.receiveTime = receiveTime
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        handle = try reader.readConnectionHandle()
        transmitOctets = try reader.readUInt16()
        transmitTime = try reader.readUInt16()
        receiveOctets = try reader.readUInt16()
        receiveTime = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(handle)
        try writer.write(transmitOctets)
        try writer.write(transmitTime)
        try writer.write(receiveOctets)
        try writer.write(receiveTime)
    }

    /// The connection and the limits both ways.
    public var description: String {
        "handle \(handle), transmit \(transmitOctets) bytes \(transmitTime) µs, "
            + "receive \(receiveOctets) bytes \(receiveTime) µs"
    }
}

/// The PHYs of a connection: LE PHY Update Complete, and the answer to LE Read PHY (Core Vol 4 Part E §7.7.65.12,
/// §7.8.47).
public struct LEPHYUpdate: Hashable, Sendable, CustomStringConvertible {
    /// Whether the PHYs are as asked for.
    public var status: HCIStatus
    /// Which connection.
    public var handle: ConnectionHandle
    /// The PHY packets are sent on.
    public var transmit: LEPHY
    /// The PHY packets are received on.
    public var receive: LEPHY

    /// The PHYs of a connection.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, transmit: LEPHY, receive: LEPHY) {
        self.status = status
        self.handle = handle
        self.transmit = transmit
        self.receive = receive
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let status = try reader.readStatus()
        try self.init(reading: &reader, status: status)
    }

    init(reading reader: inout ByteReader, status: HCIStatus) throws(TruncatedBytes) {
        self.status = status
        handle = try reader.readConnectionHandle()
        transmit = LEPHY(rawValue: try reader.readUInt8())
        receive = LEPHY(rawValue: try reader.readUInt8())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try writer.write(transmit.rawValue)
        try writer.write(receive.rawValue)
    }

    /// The connection and its PHYs.
    public var description: String { "handle \(handle), \(status), transmit \(transmit), receive \(receive)" }
}

/// LE Advertising Set Terminated (Core Vol 4 Part E §7.7.65.18).
public struct LEAdvertisingSetTerminated: Hashable, Sendable, CustomStringConvertible {
    /// Success when a connection came of it; advertising timeout or limit reached when the set was done.
    public var status: HCIStatus
    /// Which advertising set.
    public var advertisingHandle: UInt8
    /// The connection that came of it; meaningless without success.
    public var connectionHandle: ConnectionHandle
    /// How many advertisements were sent, where the set had a limit.
    public var completedEvents: UInt8

    /// An advertising set that stopped.
    public init(
        status: HCIStatus, advertisingHandle: UInt8, connectionHandle: ConnectionHandle = 0, completedEvents: UInt8 = 0
    ) {
        self.status = status
        self.advertisingHandle = advertisingHandle
        self.connectionHandle = connectionHandle
        self.completedEvents = completedEvents
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        advertisingHandle = try reader.readUInt8()
        connectionHandle = try reader.readConnectionHandle()
        completedEvents = try reader.readUInt8()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(advertisingHandle)
        try writer.write(connectionHandle)
        try writer.write(completedEvents)
    }

    /// The set and what stopped it.
    public var description: String {
        status.isSuccess
            ? "set \(advertisingHandle), connected as \(connectionHandle)" : "set \(advertisingHandle), \(status)"
    }
}
