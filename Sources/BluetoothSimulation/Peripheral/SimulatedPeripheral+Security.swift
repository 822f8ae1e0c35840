import BluetoothHost
import BluetoothPrimitives

extension SimulatedPeripheral {
    /// Sets the peripheral's behaviour in pairing.
    public func setSecurity(_ security: SimulatedSecurity) { withNode { $0.security.set(security) } }

    /// The identity resolving key that pairing distributes; nil without a ``SimulatedSecurity/identity``.
    public var identityResolvingKey: SecurityKey? {
        withNode { $0.identityResolvingKey?.value } ?? nil
    }

    /// Generates a private address that devices resolve to which pairing has distributed the identity (Core Vol 3 Part
    /// H §2.2.2); nil without a ``SimulatedSecurity/identity``.
    public func makePrivateAddress() -> BluetoothAddress? {
        withNode { $0.identityResolvingKey?.value.makePrivateAddress(using: &$0.world.generator) } ?? nil
    }

    /// Makes new out-of-band values for Secure Connections, the confirmation and the random value, which replace its former
    /// ones.
    public func makeOutOfBandValues() -> (confirmation: SecurityKey, random: SecurityKey)? {
        withNode { $0.security.makeOutOfBandValues() }.map { ($0.confirmation, $0.random) }
    }

    /// Sets the out-of-band values that it has received from a central; nil for none.
    public func setOutOfBandValues(_ values: (confirmation: SecurityKey, random: SecurityKey)?) {
        let received = values.map { OutOfBandData(confirmation: $0.confirmation, random: $0.random) }
        withNode { $0.security.receive(received) }
    }

    /// Removes all keys: links with devices that still have theirs can no longer be encrypted.
    public func forgetBonds() { withNode { $0.security.forgetBonds() } }

    /// Sends a Security Request to the connected centrals.
    public func requestSecurity(_ level: SecurityLevel = .medium) {
        withNode { node in
            for end in node.world.links(of: node) { node.security.request(level, on: end) }
        }
    }
}
