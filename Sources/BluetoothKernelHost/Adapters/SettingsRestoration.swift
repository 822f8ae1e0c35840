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
        var commands: [AnyManagementCommand] = []
        if gained.contains(.secureConnections) { commands.append(.init(ManagementSetSecureConnections(.off))) }
        if gained.contains(.secureSimplePairing) { commands.append(.init(ManagementSetSecureSimplePairing(false))) }
        if lost.contains(.secureSimplePairing) { commands.append(.init(ManagementSetSecureSimplePairing(true))) }
        if lost.contains(.secureConnections) { commands.append(.init(ManagementSetSecureConnections(.on))) }
        if gained.contains(.bondable) { commands.append(.init(ManagementSetBondable(false))) }
        if lost.contains(.bondable) { commands.append(.init(ManagementSetBondable(true))) }
        if gained.contains(.staticAddress), !now.contains(.powered) {
            commands.append(.init(ManagementSetStaticAddress(.zero)))
        }
        if gained.contains(.lowEnergy) { commands.append(.init(ManagementSetLowEnergy(false))) }
        if lost.contains(.lowEnergy) { commands.append(.init(ManagementSetLowEnergy(true))) }
        return commands
    }
}
