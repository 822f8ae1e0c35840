import BluetoothLE
import Logging

// Replacements for the machine and the terminal of a reader's program: the story's kernel and output. The compiler prefers
// a function of this module to an imported one of the same form, and otherwise the one with fewer parameters, so a snippet
// that names a kernel gets that one.

/// Prints to the story's output.
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
    Fixture.ofCaller?.output.append(items.map { "\($0)" }.joined(separator: separator))
}

extension Adapter {
    static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondStorage = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        recovery: RecoveryOptions = RecoveryOptions(), trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        try await open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            recovery: recovery, on: Fixture.current?.kernel, log: Logger(label: "guide"), trace: trace)
    }

    static func all() async throws(BluetoothError) -> [AdapterInformation] {
        try await all(on: Fixture.current?.kernel)
    }

    static func changes() async throws(BluetoothError) -> BoundedStream<AdapterChange> {
        try await changes(on: Fixture.current?.kernel)
    }
}

extension PacketTrace {
    /// A file of this name, in the story's folder.
    static func open(_ path: String) async throws(BluetoothError) -> PacketTrace {
        try await open("\(Fixture.current?.folder ?? "/tmp")/\(path)", source: nil, on: Fixture.current?.kernel)
    }
}
