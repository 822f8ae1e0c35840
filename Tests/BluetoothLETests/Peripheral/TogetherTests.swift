import BluetoothKernelHost
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Several programs on one adapter, as they would be under a daemon.
@Suite struct TogetherTests {
    /// Opens the adapter as another program does.
    private static func other(_ fixture: PeripheralFixture, _ log: LogRecorder = LogRecorder()) async throws -> Adapter
    {
        try await Adapter.open(power: .powerOn, configuration: .init(log: log.log), on: fixture.kernel)
    }

    private static let otherServer = "another program serves"

    @Test func aConnectableAdvertisementLeavesTheLinksToTheServerBesideIt() async throws {
        try await PeripheralFixture.run { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let served = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let log = LogRecorder()
            let other = try await Self.other(fixture, log)
            let set = try await other.advertise(AdvertisementContent(localName: "plain"))
            #expect(await !other.session.isServing)
            #expect(log.lines.contains { $0.contains("left to another program") })
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(try await connection.read(value) == [7])
            await connection.disconnect()
            // Alone again, it serves what there always is.
            await set.close()
            await served.close()
            await published.close()
            let again = try await other.advertise(AdvertisementContent(localName: "plain"))
            #expect(await other.session.isServing)
            await again.close()
            #expect(await !other.session.isServing)
            await other.close()
        }
    }

    @Test(arguments: [true, false]) func aServerBesideAnotherSaysSo(_ isAccepting: Bool) async throws {
        try await PeripheralFixture.run { fixture in
            let log = LogRecorder()
            let first = try await Self.other(fixture, log)
            let published = try await first.publish([PeripheralFixture.service])
            let accepted = isAccepting ? try await first.incomingConnections() : nil
            #expect(!log.lines.contains { $0.contains(Self.otherServer) })
            let second = try await Self.other(fixture, log)
            let links = isAccepting ? try await second.incomingConnections() : nil
            let other = try await second.publish([PeripheralFixture.service])
            #expect(log.lines.count { $0.contains(Self.otherServer) } == 1)
            // A program that has ended is not another one.
            await first.close()
            await second.close()
            let third = try await Self.other(fixture, log)
            let last = try await third.publish([PeripheralFixture.service])
            #expect(log.lines.count { $0.contains(Self.otherServer) } == 1)
            await third.close()
            withExtendedLifetime((published, accepted, links, other, last)) {}
        }
    }

    @Test func aProgramIsNotAnotherBesideItself() async throws {
        try await PeripheralFixture.run { fixture in
            let log = LogRecorder()
            let adapter = try await Self.other(fixture, log)
            let links = try await adapter.incomingConnections()
            let set = try await adapter.advertise(PeripheralFixture.content)
            #expect(await !adapter.session.isServing)
            // It begins to listen before it ceases to.
            links.close()
            try await fixture.base.settle { await adapter.session.isServing }
            let again = try await adapter.incomingConnections()
            again.close()
            #expect(!log.lines.contains { $0.contains("another program") })
            await set.close()
            await adapter.close()
        }
    }

    @Test func aSetReplacesNoneThatAnotherProgramIsAboutToSend() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = try await Self.other(fixture)
            let marks = AdapterMarks(of: adapter.information, on: fixture.kernel)
            let mark = try #require(marks.hold(.advertising, 1))
            let set = try await adapter.advertise(PeripheralFixture.content)
            #expect(set.instance == 2)
            withExtendedLifetime(mark) {}
            await set.close()
            await adapter.close()
        }
    }

    // MARK: After a kill

    /// Sets an advertising instance as a killed program leaves it.
    private static func leaveInstance(_ number: UInt8, _ fixture: PeripheralFixture) async throws {
        try await fixture.peripheral.sendToManagement(
            ManagementAddAdvertising(instance: number, flags: .connectable), to: 0)
    }

    @Test func onlyWhatNoProgramHasIsCleared() async throws {
        try await PeripheralFixture.run { fixture in
            try await Self.leaveInstance(1, fixture)
            let log = LogRecorder()
            let living = try await Self.other(fixture, log)
            let set = try await living.advertise(PeripheralFixture.content)
            #expect(set.instance == 2)
            #expect(log.lines.count { $0.contains("the advertising instances [1] belong to no running program") } == 1)
            let other = try await Self.other(fixture)
            #expect(try await other.removeForeignAdvertising() == 1)
            #expect(try await other.removeForeignAdvertising() == 0)
            #expect(set.state == .advertising)
            #expect(await fixture.isHeard() != nil)
            // Nothing is left to report.
            let next = try await living.advertise(AdvertisementContent(localName: "next"))
            #expect(log.lines.count { $0.contains("no running program") } == 1)
            await set.close()
            await next.close()
            await living.close()
            await other.close()
        }
    }

    private static func leftovers(_ fixture: PeripheralFixture) async -> [Diagnosis.Finding] {
        await Diagnosis.run(on: fixture.kernel).findings.filter { $0.subject == "hci0" && $0.verdict == .warning }
    }

    @Test func theDiagnosisNamesWhatAKilledProgramLeft() async throws {
        try await PeripheralFixture.run { fixture in
            #expect(await Self.leftovers(fixture).isEmpty)
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let scanning = fixture.base.begin { for try await _ in try await fixture.peripheral.scan() {} }
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(await Self.leftovers(fixture).isEmpty)
            scanning.cancel()
            _ = await failure { try await scanning.value }
            try await Self.leaveInstance(2, fixture)
            let instances = await Self.leftovers(fixture)
            #expect(instances.count == 1)
            #expect(instances.first?.detail.contains("advertising instance 2") == true)
            #expect(instances.first?.detail.contains("advertising instance 1") == false)
            #expect(instances.first?.remedy?.contains("sudo ble advertise --clear -i hci0 ") == true)
            try await fixture.peripheral.removeForeignAdvertising()
            let killed = try RawProgram(fixture.base)
            try killed.scan()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let scans = await Self.leftovers(fixture)
            #expect(scans.count == 1)
            #expect(scans.first?.remedy?.contains("sudo ble scan --for 1 -i hci0 ") == true)
            // What it advises helps.
            _ = await failure { _ = try await fixture.peripheral.firstAdvertisement(timeout: .seconds(1)) }
            try await fixture.base.settle { await Self.leftovers(fixture).isEmpty }
            killed.close()
            await set.close()
        }
    }

    @Test func theDiagnosisNamesTheSettingsOfPairing() async throws {
        try await PeripheralFixture.run { fixture in
            func details() async -> [String] { await Diagnosis.run(on: fixture.kernel).findings.map(\.detail) }
            #expect(await !details().contains { $0.contains("bondable") })
            for command: any ManagementCommand in [
                ManagementSetBondable(true), ManagementSetSecureSimplePairing(true),
                ManagementSetSecureConnections(.on),
            ] as [any ManagementCommand] {
                try await fixture.peripheral.sendToManagement(command, to: 0)
            }
            #expect(await details().contains { $0.hasPrefix("bondable, secure connections, set by a program") })
            // Under the daemon they are its own.
            fixture.kernel.isBluetoothDaemonRunning = true
            #expect(await !details().contains { $0.contains("set by a program") })
            #expect(await details().contains { $0.contains("replaced the keys") })
        }
    }

    // MARK: True reasons

    @Test(arguments: [true, false]) func whoeverRemovesAdvertisingIsTheDaemonOnlyIfItRuns(
        _ isRunning: Bool
    ) async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            fixture.kernel.isBluetoothDaemonRunning = isRunning
            let other = try await Self.other(fixture)
            try await other.sendToManagement(ManagementRemoveAdvertising(1), to: 0)
            let reason = await set.closed()
            #expect(reason.code == .busy)
            #expect((reason.remedy?.contains("BlueZ") == true) == isRunning)
            await other.close()
        }
    }

    @Test func aSwitchOfPrivacyByAnotherProgramIsNoLostKey() async throws {
        try await BondFixture.run { fixture in
            let log = LogRecorder()
            let peripheral = try await fixture.peripheral.open()
            let served = try await peripheral.serve(fixture.base)
            let central = try await fixture.central.open(log: log)
            let connection = try await fixture.connect(central)
            try await fixture.base.settle { await central.bond(with: BondFixture.peripheralAddress) != nil }
            await connection.disconnect()
            try await fixture.base.settle { served.links.connections.isEmpty }
            #expect(!log.lines.contains { $0.contains("private addresses") })
            let other = try await Adapter.open(
                power: .powerOn, configuration: .init(privacy: .on), on: fixture.central.kernel)
            try await central.ready(timeout: .seconds(30))
            #expect(log.lines.count { $0.contains("has switched the private addresses of hci0 on") } == 1)
            let error = await failure { _ = try await central.connect(to: BondFixture.peripheralAddress) }
            #expect(error?.pairingFailure == .keyMissing)
            #expect(error?.message.contains("another program has switched its private addresses") == true, "\(error)")
            #expect(error?.remedy?.contains("privacy") == true)
            await other.close()
            await central.close()
            await peripheral.close()
        }
    }
}
