import BluetoothLE
import CoreBluetooth
import Testing

extension Peers {
    /// Peripherals that a program written to Core Bluetooth connects to twice, and releases.
    @Suite struct Released {
        @Test func whatIsCancelledIsReportedAndWhatIsDroppedEnds() async throws {
            try await Fixture.run { fixture in
                try await fixture.runPorted {
                    let program = PortedCentral(seeking: "gatt")
                    try await fixture.wait(for: "ready -50", in: program.journal)
                    let shown = program.queue.sync { program.peripheral?.services?.map(\.uuid.uuidString) ?? [] }
                    #expect(!shown.isEmpty && !shown.contains("1800") && !shown.contains("1801"), "\(shown)")
                    program.perform { manager, peripheral in manager.connect(peripheral) }
                    try await fixture.wait(for: "ready -50", in: program.journal, count: 2)
                    program.release(cancelling: true)
                    try await fixture.wait(for: "disconnected", in: program.journal)
                    // The kernel keeps the link for two more seconds.
                    try await fixture.wait(for: "no link") { try await fixture.links(of: "gatt") == 0 }
                    program.seek()
                    try await fixture.wait(for: "ready -50", in: program.journal, count: 3)
                    program.release(cancelling: false)
                    try await fixture.wait(for: "no link") { try await fixture.links(of: "gatt") == 0 }
                    #expect(
                        program.journal.entries == [
                            "state 5", "found", "connected", "ready -50", "connected", "ready -50", "disconnected",
                            "found", "connected", "ready -50",
                        ])
                    program.end()
                }
            }
        }
    }
}
