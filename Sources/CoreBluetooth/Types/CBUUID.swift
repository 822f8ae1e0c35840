import BluetoothPrimitives
public import Foundation

/// The characteristic extended properties descriptor; its value is an `NSNumber`.
public let CBUUIDCharacteristicExtendedPropertiesString: String = "2900"
/// The characteristic user description descriptor; its value is a `String`.
public let CBUUIDCharacteristicUserDescriptionString: String = "2901"
/// The client characteristic configuration descriptor; its value is an `NSNumber`.
public let CBUUIDClientCharacteristicConfigurationString: String = "2902"
/// The server characteristic configuration descriptor; its value is an `NSNumber`.
public let CBUUIDServerCharacteristicConfigurationString: String = "2903"
/// The characteristic presentation format descriptor; its value is `Data`.
public let CBUUIDCharacteristicFormatString: String = "2904"
/// The characteristic aggregate format descriptor; its value is `Data`.
public let CBUUIDCharacteristicAggregateFormatString: String = "2905"
/// The valid range descriptor; its value is `Data`.
public let CBUUIDCharacteristicValidRangeString: String = "2906"
/// The observation schedule descriptor; its value is `Data`.
public let CBUUIDCharacteristicObservationScheduleString: String = "2910"
/// The characteristic that contains a PSM as a little-endian `UInt16`.
public let CBUUIDL2CAPPSMCharacteristicString: String = "ABDD3056-28FA-441D-A470-55A75A52553A"

/// A Bluetooth UUID of 16, 32 or 128 bits.
///
/// The short forms are equal to, and hash like, the long form that they abbreviate; ``uuidString`` and ``data`` keep
/// the width that was given. Unchecked, since NSObject is not Sendable; it is immutable.
open class CBUUID: NSObject, NSCopying, @unchecked Sendable {
    private let uuid: BluetoothUUID
    private let width: BluetoothUUID.Width

    init(_ uuid: BluetoothUUID) {
        self.uuid = uuid
        width = uuid.shortestWidth
    }

    /// Creates a UUID of 128 zero bits.
    public override init() {
        uuid = BluetoothUUID(high: 0, low: 0)
        width = .bits128
    }

    /// Creates a UUID from 4, 8 or 36 characters in either case; anything else stops the program.
    public init(string theString: String) {
        guard let uuid = BluetoothUUID(theString), [4, 8, 36].contains(theString.utf8.count) else {
            preconditionFailure("\"\(theString)\" is not a UUID of 16, 32 or 128 bits.")
        }
        self.uuid = uuid
        width = theString.utf8.count == 4 ? .bits16 : theString.utf8.count == 8 ? .bits32 : .bits128
    }

    /// Creates a UUID from 2, 4 or 16 bytes, the most significant first; any other number stops the program.
    public init(data theData: Data) {
        switch theData.count {
        case 2, 4:
            uuid = BluetoothUUID(UInt32(truncatingIfNeeded: number(theData)))
            width = theData.count == 2 ? .bits16 : .bits32
        case 16:
            uuid = BluetoothUUID(high: number(theData.prefix(8)), low: number(theData.suffix(8)))
            width = .bits128
        default: preconditionFailure("\(theData.count) bytes are not a UUID of 16, 32 or 128 bits.")
        }
    }

    /// Creates a UUID of 128 bits from Foundation's.
    public init(nsuuid theUUID: UUID) {
        uuid = withUnsafeBytes(of: theUUID.uuid) {
            BluetoothUUID(high: number($0.prefix(8)), low: number($0.suffix(8)))
        }
        width = .bits128
    }

    /// The bytes, the most significant first: 2, 4 or 16.
    open var data: Data {
        switch width {
        case .bits16: Data(uuid.bytes[2..<4])
        case .bits32: Data(uuid.bytes[0..<4])
        case .bits128: Data(uuid.bytes)
        }
    }

    /// The UUID in upper case: 4, 8 or 36 characters.
    open var uuidString: String {
        switch width {
        case .bits16: String(uuid.fullDescription.dropFirst(4).prefix(4))
        case .bits32: String(uuid.fullDescription.prefix(8))
        case .bits128: uuid.fullDescription
        }
    }

    /// Whether the other object is the same UUID, in either width.
    open override func isEqual(_ object: Any?) -> Bool { (object as? CBUUID)?.uuid == uuid }

    /// The hash of the 128 bits.
    open override var hash: Int { uuid.hashValue }

    /// Same as ``uuidString``.
    open override var description: String { uuidString }

    /// Returns the object itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CBUUID {
    var bluetooth: BluetoothUUID { uuid }
}

/// The number in bytes of which the first is the most significant.
private func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
