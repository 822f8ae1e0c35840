import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import Testing

struct ManagementTests {
    @Test func aFreshAdapterIsSetUpStepByStep() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [.fresh])
        let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
        try await radio.run {
            let (management, observer) = (try kernel.management(), try kernel.management())
            #expect(try await management.reply(to: ManagementReadControllerIndexList()) == ManagementList([0]))
            #expect(throws: KernelError("connect", .hostUnreachable)) { try kernel.connect(to: peripheral.address) }
            #expect(
                try await management.reply(to: ManagementSetPowered(true), on: 0) == [.powered, .brEDR])
            #expect(await observer.nextEvent() == "New Settings: powered, BR/EDR")
            #expect(throws: KernelError("connect", .connectionRefused)) { try kernel.connect(to: peripheral.address) }
            #expect(
                try await management.reply(to: ManagementSetLowEnergy(true), on: 0)
                    == [.powered, .brEDR, .lowEnergy])
            let channel = try kernel.connect(to: peripheral.address)
            #expect(await channel.tap.next() == .writable)
        }
    }

    @Test func discoveryFindsAdvertisementsJoinedAndStopsByItself() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let address = try #require(BluetoothAddress("C0:00:00:00:00:01", kind: .random))
        SimulatedPeripheral(
            on: radio, address: address,
            advertisements: [SimulatedAdvertisement(data: [2, 1, 6], scanResponse: [2, 0x0A, 4])])
        try await radio.run {
            let management = try kernel.management()
            #expect(try await management.reply(to: ManagementStartDiscovery(.lowEnergy), on: 0) == .lowEnergy)
            let start = radio.now
            #expect(await management.nextEvent() == "Discovering: LE public, LE random, on")
            #expect(try await management.status(of: ManagementStartDiscovery(.lowEnergy), on: 0) == .busy)
            let found = await management.nextEvent()
            #expect(found?.contains("C0:00:00:00:00:01") == true && found?.contains("020106020A04") == true)
            #expect(await management.nextEvent() == "Discovering: LE public, LE random, off")
            #expect(start.duration(to: radio.now) == .milliseconds(10_240))
        }
    }
}

extension Channel {
    /// Sends a command and returns the status and the reply, nil for a refusal.
    private func answer<Command: ManagementCommand>(
        to command: Command, on index: UInt16
    ) async throws -> (ManagementStatus, Command.Reply?) {
        #expect(send(try command.packet(for: index)) == .sent)
        while let packet = await nextPacket() {
            let packet = try ManagementPacket(decoding: packet.span.bytes)
            if let event = try packet.commandComplete(), event.opcode == command.opcode {
                return (event.status, event.status.isSuccess ? try event.reply(to: Command.self) : nil)
            }
            if let event = try packet.as(ManagementCommandStatus.self), event.opcode == command.opcode {
                return (event.status, nil)
            }
        }
        throw KernelError("recv", .notConnected)
    }

    func status(of command: some ManagementCommand, on index: UInt16) async throws -> ManagementStatus {
        try await answer(to: command, on: index).0
    }

    func reply<Command: ManagementCommand>(
        to command: Command, on index: UInt16 = ManagementPacket.noController
    ) async throws -> Command.Reply? {
        try await answer(to: command, on: index).1
    }

    /// The description of the next event.
    func nextEvent() async -> String? {
        guard let packet = await nextPacket(), let header = try? ManagementPacket(decoding: packet.span.bytes),
            let text = try? header.eventText()
        else { return nil }
        return text
    }

    /// The next event whose description begins with this text.
    func event(after beginning: String) async -> String? {
        while let event = await nextEvent() {
            if event.hasPrefix(beginning) { return event }
        }
        return nil
    }
}

extension SimulatedKernel {
    func management() throws -> Channel {
        let tap = Tap()
        return Channel(socket: try openManagement(tap.handler), tap: tap)
    }
}
