import BluetoothPrimitives
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

struct SecurityTests {
    /// A central with a management socket, connected to a peripheral.
    fileprivate struct Fixture {
        let radio = SimulatedRadio()
        let kernel: SimulatedKernel
        let peripheral: SimulatedPeripheral

        init(_ security: SimulatedSecurity = SimulatedSecurity()) {
            kernel = radio.makeKernel()
            peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
            peripheral.setSecurity(security)
        }

        func connect(_ options: L2CAPOptions = L2CAPOptions()) async throws -> Channel {
            let channel = try await kernel.link(to: peripheral.address, options: options)
            return channel
        }

        /// A management socket that accepts bonds, with Secure Connections.
        func management(_ capability: IOCapability = .noInputNoOutput) async throws -> Channel {
            let management = try kernel.management()
            for command: any ManagementCommand in [
                ManagementSetBondable(true), ManagementSetSecureSimplePairing(true),
                ManagementSetSecureConnections(.on),
                ManagementSetIOCapability(capability), ManagementLoadLongTermKeys([]),
            ] as [any ManagementCommand] {
                #expect(try await management.status(of: command, on: 0) == .success)
            }
            return management
        }
    }

    @Test func justWorksIsConfirmedAndReachesTheMediumLevel() async throws {
        let fixture = Fixture()
        try await fixture.radio.run {
            let management = try await fixture.management()
            let channel = try await fixture.connect()
            let socket = try #require(channel.l2cap)
            #expect(try socket.security() == LinkSecurity(level: .low, keySize: 0))
            #expect(throws: KernelError("setsockopt(BT_SECURITY)", .invalidArgument)) {
                try socket.raiseSecurity(to: .low)
            }
            try socket.raiseSecurity(to: .medium)
            #expect(channel.send([1]) == .failed(KernelError("send", .notConnected)))
            #expect(throws: KernelError("getsockopt(L2CAP_CONNINFO)", .notConnected)) {
                try socket.connectionHandle()
            }
            socket.notifyWhenWritable()
            let peer = ManagementAddress(fixture.peripheral.address)
            #expect(await management.event(after: "User Confirmation Request") != nil)
            // Pairing waits for the confirmation.
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(channel.tap.pending.isEmpty)
            #expect(try await management.status(of: ManagementUserConfirmationReply(peer), on: 0) == .success)
            #expect(await channel.tap.next() == .writable)
            #expect(try socket.security() == LinkSecurity(level: .medium, keySize: 16))
            #expect(channel.send([1]) == .sent)
            let key = await management.event(after: "New Long Term Key")
            #expect(key?.contains("unauthenticated") == true)
        }
    }

    @Test func aBondedDeviceIsEncryptedWithoutQuestions() async throws {
        let fixture = Fixture()
        try await fixture.radio.run {
            let management = try await fixture.management()
            let channel = try await fixture.connect()
            try await fixture.pair(channel, management, to: .medium)
            fixture.peripheral.disconnect()
            _ = await channel.end()
            let again = try await fixture.connect()
            try again.l2cap?.raiseSecurity(to: .medium)
            again.socket.notifyWhenWritable()
            #expect(await again.tap.next() == .writable)
            #expect(try again.l2cap?.security() == LinkSecurity(level: .medium, keySize: 16))
            // The other side has lost its key: the link ends.
            fixture.peripheral.disconnect()
            _ = await again.end()
            fixture.peripheral.forgetBonds()
            let third = try await fixture.connect()
            try third.l2cap?.raiseSecurity(to: .medium)
            #expect(await third.end() == KernelError("recv", .accessDenied))
            // After the two that the peripheral has ended.
            for _ in 0..<2 { _ = await management.event(after: "Device Disconnected") }
            let told = await management.event(after: "Device Disconnected")
            #expect(told?.contains("authentication failure") == true)
        }
    }

    @Test func aPeerThatRefusesLeavesTheSocketStuck() async throws {
        let fixture = Fixture(SimulatedSecurity(response: .refuse))
        try await fixture.radio.run {
            let management = try await fixture.management()
            let channel = try await fixture.connect()
            try channel.l2cap?.raiseSecurity(to: .medium)
            channel.socket.notifyWhenWritable()
            #expect(await management.event(after: "Authentication Failed") != nil)
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(channel.tap.pending.isEmpty)
            #expect(channel.send([1]) == .failed(KernelError("send", .notConnected)))
            #expect(fixture.peripheral.links.count == 1)
        }
    }

    @Test func aPeerThatNeverAnswersCostsTheLinkAfterThirtySeconds() async throws {
        let fixture = Fixture(SimulatedSecurity(response: .silence))
        try await fixture.radio.run {
            let channel = try await fixture.connect()
            let start = fixture.radio.now
            try channel.l2cap?.raiseSecurity(to: .medium)
            #expect(await channel.end() == KernelError("recv", .accessDenied))
            #expect(start.duration(to: fixture.radio.now) < .seconds(31))
        }
    }

    @Test func numericComparisonReachesTheHighestLevel() async throws {
        let fixture = Fixture(SimulatedSecurity(ioCapability: .displayYesNo, requiresProtection: true))
        try await fixture.radio.run {
            let management = try await fixture.management(.displayYesNo)
            let channel = try await fixture.connect()
            try await fixture.pair(channel, management, to: .high)
            #expect(try channel.l2cap?.security() == LinkSecurity(level: .fips, keySize: 16))
        }
    }

    @Test func thePasskeyOfAPeripheralHasToBeRight() async throws {
        let security = SimulatedSecurity(ioCapability: .displayOnly, requiresProtection: true, passkey: 4711)
        for (entered, isRight) in [(4711 as UInt32, true), (1174, false)] {
            let fixture = Fixture(security)
            try await fixture.radio.run {
                let management = try await fixture.management(.keyboardOnly)
                let channel = try await fixture.connect()
                try channel.l2cap?.raiseSecurity(to: .high)
                channel.socket.notifyWhenWritable()
                #expect(await management.event(after: "User Passkey Request") != nil)
                let reply = ManagementUserPasskeyReply(
                    ManagementAddress(fixture.peripheral.address), passkey: entered)
                #expect(try await management.status(of: reply, on: 0) == .success)
                if isRight {
                    #expect(await channel.tap.next() == .writable)
                } else {
                    #expect(await management.event(after: "Authentication Failed") != nil)
                }
            }
        }
    }

    @Test func anIdentityIsKnownBehindChangingAddresses() async throws {
        let identity = try #require(BluetoothAddress("C1:22:33:44:55:66", kind: .random))
        let onAir = try #require(BluetoothAddress("4A:00:00:00:00:01", kind: .random))
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio, address: onAir) { _ in Echo() }
        peripheral.setSecurity(SimulatedSecurity(identity: identity))
        try await radio.run {
            let management = try kernel.management()
            for command: any ManagementCommand in [
                ManagementSetBondable(true), ManagementLoadIdentityResolvingKeys([]),
            ] as [any ManagementCommand] {
                #expect(try await management.status(of: command, on: 0) == .success)
            }
            let channel = try await kernel.link(to: onAir)
            try channel.l2cap?.raiseSecurity(to: .medium)
            channel.socket.notifyWhenWritable()
            #expect(await management.event(after: "User Confirmation Request") != nil)
            let reply = ManagementUserConfirmationReply(ManagementAddress(onAir))
            #expect(try await management.status(of: reply, on: 0) == .success)
            #expect(await channel.tap.next() == .writable)
            #expect(channel.peer == onAir)
            try await radio.settle { channel.peer == identity }
            peripheral.disconnect()
            _ = await channel.end()
            let newAddress = try #require(BluetoothAddress("5B:00:00:00:00:02", kind: .random))
            peripheral.setAdvertisements([SimulatedAdvertisement(address: newAddress)])
            let again = try await kernel.link(to: identity)
            #expect(again.peer == identity)
        }
    }

    @Test func pairDevicePairsAndTellsWhenItIsDone() async throws {
        let fixture = Fixture()
        try await fixture.radio.run {
            let (management, agent) = (try await fixture.management(), try fixture.kernel.management())
            let peer = ManagementAddress(fixture.peripheral.address)
            let pair = ManagementPairDevice(peer, .noInputNoOutput)
            #expect(management.send(try pair.packet(for: 0)) == .sent)
            #expect(await agent.event(after: "User Confirmation Request") != nil)
            #expect(try await agent.status(of: ManagementUserConfirmationReply(peer), on: 0) == .success)
            #expect(await management.event(after: "Command Complete: Pair Device")?.contains("success") == true)
            #expect(try await agent.status(of: ManagementUnpairDevice(peer, disconnect: true), on: 0) == .success)
            #expect(try await agent.status(of: ManagementUnpairDevice(peer, disconnect: true), on: 0) == .notPaired)
        }
    }
}

extension SecurityTests.Fixture {
    fileprivate func pair(_ channel: Channel, _ management: Channel, to level: SecurityLevel) async throws {
        try channel.l2cap?.raiseSecurity(to: level)
        channel.socket.notifyWhenWritable()
        #expect(await management.event(after: "User Confirmation Request") != nil)
        let reply = ManagementUserConfirmationReply(ManagementAddress(peripheral.address))
        #expect(try await management.status(of: reply, on: 0) == .success)
        #expect(await channel.tap.next() == .writable)
    }
}

extension Channel {
    /// The next event whose description begins with this text.
    func event(after beginning: String) async -> String? {
        while let event = await nextEvent() {
            if event.hasPrefix(beginning) { return event }
        }
        return nil
    }
}
