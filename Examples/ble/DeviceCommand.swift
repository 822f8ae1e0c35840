import ArgumentParser
import BluetoothLE
import ExampleSupport

/// A command that works on a link with a device: on its own it connects, runs, and disconnects; as a step of `ble exec`
/// it runs on the link that the steps share.
protocol DeviceCommand: StepCommand {
    var common: CommonOptions { get set }
    /// The settings with which the command connects.
    var link: LinkOptions { get }

    /// Whether the operation pairs itself, so that the link is not protected before.
    var isPairing: Bool { get }
    /// Whether the operation moves much and does not block, so that it runs on the adapter's event loop.
    static var isOnLoop: Bool { get }

    /// Completes and checks the options before anything is connected, such as by reading a file.
    mutating func prepare() async throws

    /// The files that ``prepare()`` reads.
    var inputs: [String?] { get }

    /// Runs the command on an open connection.
    func perform(on connection: Connection, _ console: Console) async throws
}

extension DeviceCommand {
    var isPairing: Bool { false }
    static var isOnLoop: Bool { false }

    mutating func prepare() async throws {}

    var inputs: [String?] { [] }

    func run() async throws { try await runOnDevice() }

    /// Connects to the device of the options, performs the command, and disconnects.
    func runOnDevice() async throws {
        let parsed = self
        try await common.run("ble \(Self._commandName)", reading: inputs) { console in
            var command = parsed
            try await command.prepare()
            let common = command.common
            try common.validateDevice()
            // Before the adapter is powered on.
            _ = try await common.identity()
            let ready = command
            do {
                try await ready.runOnce(console)
            } catch let error as BluetoothError where ready.isPairing && error.pairingFailure == .linkLost {
                // Perhaps the link was that of a program that was killed while it paired.
                console.detail("connecting again: \(error.message)")
                try await ready.runOnce(console)
            }
        }
    }

    private func runOnce(_ console: Console) async throws {
        try await common.withConnection(
            console, link: link.settings, isPairing: isPairing, isOnLoop: Self.isOnLoop
        ) {
            try await perform(on: $0, console)
        }
    }
}
