import BluetoothLE
public import Foundation

/// A service, a characteristic or a descriptor.
open class CBAttribute: NSObject {
    private let type: CBUUID

    init(_ uuid: CBUUID) {
        type = uuid
        super.init()
    }

    /// What it is.
    open var uuid: CBUUID { type }
}

/// A service of a peripheral, or of this program: ``CBMutableService``.
///
/// The same service is the same object for as long as the peripheral is connected and does not change it.
open class CBService: CBAttribute {
    struct Contents {
        weak var peripheral: CBPeripheral?
        var includedServices: [CBService]?
        var characteristics: [CBCharacteristic]?
        /// All characteristics of a peripheral's service, discovered or not.
        var known: [CBCharacteristic]?
    }

    let contents: Locked<Contents>
    /// The service as the peripheral has it; nil for one of this program's.
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

    /// Whose it is; nil when the peripheral has gone.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var peripheral: CBPeripheral! { contents { $0.peripheral } }

    /// Whether it is a primary service.
    open var isPrimary: Bool { primary }

    /// The services it includes, as far as they were discovered; nil before.
    open var includedServices: [CBService]? { contents { $0.includedServices } }

    /// Its characteristics, as far as they were discovered; nil before.
    open var characteristics: [CBCharacteristic]? { contents { $0.characteristics } }

    /// The service in one line.
    open override var description: String { "<\(Swift.type(of: self)): isPrimary = \(isPrimary), UUID = \(uuid)>" }

    /// The objects for all characteristics of a peripheral's service, made when they are first needed.
    func knownCharacteristics() -> [CBCharacteristic] {
        if let known = contents({ $0.known }) { return known }
        let made = remote?.characteristics.map { CBCharacteristic($0, of: self) } ?? []
        return contents { contents in
            let known = contents.known ?? made
            contents.known = known
            return known
        }
    }
}

/// A characteristic of a peripheral, or of this program: ``CBMutableCharacteristic``.
open class CBCharacteristic: CBAttribute {
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
    /// The characteristic as the peripheral has it; nil for one of this program's.
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

    /// Whose it is; nil when the service has gone.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var service: CBService! { contents { $0.service } }

    /// What can be done with its value.
    open var properties: CBCharacteristicProperties { contents { $0.properties } }

    /// The last value that was read, notified or indicated; nil before.
    open var value: Data? { contents { $0.value } }

    /// Its descriptors; nil before they were discovered.
    open var descriptors: [CBDescriptor]? { contents { $0.descriptors } }

    /// Never so.
    open var isBroadcasted: Bool { false }

    /// Whether the peripheral notifies or indicates its value to this program.
    open var isNotifying: Bool { contents { $0.isNotifying } }

    /// The characteristic in one line.
    open override var description: String {
        let value = value.map { "{length = \($0.count)}" } ?? "(null)"
        return
            "<\(Swift.type(of: self)): UUID = \(uuid), properties = 0x\(String(properties.rawValue, radix: 16)), value = \(value), notifying = \(isNotifying)>"
    }

    /// The objects for all descriptors of a peripheral's characteristic, made when they are first needed.
    func knownDescriptors() -> [CBDescriptor] {
        if let known = contents({ $0.known }) { return known }
        let made = remote?.descriptors.map { CBDescriptor($0, of: self) } ?? []
        return contents { contents in
            let known = contents.known ?? made
            contents.known = known
            return known
        }
    }
}

/// A descriptor of a peripheral's characteristic, or of one of this program: ``CBMutableDescriptor``.
open class CBDescriptor: CBAttribute {
    struct Contents {
        weak var characteristic: CBCharacteristic?
        var value: Any?
    }

    let contents: Locked<Contents>
    /// The descriptor as the peripheral has it; nil for one of this program's.
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

    /// Whose it is; nil when the characteristic has gone.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var characteristic: CBCharacteristic! { contents { $0.characteristic } }

    /// The last value that was read; nil before. A `String` for a user description, an `NSNumber` for extended
    /// properties and the two configurations, `Data` for all others.
    open var value: Any? { contents { $0.value } }

    /// The descriptor in one line.
    open override var description: String {
        "<\(Swift.type(of: self)): UUID = \(uuid), value = \(value.map { "\($0)" } ?? "(null)")>"
    }

    /// The bytes of a descriptor in the type that Core Bluetooth has for it.
    static func value(_ bytes: [UInt8], of uuid: BluetoothUUID) -> Any {
        switch uuid {
        case .characteristicUserDescription: String(decoding: bytes, as: UTF8.self)
        case .characteristicExtendedProperties, .clientCharacteristicConfiguration,
            .serverCharacteristicConfiguration:
            NSNumber(value: bytes.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) })
        default: Data(bytes)
        }
    }

    /// The bytes of a value in any of the types that Core Bluetooth has for descriptors; nil for others.
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
