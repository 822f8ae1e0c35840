import BluetoothLE
public import Foundation

/// A service that this program publishes.
///
/// Changes after it was added to a manager have no effect.
//
// Sendable unchecked, as its superclass.
open class CBMutableService: CBService, @unchecked Sendable {
    /// Creates a service without characteristics.
    public init(type UUID: CBUUID, primary isPrimary: Bool) {
        super.init(local: UUID, isPrimary: isPrimary)
    }

    /// The included services, which must be added before.
    open override var includedServices: [CBService]? {
        get { super.includedServices }
        set { contents.replace(\.includedServices, with: newValue) }
    }

    /// Its characteristics, in the order in which centrals discover them.
    open override var characteristics: [CBCharacteristic]? {
        get { super.characteristics }
        set {
            contents.replace(\.characteristics, with: newValue)
            for characteristic in newValue ?? [] { characteristic.contents { $0.service = self } }
        }
    }
}

/// A characteristic that this program publishes.
//
// Sendable unchecked: what it adds to its superclass is locked.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
    private let mutable: Locked<(permissions: CBAttributePermissions, subscribers: [CBCentral]?)>

    /// Creates a characteristic.
    /// - Parameters:
    ///   - UUID: the characteristic's type.
    ///   - properties: the operations announced to centrals.
    ///   - value: a cached value that the system answers reads with; it can only be readable. Nil has the delegate
    ///     answer each time.
    ///   - permissions: the operations that centrals are allowed.
    public init(
        type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
    ) {
        mutable = Locked((permissions, nil))
        super.init(local: UUID, properties: properties, value: value)
    }

    /// The operations that centrals are allowed.
    open var permissions: CBAttributePermissions {
        get { mutable { $0.permissions } }
        set { mutable { $0.permissions = newValue } }
    }

    /// The centrals that have subscribed; nil before the first has.
    open var subscribedCentrals: [CBCentral]? { mutable { $0.subscribers } }

    /// The operations announced to centrals.
    open override var properties: CBCharacteristicProperties {
        get { super.properties }
        set { contents { $0.properties = newValue } }
    }

    /// The cached value that the system answers reads with; nil has the delegate answer.
    open override var value: Data? {
        get { super.value }
        set { contents { $0.value = newValue } }
    }

    /// Its descriptors; the system adds the client characteristic configuration.
    open override var descriptors: [CBDescriptor]? {
        get { super.descriptors }
        set {
            contents.replace(\.descriptors, with: newValue)
            for descriptor in newValue ?? [] { descriptor.contents { $0.characteristic = self } }
        }
    }

    /// Records a central's subscription; returns whether it has changed.
    @discardableResult
    func setSubscribed(_ isSubscribed: Bool, _ central: CBCentral) -> Bool {
        mutable { mutable in
            var subscribers = mutable.subscribers ?? []
            guard subscribers.contains(where: { $0 === central }) != isSubscribed else { return false }
            if isSubscribed { subscribers.append(central) } else { subscribers.removeAll { $0 === central } }
            mutable.subscribers = subscribers
            return true
        }
    }
}

/// A descriptor of a characteristic that this program publishes.
//
// Sendable unchecked, as its superclass.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
    /// Creates a descriptor: with a `String` for a user description, an `NSNumber` or `Data` for others.
    public init(type UUID: CBUUID, value: Any?) {
        super.init(local: UUID, value: value)
    }
}

/// A central that uses this program's services.
//
// Sendable unchecked: what it adds to its superclass is locked.
open class CBCentral: CBPeer, @unchecked Sendable {
    private let length = Locked(20)

    /// The maximum length of a value in a notification to it, in bytes.
    open var maximumUpdateValueLength: Int { length { $0 } }

    func setMaximumUpdateValueLength(_ count: Int) { length { $0 = count } }

    /// A description in one line.
    open override var description: String { "<\(Swift.type(of: self)): identifier = \(identifier)>" }
}

/// A central's request to read or write a value.
///
/// ``CBPeripheralManager/respond(to:withResult:)`` answers it, once.
//
// Sendable unchecked, since NSObject is not: the value is locked, and the rest is constant.
open class CBATTRequest: NSObject, @unchecked Sendable {
    private let asker: CBCentral
    private let subject: CBCharacteristic
    private let start: Int
    private let bytes: Locked<Data?>
    /// The pending response, which the requests of one write share; nil for a command.
    let question: PeerQuestion?

    init(
        _ central: CBCentral, _ characteristic: CBCharacteristic, offset: Int, value: Data?,
        question: PeerQuestion?
    ) {
        asker = central
        subject = characteristic
        start = offset
        bytes = Locked(value)
        self.question = question
        super.init()
    }

    /// The requesting central.
    open var central: CBCentral { asker }

    /// The requested characteristic.
    open var characteristic: CBCharacteristic { subject }

    /// The offset in the value at which the request begins.
    open var offset: Int { start }

    /// The value to write; for reads nil until the program sets it.
    open var value: Data? {
        get { bytes { $0 } }
        set { bytes { $0 = newValue } }
    }
}
