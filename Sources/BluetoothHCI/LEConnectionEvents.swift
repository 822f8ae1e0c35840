import BluetoothPrimitives

/// The role of this device in a connection.
public struct LEConnectionRole: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The role as sent, one byte.
    public let rawValue: UInt8

    /// The role with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The central, which initiated the connection.
    public static let central = LEConnectionRole(rawValue: 0x00)
    /// The peripheral, which advertised.
    public static let peripheral = LEConnectionRole(rawValue: 0x01)

    /// The name of the role.
    public var description: String {
        switch self {
        case .central: return "central"
        case .peripheral: return "peripheral"
        default: return "role 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The current parameters of a connection.
public struct LEActiveConnectionParameters: Hashable, Sendable, CustomStringConvertible {
    /// The connection interval, in units of 1.25 ms.
    public var interval: UInt16
    /// The peripheral latency in connection events.
    public var latency: UInt16
    /// The supervision timeout, in units of 10 ms.
    public var supervisionTimeout: UInt16

    /// Connection parameters in the units of HCI.
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
    /// The status; unless it is success, all other fields are meaningless.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The role of this device.
    public var role: LEConnectionRole
    /// The peer.
    public var peer: LEPeerAddress
    /// The local resolvable private address that the controller generated; enhanced event only.
    public var localResolvablePrivateAddress: BluetoothAddress?
    /// The peer's resolvable private address that the controller resolved; enhanced event only.
    public var peerResolvablePrivateAddress: BluetoothAddress?
    /// The initial connection parameters.
    public var parameters: LEActiveConnectionParameters
    /// The central's clock accuracy, 0 (500 ppm) to 7 (20 ppm); only for a peripheral.
    public var centralClockAccuracy: UInt8

    /// A new connection, or a failed attempt with another status than success.
    public init(
        status: HCIStatus = .success, handle: ConnectionHandle, role: LEConnectionRole, peer: LEPeerAddress,
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
        role = LEConnectionRole(rawValue: try reader.readUInt8())
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

    /// The connection and its peer, or the status of a failure.
    public var description: String {
        status.isSuccess ? "handle \(handle), \(role), peer \(peer), \(parameters)" : "\(status)"
    }
}

/// LE Connection Update Complete (Core Vol 4 Part E §7.7.65.3).
public struct LEConnectionUpdateComplete: Hashable, Sendable, CustomStringConvertible {
    /// The status; unless it is success, the parameters are unchanged.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The current connection parameters.
    public var parameters: LEActiveConnectionParameters

    /// An update of connection parameters.
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
    /// The status of the exchange.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The peer's LE features.
    public var features: LEFeatures

    /// The features of a peer.
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
    /// The connection.
    public var handle: ConnectionHandle
    /// The maximum payload of a transmitted packet in bytes, 27 to 251.
    public var transmitOctets: UInt16
    /// The maximum duration of a transmitted packet in microseconds.
    public var transmitTime: UInt16
    /// The maximum payload of a received packet in bytes, 27 to 251.
    public var receiveOctets: UInt16
    /// The maximum duration of a received packet in microseconds.
    public var receiveTime: UInt16

    /// A change of a connection's data length.
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

    /// The connection and its maxima in both directions.
    public var description: String {
        "handle \(handle), transmit \(transmitOctets) bytes \(transmitTime) µs, "
            + "receive \(receiveOctets) bytes \(receiveTime) µs"
    }
}

/// The PHYs of a connection: LE PHY Update Complete, and the return parameters of LE Read PHY
/// (Core Vol 4 Part E §7.7.65.12, §7.8.47).
public struct LEPHYUpdate: Hashable, Sendable, CustomStringConvertible {
    /// The status; unless it is success, the PHYs are unchanged.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The PHY for transmission.
    public var transmit: LEPHY
    /// The PHY for reception.
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
    /// Success if the set ended with a connection; advertising timeout or limit reached if it expired.
    public var status: HCIStatus
    /// The advertising handle.
    public var advertisingHandle: UInt8
    /// The connection; meaningless unless the status is success.
    public var connectionHandle: ConnectionHandle
    /// The number of completed advertising events, if the set has a limit.
    public var completedEvents: UInt8

    /// The end of an advertising set.
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

    /// The set and the reason for its end.
    public var description: String {
        status.isSuccess
            ? "set \(advertisingHandle), connected as \(connectionHandle)" : "set \(advertisingHandle), \(status)"
    }
}
