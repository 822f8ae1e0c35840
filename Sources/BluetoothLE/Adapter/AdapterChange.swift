import BluetoothHost
import BluetoothKernel

/// What becomes of a stream, such as a scan, when its adapter is powered off, blocked or unplugged.
public enum AdapterLeavePolicy: Hashable, Sendable {
    /// It ends with the reason: ``BluetoothError/Code/adapterOff``, `.adapterBlocked` or `.noAdapter`.
    case end
    /// It is silent until the adapter is back, and goes on then; it ends when that fails or the adapter is closed.
    case resume
}

extension AdapterInformation {
    /// Whether the adapter can be used as it stands here, and if not, what is in the way.
    public var state: AdapterState {
        guard isLowEnergySupported else { return .unsupported }
        if isPowered { return isLowEnergyEnabled ? .poweredOn : .lowEnergyOff }
        if isHardBlocked { return .blocked(isHard: true) }
        if isSoftBlocked { return .blocked(isHard: false) }
        return .poweredOff
    }

    /// Takes over what the radio switch of this adapter says.
    mutating func take(_ switches: [HostEnvironment.RadioSwitch]) {
        let own = switches.first { $0.name == name }
        isSoftBlocked = own?.isSoftBlocked ?? false
        isHardBlocked = own?.isHardBlocked ?? false
    }
}

extension BluetoothError {
    /// Why an adapter cannot be used in this state: the cause and the fix; nil when it can.
    static func unavailable(_ state: AdapterState, _ operation: Operation) -> BluetoothError? {
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

    static let hardBlockRemedy = "Use the radio switch of the machine, or its firmware settings."
    static let softBlockRemedy = "Fix: sudo rfkill unblock bluetooth"
}

/// An adapter that came, went, or changed; see ``Adapter/changes(on:)``.
public enum AdapterChange: Hashable, Sendable {
    /// It was there when the stream began, was plugged in, or was given back to the kernel.
    case added(AdapterInformation)
    /// Its settings, its power or its radio switch changed: this is how it is now.
    case changed(AdapterInformation)
    /// It was unplugged, or taken from the kernel: this is how it was last.
    case removed(AdapterInformation)

    /// The adapter concerned.
    public var adapter: AdapterInformation {
        switch self {
        case .added(let adapter), .changed(let adapter), .removed(let adapter): adapter
        }
    }

    /// How the adapter stands after the change.
    public var state: AdapterState {
        if case .removed = self { .absent } else { adapter.state }
    }
}

extension AdapterChange: CustomStringConvertible {
    /// `hci0 (00:AA:01:00:00:01) added: off`.
    public var description: String {
        let subject = "\(adapter.name) (\(adapter.address))"
        switch self {
        case .added: return "\(subject) added: \(state)"
        case .changed: return "\(subject) changed: \(state)"
        case .removed: return "\(subject) removed"
        }
    }
}
