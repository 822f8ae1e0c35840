import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let controller = SimulatedController(address: BluetoothAddress(0x00AA_0100_0042, kind: .public))

/// Links whose adapter is removed or powered off: every operation ends with the reason, and works again without another
/// `Adapter`.
@Suite struct AdapterLinkEndTests {
    @Test(arguments: Ending.allCases) func allOperationsEndWithTheReason(_ ending: Ending) async throws {
        try await Fixture.run([controller]) { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0x180F,
                    characteristics: [
                        GATTCharacteristic(0x2A19, properties: [.read, .notify], value: .stored([9]))
                    ])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            for round in 0..<3 {
                let connection = try await adapter.connect(to: peripheral.address)
                let characteristic = try #require(try await connection.discover().last?.characteristics.first)
                let values = try await connection.subscribe(to: characteristic)
                let scan = try await adapter.scan()
                let tasks = [
                    fixture.begin { for try await _ in values {} },
                    fixture.begin { while true { _ = try await connection.read(characteristic) } },
                    fixture.begin { while true { _ = try await connection.discoverServices() } },
                    fixture.begin { for try await _ in scan {} },
                    fixture.begin { throw await connection.disconnected() },
                    fixture.begin {
                        _ = try await adapter.connect(to: BluetoothAddress(0xC000_0000_0001, kind: .random))
                    },
                ]
                try await fixture.radio.sleep(for: .seconds(1))
                ending.happen(to: fixture.kernel, adapter: adapter.information.index)
                for (number, task) in tasks.enumerated() {
                    let error = await failure { try await task.value }
                    #expect(error?.code == ending.code, "round \(round), task \(number): \(String(describing: error))")
                    #expect(error?.isRetryable == false)
                }
                let reason = await connection.disconnected()
                #expect(reason.disconnectReason == ending.disconnectReason)
                #expect(reason.remedy != nil)
                #expect(reason.peer == peripheral.address)
                try await ending.undo(on: fixture.kernel, with: controller, adapter: adapter.information.index)
                if ending == .powerOff { try await adapter.setPowered(true) }
                try await adapter.ready(timeout: .seconds(5))
            }
            try await adapter.withConnection(to: peripheral.address) { connection in
                _ = try await connection.discover()
            }
        }
    }

    /// The kernel ends the links, with the error of a disconnection by the peer, while it still reports the adapter as
    /// up.
    @Test func anotherProgramPowersTheAdapterOff() async throws {
        try await Fixture.withPeripheral([controller]) { fixture, adapter, peripheral in
            let other = try await Adapter.open(on: fixture.kernel)
            var options = ScanOptions(duplicates: .all)
            options.whenAdapterUnavailable = .resume
            var heard = try await adapter.scan(options).makeAsyncIterator()
            let connection = try await adapter.connect(to: peripheral.address)
            try await fixture.radio.sleep(for: .seconds(1))
            let commands = try RawProgram(fixture)
            try await other.setPowered(false)
            let reason = await connection.disconnected()
            #expect(reason.code == .adapterOff)
            #expect(reason.disconnectReason == .adapterOff)
            #expect(reason.cause == .kernel(KernelError("recv", .connectionReset)))
            // Only the end of the scan and the disconnection; the scanner sends nothing.
            #expect(commands.commandCount == 2)
            try await other.setPowered(true)
            let back = fixture.radio.now
            while let advertisement = try await heard.next(), advertisement.time <= back {}
            await other.close()
        }
    }

    @Test func aLinkEndedByAnotherProgramIsNotAttributedToTheAdapter() async throws {
        try await Fixture.withLink([controller]) { fixture, adapter, peripheral, connection in
            let start = fixture.radio.now
            try await adapter.sendToManagement(ManagementDisconnect(ManagementAddress(peripheral.address)), to: 0)
            #expect(await connection.disconnected().code == .disconnected)
            #expect(start.duration(to: fixture.radio.now) < .seconds(6))
            #expect(await adapter.session.unexplainedEndCount == 0)
        }
    }

    @Test func aConnectionRetainsItsAdapterUntilItsEnd() async throws {
        try await Fixture.run([controller]) { fixture in
            let peripheral = try fixture.makePeripheral()
            let remains = Remains()
            let connection = try await {
                let adapter = try await Adapter.open(on: fixture.kernel)
                remains.keep(adapter)
                return try await adapter.connect(to: peripheral.address)
            }()
            fixture.kernel.setPowered(false, adapter: 0)
            #expect(await connection.disconnected().code == .adapterOff)
            try await fixture.settle { remains.isEmpty }
        }
    }

    @Test(arguments: [true, false]) func connectingWhileItIsOffFailsAtOnceOrWaits(_ waits: Bool) async throws {
        try await Fixture.withPeripheral([controller]) { fixture, adapter, peripheral in
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            let options = ConnectionOptions(timeout: .seconds(20), waitsForAdapter: waits)
            let time = await fixture.duration {
                let error = await failure { _ = try await adapter.connect(to: peripheral.address, options: options) }
                #expect(error?.code == .noAdapter)
            }
            #expect(time == (waits ? .seconds(20) : .zero))
            guard waits else { return }
            let connecting = fixture.begin { try await adapter.connect(to: peripheral.address, options: options) }
            try await fixture.radio.sleep(for: .seconds(10))
            fixture.kernel.plug(controller)
            await (try await connecting.value).disconnect()
        }
    }

    @Test func waitingForTheAdapterAndConnectingTakeTheTimeLimitTogether() async throws {
        try await Fixture.withAdapter([controller]) { fixture, adapter in
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle { adapter.state == .poweredOff }
            let options = ConnectionOptions(timeout: .seconds(20), waitsForAdapter: true)
            let nobody = BluetoothAddress(0xC000_0000_0099, kind: .random)
            let connecting = fixture.begin {
                await fixture.duration {
                    let error = await failure { _ = try await adapter.connect(to: nobody, options: options) }
                    #expect(error?.code == .timedOut)
                }
            }
            try await fixture.radio.sleep(for: .seconds(10))
            fixture.kernel.setPowered(true, adapter: 0)
            #expect(try await connecting.value == .seconds(20))
        }
    }
}

extension Ending {
    var disconnectReason: DisconnectReason {
        switch self {
        case .powerOff: .adapterOff
        case .unplug: .adapterRemoved
        case .block: .adapterBlocked
        }
    }

    /// Restores the adapter, as far as a machine does that automatically.
    fileprivate func undo(
        on kernel: SimulatedKernel, with controller: SimulatedController, adapter index: UInt16
    ) async throws {
        switch self {
        case .powerOff: break
        case .unplug:
            // Another adapter takes the index, so that it returns under another.
            if index == 0 { kernel.plug() }
            kernel.plug(controller)
        case .block: kernel.setRadioSwitch(adapter: index)
        }
    }
}
