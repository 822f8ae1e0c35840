import BluetoothAdvertising
import BluetoothHCI

/// The data and parameters that a simulated peripheral advertises.
public struct SimulatedAdvertisement: Hashable, Sendable {
    /// The AD structures, at most 31 bytes in legacy PDUs; sent unchanged, malformed ones too.
    public var data: [UInt8]
    /// The scan response data.
    public var scanResponse: [UInt8]
    /// Whether a central may connect.
    public var isConnectable: Bool
    /// Whether scanners may request ``scanResponse``.
    public var isScannable: Bool
    /// Whether legacy PDUs are sent, which every scanner receives; extended ones only extended scanners do.
    public var isLegacy: Bool
    /// The advertising interval; a random delay of up to 10 ms is added to each.
    public var interval: Duration
    /// The number of times each advertisement is sent, for scanners that receive duplicates.
    public var repetitions: Int
    /// The target of directed advertising.
    public var target: BluetoothAddress?
    /// Whether the PDU omits the address; extended PDUs only.
    public var isAnonymous: Bool
    /// The advertising SID; extended PDUs only.
    public var setIdentifier: UInt8
    /// The primary PHY: LE 1M or LE Coded; extended PDUs only.
    public var primaryPHY: LEPHY
    /// The secondary PHY; extended PDUs only.
    public var secondaryPHY: LEPHY
    /// The transmit power in the header, in dBm; extended PDUs only.
    public var transmitPower: Int8?
    /// The periodic advertising interval in the header, in units of 1.25 ms; extended PDUs only.
    public var periodicInterval: UInt16?
    /// The number of bytes of ``data`` that scanners receive before they lose the rest of the chain; extended PDUs
    /// only.
    public var receivedByteLimit: Int?
    /// The advertiser's address, if it differs from the peripheral's, such as for a second advertisement.
    public var address: BluetoothAddress?

    /// Creates an advertisement; the defaults are those of most peripherals.
    public init(
        data: [UInt8] = [], scanResponse: [UInt8] = [], isConnectable: Bool = true, isScannable: Bool = true,
        isLegacy: Bool = true, interval: Duration = .milliseconds(100), repetitions: Int = 1,
        target: BluetoothAddress? = nil, isAnonymous: Bool = false, setIdentifier: UInt8 = 0, primaryPHY: LEPHY = .le1M,
        secondaryPHY: LEPHY = .le1M, transmitPower: Int8? = nil, periodicInterval: UInt16? = nil,
        receivedByteLimit: Int? = nil, address: BluetoothAddress? = nil
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
        self.receivedByteLimit = receivedByteLimit
        self.address = address
    }

    /// A non-connectable, non-scannable advertisement.
    public static func beacon(_ data: [UInt8], interval: Duration = .milliseconds(100)) -> SimulatedAdvertisement {
        SimulatedAdvertisement(data: data, isConnectable: false, isScannable: false, interval: interval)
    }
}

extension SimulatedAdvertisement {
    /// Creates an advertisement from fields.
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

    /// Data that violates the format of AD structures in every possible way, each with its fault, for testing scanners
    /// (Core Vol 3 Part C §11).
    public static let malformed: [(fault: String, data: [UInt8])] = [
        ("no data", []),
        ("zero lengths only", [0, 0, 0, 0]),
        ("a length beyond the end", [2, 0x01, 6, 9, 0x09, 0x41]),
        ("a length and no type", [2, 0x01, 6, 1]),
        ("a type without data", [1, 0x09, 2, 0x01, 6]),
        ("data after the end", [2, 0x01, 6, 0, 3, 0x09, 0x41, 0x42]),
        ("half a service identifier", [2, 0x03, 0x0D, 4, 0x03, 0x0D, 0x18, 0x0F]),
        ("a name that is not text", [5, 0x09, 0xFF, 0xFE, 0xC3, 0x28]),
        ("manufacturer data without a company", [2, 0xFF, 0x4C]),
        ("service data without a service", [2, 0x16, 0x0D]),
        ("a transmit power of two bytes", [3, 0x0A, 4, 4]),
        ("the longest length", [0xFF, 0x09] + [UInt8](repeating: 0x41, count: 29)),
    ]
}
