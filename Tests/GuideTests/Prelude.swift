import BluetoothLE
import Logging

// What a snippet finds here where a reader's program has a machine and a terminal: the story's kernel and its output.
// Of a function of the same form as an imported one the compiler takes that of the own module, and otherwise the one that
// needs fewer parameters; so a kernel that a snippet names is the one it gets.

/// Prints to the story's output.
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
    Fixture.ofCaller?.output.append(items.map { "\($0)" }.joined(separator: separator))
}

extension Adapter {
    static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondKeeping = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        try await open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            on: Fixture.current?.kernel, log: Logger(label: "guide"), trace: trace)
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
