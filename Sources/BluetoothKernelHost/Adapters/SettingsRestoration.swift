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
    ) -> [ManagementCommand] {
        let lost = former.subtracting(now)
        let gained = now.subtracting(former)
        var commands: [ManagementCommand] = []
        if gained.contains(.secureConnections) { commands.append(.setSecureConnections(.off)) }
        if gained.contains(.secureSimplePairing) { commands.append(.setSecureSimplePairing(false)) }
        if lost.contains(.secureSimplePairing) { commands.append(.setSecureSimplePairing(true)) }
        if lost.contains(.secureConnections) { commands.append(.setSecureConnections(.on)) }
        if gained.contains(.bondable) { commands.append(.setBondable(false)) }
        if lost.contains(.bondable) { commands.append(.setBondable(true)) }
        if gained.contains(.staticAddress), !now.contains(.powered) { commands.append(.setStaticAddress(.zero)) }
        if gained.contains(.lowEnergy) { commands.append(.setLowEnergy(false)) }
        if lost.contains(.lowEnergy) { commands.append(.setLowEnergy(true)) }
        return commands
    }
}
