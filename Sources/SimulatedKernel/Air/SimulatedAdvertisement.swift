import BluetoothPrimitives
import HCI

/// What a simulated peripheral advertises.
public struct SimulatedAdvertisement: Hashable, Sendable {
    /// The AD structures, at most 31 bytes in legacy PDUs; sent as they are, malformed ones too.
    public var data: [UInt8]
    /// The answer to an active scanner.
    public var scanResponse: [UInt8]
    /// Whether a central may connect.
    public var isConnectable: Bool
    /// Whether scanners may ask for ``scanResponse``.
    public var isScannable: Bool
    /// Legacy PDUs, which every scanner hears; others only extended scanners do.
    public var isLegacy: Bool
    /// From one advertisement to the next; up to 10 ms of chance is added to each.
    public var interval: Duration
    /// How many times each advertisement is sent, for scanners that hear the same thing twice.
    public var repetitions: Int
    /// For whom a directed advertisement is.
    public var target: BluetoothAddress?
    /// Without an address on the air; extended PDUs only.
    public var isAnonymous: Bool
    /// The advertising set's number; extended PDUs only.
    public var setIdentifier: UInt8
    /// The PHY that scanners have to listen on: LE 1M or LE Coded; extended PDUs only.
    public var primaryPHY: LEPHY
    /// The PHY of the secondary channel; extended PDUs only.
    public var secondaryPHY: LEPHY
    /// The transmit power in dBm that the header tells; extended PDUs only.
    public var transmitPower: Int8?
    /// The interval of the periodic advertising that the header tells of, in units of 1.25 ms; extended PDUs only.
    public var periodicInterval: UInt16?
    /// How many bytes of ``data`` scanners get before they lose the rest of the chain; extended PDUs only.
    public var heardByteCount: Int?
    /// The address, where it is not the peripheral's own, such as for a second advertisement.
    public var address: BluetoothAddress?

    /// An advertisement; the defaults are those of most peripherals.
    public init(
        data: [UInt8] = [], scanResponse: [UInt8] = [], isConnectable: Bool = true, isScannable: Bool = true,
        isLegacy: Bool = true, interval: Duration = .milliseconds(100), repetitions: Int = 1,
        target: BluetoothAddress? = nil, isAnonymous: Bool = false, setIdentifier: UInt8 = 0, primaryPHY: LEPHY = .le1M,
        secondaryPHY: LEPHY = .le1M, transmitPower: Int8? = nil, periodicInterval: UInt16? = nil,
        heardByteCount: Int? = nil, address: BluetoothAddress? = nil
    ) {
        self.data = data
        self.scanResponse = scanResponse
        self.isConnectable = isConnectable
        self.isScannable = isScannable
        self.isLegacy = isLegacy
        self.interval = interval
        self.repetitions = repetitions
        self.target = target
        self.isAnonymous = isAnonymous
        self.setIdentifier = setIdentifier
        self.primaryPHY = primaryPHY
        self.secondaryPHY = secondaryPHY
        self.transmitPower = transmitPower
        self.periodicInterval = periodicInterval
        self.heardByteCount = heardByteCount
        self.address = address
    }

    /// One that nobody can connect to nor ask for more.
    public static func beacon(_ data: [UInt8], interval: Duration = .milliseconds(100)) -> SimulatedAdvertisement {
        SimulatedAdvertisement(data: data, isConnectable: false, isScannable: false, interval: interval)
    }
}
