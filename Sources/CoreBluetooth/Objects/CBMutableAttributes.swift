import BluetoothLE
public import Foundation

/// A service that this program offers.
///
/// What is changed after it was added to a manager has no effect.
open class CBMutableService: CBService {
    /// A service without characteristics.
    public init(type UUID: CBUUID, primary isPrimary: Bool) {
        super.init(local: UUID, isPrimary: isPrimary)
    }

    /// The services it includes, which have to be added before.
    open override var includedServices: [CBService]? {
        get { super.includedServices }
        set { contents.replace(\.includedServices, with: newValue) }
    }

    /// Its characteristics, in the order centrals find them.
    open override var characteristics: [CBCharacteristic]? {
        get { super.characteristics }
        set {
            contents.replace(\.characteristics, with: newValue)
            for characteristic in newValue ?? [] { characteristic.contents { $0.service = self } }
        }
    }
}

/// A characteristic that this program offers.
open class CBMutableCharacteristic: CBCharacteristic {
    private let mutable: Locked<(permissions: CBAttributePermissions, subscribers: [CBCentral]?)>

    /// A characteristic.
    /// - Parameters:
    ///   - UUID: what it is.
    ///   - properties: what centrals are told can be done with it.
    ///   - value: a value that the system answers reads with; it can only be readable. Nil asks the delegate each time.
    ///   - permissions: what centrals may do.
    public init(
        type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
    ) {
        mutable = Locked((permissions, nil))
        super.init(local: UUID, properties: properties, value: value)
    }

    /// What centrals may do.
    open var permissions: CBAttributePermissions {
        get { mutable { $0.permissions } }
        set { mutable { $0.permissions = newValue } }
    }

    /// The centrals that have subscribed; nil before the first has.
    open var subscribedCentrals: [CBCentral]? { mutable { $0.subscribers } }

    /// What centrals are told can be done with it.
    open override var properties: CBCharacteristicProperties {
        get { super.properties }
        set { contents { $0.properties = newValue } }
    }

    /// The value that the system answers reads with; nil asks the delegate.
    open override var value: Data? {
        get { super.value }
        set { contents { $0.value = newValue } }
    }

    /// Its descriptors; the one for subscriptions is added by the system.
    open override var descriptors: [CBDescriptor]? {
        get { super.descriptors }
        set {
            contents.replace(\.descriptors, with: newValue)
            for descriptor in newValue ?? [] { descriptor.contents { $0.characteristic = self } }
        }
    }

    /// Takes in what the program is told of a central; says whether that is another than before.
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

/// A descriptor of a characteristic that this program offers.
open class CBMutableDescriptor: CBDescriptor {
    /// A descriptor: a `String` for a user description, an `NSNumber` or `Data` for others.
    public init(type UUID: CBUUID, value: Any?) {
        super.init(local: UUID, value: value)
    }
}

/// A device that uses the services this program offers.
open class CBCentral: CBPeer {
    private let length = Locked(20)

    /// How many bytes of a value reach it in a notification.
    open var maximumUpdateValueLength: Int { length { $0 } }

    func setMaximumUpdateValueLength(_ count: Int) { length { $0 = count } }

    /// The central in one line.
    open override var description: String { "<\(Swift.type(of: self)): identifier = \(identifier)>" }
}

/// A central's wish to read or write a value.
///
/// ``CBPeripheralManager/respond(to:withResult:)`` answers it, once.
open class CBATTRequest: NSObject {
    private let asker: CBCentral
    private let subject: CBCharacteristic
    private let start: Int
    private let bytes: Locked<Data?>
    /// What the central waits to be told; the requests of one write share it.
    let question: PeerQuestion

    init(
        _ central: CBCentral, _ characteristic: CBCharacteristic, offset: Int, value: Data?,
        question: PeerQuestion
    ) {
        asker = central
        subject = characteristic
        start = offset
        bytes = Locked(value)
        self.question = question
        super.init()
    }

    /// Who asks.
    open var central: CBCentral { asker }

    /// Of which value.
    open var characteristic: CBCharacteristic { subject }

    /// Where in the value the wish begins.
    open var offset: Int { start }

    /// What is to be written; for reads nil until the program sets it.
    open var value: Data? {
        get { bytes { $0 } }
        set { bytes { $0 = newValue } }
    }
}
