import BluetoothPrimitives

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
