import BluetoothLE
import BluetoothPrimitives

/// The values that a sensor advertises, in clear or encrypted.
///
/// ```swift
/// if let reading = advertisement.beacon(BTHome.self) { print(reading[.temperature]?.number ?? .nan) }
/// ```
public protocol SensorAdvertisement: AdvertisedValue {
    /// The values in the order received; none while they are encrypted.
    var values: [SensorValue] { get }

    /// Whether the values are encrypted.
    var isEncrypted: Bool { get }

    /// The counter that the encryption uses up, also after decryption; nil if nothing was encrypted.
    ///
    /// It grows with each advertisement. A program that acts on what it receives stores the last one, and ignores an
    /// advertisement whose counter is lower: somebody may have recorded it.
    var counter: UInt32? { get }

    /// The advertisement with its values decrypted.
    /// - Parameters:
    ///   - key: the sensor's key.
    ///   - address: the sensor's address, which the encryption uses; an address in the data counts before it.
    /// - Throws: ``SensorDecryptionError``, also for values that are not encrypted: anybody can send those.
    func decrypted(with key: BindKey, from address: BluetoothAddress?) throws(SensorDecryptionError) -> Self
}

extension SensorAdvertisement {
    /// False: the format has no encryption.
    public var isEncrypted: Bool { false }

    /// Nil: the format has no encryption.
    public var counter: UInt32? { nil }

    /// Throws ``SensorDecryptionError/notEncrypted``: the format has no encryption.
    public func decrypted(
        with key: BindKey, from address: BluetoothAddress?
    ) throws(SensorDecryptionError) -> Self {
        throw .notEncrypted
    }

    /// The first value of a quantity; nil without one. Sensors with several of a kind send all: see ``values``.
    public subscript(quantity: SensorQuantity) -> SensorValue? { values.first { $0.quantity == quantity } }
}

extension Advertisement {
    /// The values of a sensor that encrypts them, or nil if the advertisement is of another format.
    /// - Throws: ``SensorDecryptionError``, also for values that are not encrypted: anybody can send those.
    public func beacon<Value: SensorAdvertisement>(
        _ format: Value.Type, key: BindKey
    ) throws(SensorDecryptionError) -> Value? {
        guard let value = beacon(format) else { return nil }
        return try value.decrypted(with: key, from: address)
    }
}

/// The reason for which a sensor's values cannot be decrypted.
public struct SensorDecryptionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason in a few words.
    public let description: String

    /// The values are not encrypted, so nothing shows that they are the sensor's.
    public static let notEncrypted = SensorDecryptionError(description: "the values are not encrypted")
    /// The integrity check fails: the key is another sensor's, or the data was changed on its way.
    public static let wrongKey = SensorDecryptionError(description: "the key is wrong or the data damaged")
    /// Neither the advertisement nor its data has the sensor's address.
    public static let missingAddress = SensorDecryptionError(description: "the sensor's address is missing")
    /// The encryption has no integrity check, so that a wrong key would give wrong values: MiBeacon before version 4.
    public static let unsupported = SensorDecryptionError(description: "the encryption has no integrity check")
}

extension BluetoothAddress {
    /// The six bytes in the order of the digits.
    var nonceBytes: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * (5 - $0))) } }
}
