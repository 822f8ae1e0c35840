import BluetoothLE
public import Foundation

/// A service, a characteristic or a descriptor.
//
// Sendable unchecked, since NSObject is not: its own property is constant.
open class CBAttribute: NSObject, @unchecked Sendable {
    private let type: CBUUID

    init(_ uuid: CBUUID) {
        type = uuid
        super.init()
    }

    /// The attribute's type.
    open var uuid: CBUUID { type }
}

/// A service of a peripheral, or of this program: ``CBMutableService``.
///
/// A service is represented by the same object as long as the peripheral is connected and does not change it.
//
// Sendable unchecked: its contents are locked, and the rest is constant.
open class CBService: CBAttribute, @unchecked Sendable {
    struct Contents {
        weak var peripheral: CBPeripheral?
        var includedServices: [CBService]?
        var characteristics: [CBCharacteristic]?
        /// All characteristics of a peripheral's service, discovered or not.
        var known: [CBCharacteristic]?
    }

    let contents: Locked<Contents>
    /// The service in the peripheral's database; nil for one of this program's.
    let remote: RemoteService?
    private let primary: Bool

    init(_ remote: RemoteService, of peripheral: CBPeripheral) {
        self.remote = remote
        primary = remote.isPrimary
        contents = Locked(Contents(peripheral: peripheral))
        super.init(CBUUID(remote.uuid))
    }

    init(local uuid: CBUUID, isPrimary: Bool) {
        remote = nil
        primary = isPrimary
        contents = Locked(Contents())
        super.init(uuid)
    }

    /// Its peripheral; nil when that has been released.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var peripheral: CBPeripheral! { contents { $0.peripheral } }

    /// Whether it is a primary service.
    open var isPrimary: Bool { primary }

    /// The included services discovered so far; nil before.
    open var includedServices: [CBService]? { contents { $0.includedServices } }

    /// The characteristics discovered so far; nil before.
    open var characteristics: [CBCharacteristic]? { contents { $0.characteristics } }

    /// A description in one line.
    open override var description: String { "<\(Swift.type(of: self)): isPrimary = \(isPrimary), UUID = \(uuid)>" }

    /// The objects for all characteristics of a peripheral's service, created on first use.
    func knownCharacteristics() -> [CBCharacteristic] {
        contents.part(\.known) { remote?.characteristics.map { CBCharacteristic($0, of: self) } ?? [] }
    }
}

/// A characteristic of a peripheral, or of this program: ``CBMutableCharacteristic``.
//
// Sendable unchecked: its contents are locked, and the rest is constant.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
    struct Contents {
        weak var service: CBService?
        var properties: CBCharacteristicProperties
        var value: Data?
        var descriptors: [CBDescriptor]?
        /// All descriptors of a peripheral's characteristic, discovered or not.
        var known: [CBDescriptor]?
        var isNotifying = false
    }

    let contents: Locked<Contents>
    /// The characteristic in the peripheral's database; nil for one of this program's.
    let remote: RemoteCharacteristic?

    init(_ remote: RemoteCharacteristic, of service: CBService) {
        self.remote = remote
        contents = Locked(
            Contents(
                service: service, properties: CBCharacteristicProperties(rawValue: UInt(remote.properties.rawValue))))
        super.init(CBUUID(remote.uuid))
    }

    init(local uuid: CBUUID, properties: CBCharacteristicProperties, value: Data?) {
        remote = nil
        contents = Locked(Contents(properties: properties, value: value))
        super.init(uuid)
    }

    /// Its service; nil when that has been released.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var service: CBService! { contents { $0.service } }

    /// The operations that its value allows.
    open var properties: CBCharacteristicProperties { contents { $0.properties } }

    /// The last value read, notified or indicated; nil before.
    open var value: Data? { contents { $0.value } }

    /// Its descriptors; nil before they were discovered.
    open var descriptors: [CBDescriptor]? { contents { $0.descriptors } }

    /// Always false.
    open var isBroadcasted: Bool { false }

    /// Whether the peripheral notifies or indicates its value to this program.
    open var isNotifying: Bool { contents { $0.isNotifying } }

    /// A description in one line.
    open override var description: String {
        let value = value.map { "{length = \($0.count)}" } ?? "(null)"
        return
            "<\(Swift.type(of: self)): UUID = \(uuid), properties = 0x\(String(properties.rawValue, radix: 16)), value = \(value), notifying = \(isNotifying)>"
    }

    /// The objects for all descriptors of a peripheral's characteristic, created on first use.
    func knownDescriptors() -> [CBDescriptor] {
        contents.part(\.known) { remote?.descriptors.map { CBDescriptor($0, of: self) } ?? [] }
    }
}

/// A descriptor of a peripheral's characteristic, or of one of this program: ``CBMutableDescriptor``.
//
// Sendable unchecked: its contents are locked; the types that Core Bluetooth defines for values are immutable.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
    struct Contents {
        weak var characteristic: CBCharacteristic?
        var value: Any?
    }

    let contents: Locked<Contents>
    /// The descriptor in the peripheral's database; nil for one of this program's.
    let remote: RemoteDescriptor?

    init(_ remote: RemoteDescriptor, of characteristic: CBCharacteristic) {
        self.remote = remote
        contents = Locked(Contents(characteristic: characteristic))
        super.init(CBUUID(remote.uuid))
    }

    init(local uuid: CBUUID, value: Any?) {
        remote = nil
        contents = Locked(Contents(value: value))
        super.init(uuid)
    }

    /// Its characteristic; nil when that has been released.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var characteristic: CBCharacteristic! { contents { $0.characteristic } }

    /// The last value read; nil before. A `String` for a user description, an `NSNumber` for extended properties and
    /// the two configurations, `Data` for all others.
    open var value: Any? { contents { $0.value } }

    /// A description in one line.
    open override var description: String {
        "<\(Swift.type(of: self)): UUID = \(uuid), value = \(value.map { "\($0)" } ?? "(null)")>"
    }

    /// Converts a descriptor's bytes to the type that Core Bluetooth defines for it.
    static func value(_ bytes: [UInt8], of uuid: BluetoothUUID) -> Any {
        switch uuid {
        case .characteristicUserDescription: String(decoding: bytes, as: UTF8.self)
        case .characteristicExtendedProperties, .clientCharacteristicConfiguration,
            .serverCharacteristicConfiguration:
            NSNumber(value: bytes.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) })
        default: Data(bytes)
        }
    }

    /// Converts a value of any of the types that Core Bluetooth defines for descriptors to bytes; nil for others.
    static func bytes(_ value: Any?, of uuid: BluetoothUUID) -> [UInt8]? {
        switch value {
        case let text as String: return Array(text.utf8)
        case let data as Data: return Array(data)
        case let number as NSNumber:
            return [UInt8(truncatingIfNeeded: number.intValue), UInt8(truncatingIfNeeded: number.intValue >> 8)]
        default: return nil
        }
    }
}
