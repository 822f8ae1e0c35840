import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Every fault at every packet while a device is our client: it subscribes, reads a value from a handler, and receives
/// an indication.
@Suite struct LocalServerFaultTests {
    private struct Outcome: Sendable {
        var packets = 0
        var error: BluetoothError?
        var handled = 0
    }

    @Test func undisturbedItSucceeds() async throws {
        let outcome = try await Self.run(nil, at: nil)
        #expect(outcome.error == nil)
        #expect(outcome.handled == 1)
        #expect(outcome.packets >= 10)
    }

    @Test(arguments: Fault.allCases) func everyFaultAtEveryPacketEndsTyped(_ fault: Fault) async throws {
        let packets = try await Self.run(nil, at: nil).packets
        for index in 0..<packets {
            let outcome = try await Self.run(fault, at: index)
            guard let error = outcome.error else { continue }
            #expect(fault.codes.contains(error.code), "\(fault) at packet \(index): \(error)")
        }
    }

    private static func run(_ fault: Fault?, at index: Int?) async throws -> Outcome {
        let outcome = Mutex(Outcome())
        try await Fixture.run { fixture in
            let client = PeerClient()
            let peripheral = SimulatedPeripheral(on: fixture.radio, handler: { client.open($0) })
            let kernel = FaultingKernel(fixture.kernel)
            let remains = Remains()
            do {
                let adapter = try await Adapter.open(on: kernel)
                remains.keep(adapter)
                try await adapter.publish(
                    [LocalServerTests.service],
                    handlers: AttributeHandlers(read: { _ in
                        try await fixture.radio.sleep(for: .seconds(1))
                        outcome.withLock { $0.handled += 1 }
                        return [1, 2, 3]
                    }))
                let connection = try await adapter.connect(
                    to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
                remains.keep(connection)
                let task = Mutex<Task<Void, any Error>?>(nil)
                kernel.arm(at: index) {
                    fault?.happen(to: connection, of: peripheral, during: task.withLock { $0 }, fixture)
                }
                let driver = fixture.begin { await drive(client) }
                let running = fixture.begin { try await serve(connection, fixture) }
                task.withLock { $0 = running }
                let error = await failure { try await running.value }
                outcome.withLock { ($0.packets, $0.error) = (kernel.count, error) }
                kernel.arm(at: nil) {}
                driver.cancel()
                await connection.disconnect()
            }
            try await fixture.settle { remains.isEmpty && fixture.kernel.links(adapter: 0).isEmpty }
            #expect(remains.isEmpty, "\(String(describing: fault)) at \(String(describing: index)) leaks")
        }
        return outcome.withLock { $0 }
    }

    /// The device's operations: it subscribes, reads, and confirms an indication.
    private static func drive(_ client: PeerClient) async {
        client.send("1213000200")
        var hasRead = false
        while !Task.isCancelled {
            let packet = await client.next()
            if packet == "13", !hasRead {
                hasRead = true
                client.send("0A1500")
            }
            if packet.hasPrefix("1D") { client.send("1E") }
        }
    }

    /// The program's operations: it waits for the subscription and indicates.
    private static func serve(_ connection: Connection, _ fixture: Fixture) async throws {
        for try await subscription in await connection.peerSubscriptions()
        where subscription.configuration.contains(.indication) {
            for number in 1...3 as ClosedRange<UInt8> {
                try await connection.indicate([number], of: subscription.characteristic)
            }
            // After the handler has answered as well.
            try? await fixture.radio.sleep(for: .seconds(2))
            return try await connection.indicate([4], of: subscription.characteristic)
        }
    }
}
