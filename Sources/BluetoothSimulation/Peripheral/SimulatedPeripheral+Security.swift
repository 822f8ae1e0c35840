import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

extension SimulatedPeripheral {
    /// Chooses how it behaves when it is asked to pair.
    public func setSecurity(_ security: SimulatedSecurity) { withNode { $0.security.set(security) } }

    /// What it tells in pairing to those who are to resolve its private addresses; nil without an
    /// ``SimulatedSecurity/identity``.
    public var identityResolvingKey: SecurityKey? {
        radio.withWorld { [identifier] world in world.peripherals.node(identifier)?.identityResolvingKey?.value }
    }

    /// Makes a private address that those resolve to whom it has told its identity in pairing
    /// (Core Vol 3 Part H §2.2.2); nil without an ``SimulatedSecurity/identity``.
    public func makePrivateAddress() -> BluetoothAddress? {
        radio.withWorld { [identifier] world -> BluetoothAddress? in
            guard let key = world.peripherals.node(identifier)?.identityResolvingKey else { return nil }
            return key.value.makePrivateAddress(using: &world.generator)
        }
    }

    /// Loses all keys: links with those who still have theirs cannot be encrypted any more.
    public func forgetBonds() { withNode { $0.security.forgetBonds() } }

    /// Asks the centrals it is connected with for protected links (Security Request).
    public func requestSecurity(_ level: SecurityLevel = .medium) {
        withNode { node in
            for end in node.world.links(of: node) {
                end.send(.procedure { end.other.party?.securityRequested(level, on: end.other) })
            }
        }
    }
}
