import BluetoothPrimitives

/// The state of an adapter: ready, or the reason why it cannot be used now. An open set: switch with a default.
public struct AdapterState: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case poweredOn, lowEnergyOff, poweredOff, blocked(isHard: Bool), absent, unsupported
    }

    package let kind: Kind

    /// Powered on, with LE: ready.
    public static let poweredOn = AdapterState(kind: .poweredOn)
    /// Powered on, but LE is off (management `Set Low Energy`), so that the kernel makes no LE connection.
    public static let lowEnergyOff = AdapterState(kind: .lowEnergyOff)
    /// Powered off.
    public static let poweredOff = AdapterState(kind: .poweredOff)
    /// Powered off and blocked by a radio switch (rfkill), in hardware or in software.
    public static func blocked(isHard: Bool) -> AdapterState { AdapterState(kind: .blocked(isHard: isHard)) }
    /// Unplugged, or taken from the kernel by a program that uses a user channel.
    public static let absent = AdapterState(kind: .absent)
    /// The controller does not support LE.
    public static let unsupported = AdapterState(kind: .unsupported)

    /// Whether the adapter is ready for use.
    public var isReady: Bool { self == .poweredOn }
    /// Whether a radio switch blocks the adapter, in hardware or in software.
    public var isBlocked: Bool { if case .blocked = kind { true } else { false } }
}

extension AdapterState: CustomStringConvertible {
    /// `on`, `LE off`, `off`, `blocked by rfkill (soft)`, `absent`, `no LE`.
    public var description: String {
        switch kind {
        case .poweredOn: "on"
        case .lowEnergyOff: "LE off"
        case .poweredOff: "off"
        case .blocked(let isHard): "blocked by rfkill (\(isHard ? "hard" : "soft"))"
        case .absent: "absent"
        case .unsupported: "no LE"
        }
    }
}

/// A change in the list of adapters; see ``Adapter/changes(on:)``. An open set: what is neither an addition nor a removal
/// is a change of ``adapter``.
public struct AdapterChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case added, changed, removed
    }

    package let kind: Kind
    /// The adapter concerned: with its new information, or with its last when it was removed.
    public let adapter: AdapterInformation

    package init(_ kind: Kind, _ adapter: AdapterInformation) { (self.kind, self.adapter) = (kind, adapter) }

    /// Whether the adapter was present when the stream began, was plugged in, or was returned to the kernel.
    public var isAddition: Bool { kind == .added }
    /// Whether the adapter was unplugged or taken from the kernel.
    public var isRemoval: Bool { kind == .removed }
    /// The state of the adapter after the change.
    public var state: AdapterState { isRemoval ? .absent : adapter.state }
}

extension AdapterChange: CustomStringConvertible {
    /// `hci0 (00:AA:01:00:00:01) added: off`.
    public var description: String {
        let subject = "\(adapter.name) (\(adapter.address.digits))"
        switch kind {
        case .added: return "\(subject) added: \(state)"
        case .changed: return "\(subject) changed: \(state)"
        case .removed: return "\(subject) removed"
        }
    }
}

/// The rule for powering an adapter on.
public enum PowerPolicy: Hashable, Sendable {
    /// Never power on: opening fails while the adapter is off, and later the program waits until a user or another
    /// program switches it on.
    case leave
    /// Power on when opening, and again after the adapter was plugged in again or a radio switch unblocked it. Another
    /// program's power-off is respected. Needs CAP_NET_ADMIN.
    case powerOn
    /// As ``powerOn``, and also after another program powered the adapter off; not after this program did. Needs
    /// CAP_NET_ADMIN.
    case keepOn
}

/// The rule for a stream, such as a scan, whose adapter is powered off, blocked or unplugged.
public enum AdapterUnavailablePolicy: Hashable, Sendable {
    /// The stream ends with the reason: ``BluetoothError/Code/adapterOff``, `.adapterBlocked` or `.noAdapter`.
    case end
    /// The stream pauses and resumes when the adapter is back; it ends when that fails or the adapter is closed.
    case resume
}
