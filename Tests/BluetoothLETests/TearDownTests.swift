import BluetoothSimulation
import BluetoothGATT
import TestSupport
import Testing

import BluetoothLE

/// The end of a simulation.
@Suite struct TearDownTests {
    private struct WeakRadio: @unchecked Sendable {
        weak let radio: SimulatedRadio?
    }

    /// A simulation that ends as soon as this side has closed a link with an outstanding request, whose channel is kept
    /// for a time.
    private static func closeALink() async throws -> WeakRadio {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let server = try SimulatedGATTServer([
            GATTService(0xFFF0, characteristics: [GATTCharacteristic(0xFFF4, properties: .read, value: .stored([1]))])
        ])
        let device = SimulatedPeripheral(on: radio, gatt: server)
        try await radio.run {
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(to: device.address)
            device.setMute(true)
            let handle = try #require(server.handle(of: 0xFFF4, in: 0xFFF0))
            let error = await failure { _ = try await connection.read(handle, timeout: .seconds(1)) }
            #expect(error?.code == .timedOut)
            await connection.disconnect(timeout: .zero)
        }
        radio.close()
        return WeakRadio(radio: radio)
    }

    @Test func aRadioIsReleasedAlthoughALinkWasJustClosed() async throws {
        let released = try await Self.closeALink()
        // Its own thread releases it.
        for _ in 0..<1000 where released.radio != nil { try await ContinuousClock().sleep(for: .milliseconds(5)) }
        #expect(released.radio == nil)
    }
}
