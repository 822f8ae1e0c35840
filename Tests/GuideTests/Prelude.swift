import BluetoothLE
import Foundation
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
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave,
        configuration: AdapterConfiguration = AdapterConfiguration()
    ) async throws(BluetoothError) -> Adapter {
        var configuration = configuration
        configuration.log = Logger(label: "guide")
        return try await open(
            selector, power: power, configuration: configuration, on: Fixture.current?.kernel)
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

extension Optional where Wrapped == any AdapterSource {
    /// The story's kernel, as if the environment had selected it.
    static var environment: (any AdapterSource)? {
        get throws(BluetoothError) { Fixture.current?.kernel }
    }
}

extension Date {
    /// The story's time of day, which begins at 9 o'clock.
    static var now: Date {
        let elapsed = Fixture.ofCaller.map { $0.start.duration(to: $0.radio.now) } ?? .zero
        return Date(timeIntervalSince1970: 1_795_597_200 + elapsed / .seconds(1))
    }
}
