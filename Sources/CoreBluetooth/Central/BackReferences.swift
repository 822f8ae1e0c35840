/// An attribute that refers back to its owner.
///
/// The references are implicitly unwrapped, for code from before Apple made them optional. Such a property does not
/// satisfy a program's protocol that requires an optional one; these do, and have no other use.
public protocol CBBackReferring: AnyObject {}

extension CBAttribute: CBBackReferring {}

extension CBBackReferring where Self: CBService {
    /// Its peripheral; nil when that has been released.
    public var peripheral: CBPeripheral? { (self as CBService).peripheral }
}

extension CBBackReferring where Self: CBCharacteristic {
    /// Its service; nil when that has been released.
    public var service: CBService? { (self as CBCharacteristic).service }
}

extension CBBackReferring where Self: CBDescriptor {
    /// Its characteristic; nil when that has been released.
    public var characteristic: CBCharacteristic? { (self as CBDescriptor).characteristic }
}
