import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// The commands that give an adapter the settings that it had before, once it has the power state, in an order that the
/// kernel accepts.
///
/// Where BR/EDR is enabled, Secure Connections can be changed only while Secure Simple Pairing is on. The static address
/// can be changed only while the adapter is off.
package enum SettingsRestoration {
    package static func commands(
        from now: AdapterFeatures, to former: AdapterFeatures
    ) -> [AnyManagementCommand] {
        let lost = former.subtracting(now)
        let gained = now.subtracting(former)
        let commands: [(isNeeded: Bool, command: AnyManagementCommand)] = [
            (gained.contains(.secureConnections), .init(ManagementSetSecureConnections(.off))),
            (gained.contains(.secureSimplePairing), .init(ManagementSetSecureSimplePairing(false))),
            (lost.contains(.secureSimplePairing), .init(ManagementSetSecureSimplePairing(true))),
            (lost.contains(.secureConnections), .init(ManagementSetSecureConnections(.on))),
            (gained.contains(.bondable), .init(ManagementSetBondable(false))),
            (lost.contains(.bondable), .init(ManagementSetBondable(true))),
            (gained.contains(.staticAddress) && !now.contains(.powered), .init(ManagementSetStaticAddress(.zero))),
            (gained.contains(.lowEnergy), .init(ManagementSetLowEnergy(false))),
            (lost.contains(.lowEnergy), .init(ManagementSetLowEnergy(true))),
        ]
        return commands.filter(\.isNeeded).map(\.command)
    }
}
