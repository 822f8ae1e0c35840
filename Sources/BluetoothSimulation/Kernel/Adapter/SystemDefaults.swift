import BluetoothHCI
import BluetoothManagement

/// The defaults of an adapter in the kernel (`mgmt_config.c`).
struct SystemDefaults {
    private var values: [SystemParameter.Kind: UInt16] = [
        .advertisingIntervalMinimum: 0x0800, .advertisingIntervalMaximum: 0x0800, .autoConnectScanInterval: 0x0060,
        .autoConnectScanWindow: 0x0030, .connectScanInterval: 0x0060, .connectScanWindow: 0x0060,
        .connectionIntervalMinimum: 0x0018, .connectionIntervalMaximum: 0x0028, .latency: 0,
        .supervisionTimeout: 0x002A, .connectTimeout: 20000,
    ]

    var all: [SystemParameter] {
        values.sorted { $0.key.rawValue < $1.key.rawValue }.map { SystemParameter($0.key, $0.value) }
    }

    /// Changes the known parameters, without a check of their ranges; false with nothing changed if the size of one is
    /// wrong. The kernel ignores unknown ones.
    mutating func change(to list: [SystemParameter]) -> Bool {
        let known = list.filter { values[$0.kind] != nil }
        guard known.allSatisfy({ $0.number != nil }) else { return false }
        for parameter in known { values[parameter.kind] = parameter.number }
        return true
    }

    private func value(_ kind: SystemParameter.Kind) -> UInt16 { values[kind] ?? 0 }

    /// The connection parameters of links without others.
    var connection: LEConnectionParameters {
        LEConnectionParameters(
            intervalMinimum: value(.connectionIntervalMinimum), intervalMaximum: value(.connectionIntervalMaximum),
            latency: value(.latency), supervisionTimeout: value(.supervisionTimeout))
    }

    /// The intervals of advertising without others.
    var advertising: ManagementAddExtendedAdvertisingParameters.Intervals {
        ManagementAddExtendedAdvertisingParameters.Intervals(
            minimum: UInt32(value(.advertisingIntervalMinimum)), maximum: UInt32(value(.advertisingIntervalMaximum)))
    }

    /// The scan while the kernel waits for devices that it connects to whenever they advertise.
    var autoConnectScan: (interval: UInt16, window: UInt16) {
        (value(.autoConnectScanInterval), value(.autoConnectScanWindow))
    }

    /// The scan while the kernel looks for a device that a program connects to, and while the controller connects.
    var connectScan: (interval: UInt16, window: UInt16) { (value(.connectScanInterval), value(.connectScanWindow)) }
}
