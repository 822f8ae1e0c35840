import BluetoothPrimitives

/// Whether an adapter can be used now, and if not, what is in the way.
public enum AdapterState: Hashable, Sendable {
    /// Powered on, with LE: everything works.
    case poweredOn
    /// Powered on, but LE is switched off (management `Set Low Energy`), so that the kernel makes no LE connection.
    case lowEnergyOff
    /// Powered off.
    case poweredOff
    /// Powered off, and a radio switch (rfkill) keeps it so: by hardware, or by software.
    case blocked(isHard: Bool)
    /// Unplugged, or taken from the kernel by a program that talks to the controller itself.
    case absent
    /// The controller has no LE.
    case unsupported

    /// Whether everything works.
    public var isReady: Bool { self == .poweredOn }
}

extension AdapterState: CustomStringConvertible {
    /// `on`, `LE off`, `off`, `blocked by rfkill (soft)`, `absent`, `no LE`.
    public var description: String {
        switch self {
        case .poweredOn: "on"
        case .lowEnergyOff: "LE off"
        case .poweredOff: "off"
        case .blocked(let isHard): "blocked by rfkill (\(isHard ? "hard" : "soft"))"
        case .absent: "absent"
        case .unsupported: "no LE"
        }
    }
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

/// Whether a program may switch an adapter on.
public enum PowerPolicy: Hashable, Sendable {
    /// Never: opening fails when it is off, and later it is waited for until somebody switches it on.
    case leave
    /// When it is opened, and again after it was plugged in again or a radio switch gave it free. Somebody who powers it
    /// off meanwhile has the last word. Needs CAP_NET_ADMIN.
    case powerOn
    /// As ``powerOn``, and also when another program has powered it off; not when this program did. Needs CAP_NET_ADMIN.
    case keepOn
}

/// What becomes of a stream, such as a scan, when its adapter is powered off, blocked or unplugged.
public enum AdapterLeavePolicy: Hashable, Sendable {
    /// It ends with the reason: ``BluetoothError/Code/adapterOff``, `.adapterBlocked` or `.noAdapter`.
    case end
    /// It is silent until the adapter is back, and goes on then; it ends when that fails or the adapter is closed.
    case resume
}
