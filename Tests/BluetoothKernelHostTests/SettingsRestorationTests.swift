import BluetoothHost
import BluetoothManagement
import Testing

@testable import BluetoothKernelHost

/// The settings that an adapter had before.
@Suite struct SettingsRestorationTests {
    private static let restored: [AdapterFeatures] = [
        .bondable, .secureSimplePairing, .secureConnections, .staticAddress, .lowEnergy,
    ]

    /// Every combination of the settings that are restored.
    private static var combinations: [AdapterFeatures] {
        (0..<1 << restored.count).map { bits in
            AdapterFeatures(restored.indices.filter { bits >> $0 & 1 == 1 }.map { restored[$0] })
        }
    }

    /// What the kernel makes of a command; nil if it refuses it.
    private static func kernel(_ settings: AdapterFeatures, _ command: AnyManagementCommand) -> AdapterFeatures? {
        var settings = settings
        func set(_ setting: AdapterFeatures, _ isOn: Bool) {
            if isOn { settings.insert(setting) } else { settings.remove(setting) }
        }
        switch command.base {
        case let command as ManagementSetBondable: set(.bondable, command.value)
        case let command as ManagementSetLowEnergy: set(.lowEnergy, command.value)
        case let command as ManagementSetSecureSimplePairing: set(.secureSimplePairing, command.value)
        case let command as ManagementSetSecureConnections:
            guard settings.contains(.secureSimplePairing) else { return nil }
            set(.secureConnections, command.value != .off)
        case let command as ManagementSetStaticAddress:
            guard !settings.contains(.powered) else { return nil }
            set(.staticAddress, !command.value.isZero)
        default: return nil
        }
        return settings
    }

    @Test(arguments: [AdapterFeatures([]), .powered])
    func everySettingIsRestoredByCommandsThatTheKernelAccepts(_ power: AdapterFeatures) throws {
        for former in Self.combinations {
            // The kernel has no Secure Connections without Secure Simple Pairing on a dual-mode adapter.
            guard !former.contains(.secureConnections) || former.contains(.secureSimplePairing) else { continue }
            for now in Self.combinations {
                guard !now.contains(.secureConnections) || now.contains(.secureSimplePairing) else { continue }
                var settings = now.union(power)
                for command in SettingsRestoration.commands(from: settings, to: former.union(power)) {
                    settings = try #require(Self.kernel(settings, command), "\(command) of \(now) to \(former)")
                }
                var wanted = former.union(power)
                // An address is not known, and is cleared only while the adapter is off.
                wanted.remove(.staticAddress)
                if now.contains(.staticAddress), former.contains(.staticAddress) || !power.isEmpty {
                    wanted.insert(.staticAddress)
                }
                #expect(settings == wanted, "\(now) to \(former)")
            }
        }
    }

    @Test func nothingIsSentIfNothingDiffers() {
        for settings in Self.combinations { #expect(SettingsRestoration.commands(from: settings, to: settings) == []) }
    }
}
