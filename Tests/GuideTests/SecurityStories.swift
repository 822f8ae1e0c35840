import SimulatedKernel
import Testing

@testable import BluetoothLE

/// Docs/Guide/Security.md
@Suite struct SecurityStories {
    @Test func levels() async throws {
        try await World.withAdapter { world, adapter in
            try await SecurityPage.levels(adapter, world.sensor.address)
            #expect(world.lines == ["encrypted, 16-byte key true false"])
        }
    }

    @Test func whatADeviceDemands() async throws {
        try await World.withAdapter { world, adapter in
            try await SecurityPage.whatADeviceDemands(adapter, world.sensor.address)
            #expect(world.lines == ["low"])
        }
    }

    @Test func pairing() async throws {
        try await World.withConnection { world, adapter, connection in
            try await SecurityPage.pairing(adapter, connection)
            #expect(world.lines == ["encrypted, 16-byte key bonded"])
        }
    }

    @Test func comparingNumbers() async throws {
        try await World.withConnection { world, adapter, connection in
            world.sensor.peripheral.setSecurity(SimulatedSecurity(ioCapability: .displayYesNo))
            try await SecurityPage.pairing2(adapter)
            let outcome = try await connection.pair(to: .fips)
            #expect(outcome.isBonded)
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.hasPrefix("does \(world.sensor.address) show ") == true)
        }
    }
}
