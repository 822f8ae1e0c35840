import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Docs/Guide/Security.md
@Suite struct SecurityStories {
    @Test func levels() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SecurityPage.levels(adapter, fixture.sensor.address)
            #expect(fixture.lines == ["encrypted, 16-byte key true false"])
        }
    }

    @Test func securityThatADeviceRequires() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SecurityPage.securityThatADeviceRequires(adapter, fixture.sensor.address)
            #expect(fixture.lines == ["low"])
        }
    }

    @Test func pairing() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            try await SecurityPage.pairing(adapter, connection)
            #expect(fixture.lines == ["encrypted, 16-byte key bonded"])
        }
    }

    @Test func comparingNumbers() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.sensor.peripheral.setSecurity(SimulatedSecurity(ioCapability: .displayYesNo))
            try await SecurityPage.pairing2(adapter)
            let connection = try await adapter.connect(to: fixture.sensor.address)
            #expect(try await connection.pair(to: .fips).isBonded)
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.hasPrefix("does \(fixture.sensor.address) show ") == true)
        }
    }

    @Test func outOfBandData() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            try await SecurityPage.outOfBandData(connection)
            #expect(fixture.lines.isEmpty)
        }
    }

    @Test(arguments: [(16, nil), (15, .keyTooShort)] as [(Int, PairingFailure?)])
    func aMinimumKeySize(_ size: Int, _ expected: PairingFailure?) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            var security = SimulatedSecurity()
            security.maximumKeySize = size
            fixture.sensor.peripheral.setSecurity(security)
            let address = fixture.sensor.address
            let error = await failure { try await SecurityPage.aMinimumKeySize(adapter, address) }
            #expect(error?.pairingFailure == expected)
            #expect(fixture.lines == (expected == nil ? ["16"] : []))
        }
    }

    @Test func outOfBandDataOfThisMachine() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SecurityPage.outOfBandData2(adapter)
            #expect(fixture.lines == ["BLE-OOB: 83 48"])
        }
    }
}
