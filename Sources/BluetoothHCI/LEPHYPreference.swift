import BluetoothPrimitives

/// The PHY preferences in LE Set PHY (Core Vol 4 Part E §7.8.49).
public struct LEPHYPreference: Hashable, Sendable {
    /// The preferred PHYs for transmission; nil for no preference.
    public var transmit: LEPHYSet?
    /// The preferred PHYs for reception; nil for no preference.
    public var receive: LEPHYSet?
    /// The preferred coding of LE Coded: 0 none, 1 S=2 (500 kbit/s), 2 S=8 (125 kbit/s).
    public var codedOptions: UInt16

    /// Preferences for both directions.
    public init(transmit: LEPHYSet?, receive: LEPHYSet?, codedOptions: UInt16 = 0) {
        self.transmit = transmit
        self.receive = receive
        self.codedOptions = codedOptions
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let without = try reader.readUInt8()
        let transmit = LEPHYSet(rawValue: try reader.readUInt8())
        let receive = LEPHYSet(rawValue: try reader.readUInt8())
        self.init(
            transmit: without & 0x01 == 0 ? transmit : nil, receive: without & 0x02 == 0 ? receive : nil,
            codedOptions: try reader.readUInt16())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write((transmit == nil ? 0x01 : 0) | (receive == nil ? 0x02 : 0) as UInt8)
        try writer.write(transmit?.rawValue ?? 0)
        try writer.write(receive?.rawValue ?? 0)
        try writer.write(codedOptions)
    }
}
