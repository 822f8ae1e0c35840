/// What refers back to what it belongs to.
///
/// The references are implicitly unwrapped, for code from before Apple made them optional. Such a property does not
/// fulfil a program's protocol that asks for an optional one; these do, and nobody else sees them.
public protocol CBBackReferring: AnyObject {}

extension CBAttribute: CBBackReferring {}

extension CBBackReferring where Self: CBService {
    /// Whose it is; nil when the peripheral has gone.
    public var peripheral: CBPeripheral? { (self as CBService).peripheral }
}

extension CBBackReferring where Self: CBCharacteristic {
    /// Whose it is; nil when the service has gone.
    public var service: CBService? { (self as CBCharacteristic).service }
}

extension CBBackReferring where Self: CBDescriptor {
    /// Whose it is; nil when the characteristic has gone.
    public var characteristic: CBCharacteristic? { (self as CBDescriptor).characteristic }
}
