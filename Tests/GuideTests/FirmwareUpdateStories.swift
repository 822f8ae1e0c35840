import BluetoothLE
import TestSupport
import Testing

/// Docs/Guide/FirmwareUpdate.md
@Suite struct FirmwareUpdateStories {
    /// An MCUboot image of version 1.2.3.4.
    private static let image = hex(
        "3DB8F3960000000040000C00050000000000000001020300040000000000000000000000000000000000000000"
            + "0000000000000000000000000000000000000068656C6C6F08690C00500004000700000007692F0010002000BA"
            + "EB4D18412050DAA63DD28A88F44B64F9DE7BC96211F04925631C1C24B9D89922000300736967")

    @Test func aDeviceIsUpdated() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let device = try await Adapter.open(on: fixture.radio.makeKernel())
            let server = Task(executorPreference: fixture.radio.loop) {
                try await FirmwareUpdatePage.beTheDevice(device)
            }
            let found = try await adapter.firstAdvertisement { $0.localName == "Updatable" }
            let connection = try await adapter.connect(to: try #require(found.address))
            try await FirmwareUpdatePage.fromAProgram(connection, Self.image)
            #expect(fixture.lines == ["128 of 128 bytes"])
            await connection.disconnect()
            server.cancel()
            _ = await server.result
            await device.close()
        }
    }
}
