/// A value that devices advertise in manufacturer specific data or in service data, in a format of its own.
///
/// ``AdvertisementData/beacon(_:)`` finds it. A format of your own is a type with one of the two initializers:
///
/// ```swift
/// struct Doorbell: AdvertisedValue {
///     var pressCount: UInt8
///
///     init?(_ data: ManufacturerData) {
///         guard data.company == .internalTest, data.data.count == 2, data.data[0] == 0x0D else { return nil }
///         pressCount = data.data[1]
///     }
/// }
/// ```
public protocol AdvertisedValue: Sendable {
    /// Decodes manufacturer specific data; nil when it has another format.
    init?(_ data: ManufacturerData)

    /// Decodes service data; nil when it has another format.
    init?(_ data: ServiceData)
}

extension AdvertisedValue {
    /// Nil: the format is not one of manufacturer specific data.
    public init?(_ data: ManufacturerData) { return nil }

    /// Nil: the format is not one of service data.
    public init?(_ data: ServiceData) { return nil }
}

extension AdvertisementData {
    /// The first value of a format in these payloads, or nil.
    ///
    /// ```swift
    /// if let beacon = data.beacon(IBeacon.self) { print(beacon.major, beacon.minor) }
    /// ```
    public func beacon<Value: AdvertisedValue>(_ format: Value.Type) -> Value? {
        for data in manufacturerData {
            if let value = Value(data) { return value }
        }
        for data in serviceData {
            if let value = Value(data) { return value }
        }
        return nil
    }
}
