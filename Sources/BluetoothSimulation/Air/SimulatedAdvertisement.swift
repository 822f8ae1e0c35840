import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothHCI

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

extension SimulatedAdvertisement {
    /// An advertisement made of fields.
    ///
    /// Throws when they do not fit into a legacy advertisement.
    public init(
        fields: [ADField], scanResponse: [ADField] = [], isConnectable: Bool = true,
        isScannable: Bool = true,
        interval: Duration = .milliseconds(100)
    ) throws(AdvertisementDataError) {
        self.init(
            data: try Self.data(of: fields), scanResponse: try Self.data(of: scanResponse),
            isConnectable: isConnectable, isScannable: isScannable, interval: interval)
    }

    private static func data(of fields: [ADField]) throws(AdvertisementDataError) -> [UInt8] {
        var builder = AdvertisementDataBuilder()
        for field in fields { try builder.add(field) }
        return builder.bytes
    }

    /// Data that breaks the rules of AD structures in every way there is, for scanners that must not mind: each with
    /// what is wrong (Core Vol 3 Part C §11).
    public static let malformed: [(fault: String, data: [UInt8])] = [
        ("nothing at all", []),
        ("zero lengths only", [0, 0, 0, 0]),
        ("a length beyond the end", [2, 0x01, 6, 9, 0x09, 0x41]),
        ("a length and no type", [2, 0x01, 6, 1]),
        ("a type without data", [1, 0x09, 2, 0x01, 6]),
        ("something after the end", [2, 0x01, 6, 0, 3, 0x09, 0x41, 0x42]),
        ("half a service identifier", [2, 0x03, 0x0D, 4, 0x03, 0x0D, 0x18, 0x0F]),
        ("a name that is not text", [5, 0x09, 0xFF, 0xFE, 0xC3, 0x28]),
        ("manufacturer data without a company", [2, 0xFF, 0x4C]),
        ("service data without a service", [2, 0x16, 0x0D]),
        ("a transmit power of two bytes", [3, 0x0A, 4, 4]),
        ("the longest length", [0xFF, 0x09] + [UInt8](repeating: 0x41, count: 29)),
    ]
}
