import BluetoothSimulation
import Synchronization
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// What an adapter and a group of adapters can both do.
@Suite struct CentralTests {
    private static func use(_ central: some Central, _ address: BluetoothAddress) async throws {
        #expect(try await central.devices(for: .seconds(2)).map(\.advertisement.address) == [address])
        let found = try await central.firstAdvertisement()
        #expect(found.rssi != nil)
        let connection = try await central.connect(to: found)
        #expect(connection.peer == address)
        await connection.disconnect()
        #expect(try await central.withConnection(to: address) { await $0.adapterName } == "hci0")
        let kept = try central.keepConnected(to: found)
        #expect(try await kept.connected().peer == address)
        await kept.disconnect()
        #expect(await central.run { central.loop.isCurrent })
    }

    @Test func anAdapterAndAGroupAreUsedAlike() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            try await Self.use(fixture.adapters[0], peripheral.address)
            try await Self.use(fixture.group, peripheral.address)
        }
    }

    @Test(arguments: [false, true]) func theHandlerOfTheEndIsCalledByTheClosing(ofGroup: Bool) async throws {
        try await GroupFixture.run { fixture in
            let central: any Central = ofGroup ? fixture.group : fixture.adapters[0]
            let codes = Mutex<[BluetoothError.Code]>([])
            let closed = fixture.base.begin {
                await central.closed { reason in codes.withLock { $0.append(reason.code) } }
            }
            try await fixture.radio.sleep(for: .milliseconds(1))
            if ofGroup { await fixture.group.close() } else { await fixture.adapters[0].close() }
            #expect(codes.withLock { $0 } == [.cancelled])
            #expect(try await closed.value.code == .cancelled)
            // It is closed already.
            #expect(await central.closed().code == .cancelled)
        }
    }

    @Test func theBondsOfAGroupAreThoseOfItsAdapters() async throws {
        try await GroupFixture.run { fixture in
            let phone = try PrivateDevice(fixture.base)
            #expect(await fixture.group.bonds().isEmpty)
            try await fixture.adapters[1].setBond(
                Bond(identity: PrivateDevice.own, identityResolvingKey: phone.identity.key))
            #expect(await fixture.group.bonds().map(\.identity) == [PrivateDevice.own])
        }
    }
}
