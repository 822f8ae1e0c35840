import BluetoothHost

extension BluetoothError {
    /// Why an adapter cannot be used in this state: the cause and the fix; nil when it can.
    package static func unavailable(_ state: AdapterState, _ operation: Operation) -> BluetoothError? {
        let name = operation.adapter ?? "The adapter"
        switch state {
        case .poweredOn: return nil
        case .lowEnergyOff:
            return BluetoothError(
                .adapterOff, operation, "LE is switched off on \(name).", remedy: lowEnergyRemedy)
        case .poweredOff: return BluetoothError(.adapterOff, operation, "\(name) is off.", remedy: powerRemedy)
        case .blocked(let isHard):
            return BluetoothError(
                .adapterBlocked, operation, "\(name) is blocked by rfkill (\(isHard ? "hard" : "soft")).",
                remedy: isHard ? hardBlockRemedy : softBlockRemedy)
        case .absent:
            return BluetoothError(
                .noAdapter, operation, "\(name) was unplugged or taken away.",
                remedy: "Plug it in again; check: ls /sys/class/bluetooth; sudo dmesg | grep -i bluetooth")
        case .unsupported: return BluetoothError(.unsupported, operation, "\(name) has no Bluetooth LE.")
        }
    }

    package static let hardBlockRemedy = "Use the radio switch of the machine, or its firmware settings."
    package static let softBlockRemedy = "Fix: sudo rfkill unblock bluetooth"
}
