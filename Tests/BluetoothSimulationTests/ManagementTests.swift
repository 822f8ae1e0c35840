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

    @Test func withoutPrivilegesOneMayOnlyLook() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        kernel.hasNetAdmin = false
        kernel.hasNetRaw = false
        try await radio.run {
            let management = try kernel.management()
            #expect(try await management.status(of: ManagementSetPowered(false), on: 0) == .permissionDenied)
            #expect(try await management.status(of: ManagementReadControllerInformation(), on: 0) == .success)
            #expect(try await management.status(of: ManagementReadControllerInformation(), on: 3) == .invalidIndex)
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(HCIReadBDADDR()) == .success)
            let enable = LESetExtendedScanEnable(isEnabled: true)
            #expect(scanner.send(try enable.packet()) == .failed(KernelError("send", .notPermitted)))
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

    @Test func anAdvertisingInstanceComesBackAfterTheLink() async throws {
        let radio = SimulatedRadio()
        let (central, peripheral) = (radio.makeKernel(), radio.makeKernel())
        let address = try #require(try peripheral.adapters().first?.address)
        try await radio.run {
            let management = try peripheral.management()
            let instance = ManagementAddAdvertising(
                instance: 1, flags: [.connectable, .generalDiscoverable], advertisingData: [3, 0xFF, 1, 2])
            #expect(try await management.reply(to: instance, on: 0) == 1)
            let scanner = try central.hci()
            _ = try await scanner.perform(extendedScan)
            _ = try await scanner.perform(LESetExtendedScanEnable(isEnabled: true))
            let (heard, data, properties) = try await scanner.nextReport()
            #expect(heard == address)
            #expect(data == [2, 1, 2, 3, 0xFF, 1, 2])
            #expect(properties == [.connectable, .scannable, .legacy])
            for _ in 0..<2 {
                let accepted = Accepted()
                let listener = try peripheral.listenL2CAP(
                    channel: .attribute, on: .zero, options: L2CAPOptions(), accepted.handler)
                let channel = try await central.link(to: address)
                let other = await accepted.next()
                channel.send([9])
                #expect(await other.nextPacket() == [9])
                #expect(
                    try await management.status(of: ManagementDisconnect(ManagementAddress(other.peer)), on: 0)
                        == .success)
                #expect(await channel.end() == KernelError("recv", .connectionReset))
                listener.close()
            }
        }
    }

    @Test func whatOthersDoIsRefusedAsBusy() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        kernel.setRefusal(.busy, of: .setPowered)
        try await radio.run {
            let management = try kernel.management()
            #expect(try await management.status(of: ManagementSetPowered(false), on: 0) == .busy)
        }
    }

    @Test func pluggingAndBlockingAreTold() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        try await radio.run {
            let management = try kernel.management()
            let scanner = try kernel.hci()
            kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            #expect(await management.nextEvent() == "New Settings: BR/EDR, LE")
            #expect(try await management.status(of: ManagementSetPowered(true), on: 0) == .failed)
            #expect(
                scanner.send(try HCIReadBDADDR().packet()) == .failed(KernelError("send", .networkDown)))
            #expect(kernel.environment().radioSwitches.first?.isSoftBlocked == true)
            kernel.unplug(0)
            #expect(await management.nextEvent() == "Index Removed")
            #expect(await scanner.end() == KernelError("recv", .brokenPipe))
            #expect(kernel.plug(.fresh) == 0)
            #expect(await management.nextEvent() == "Index Added")
        }
    }
}

extension Channel {
    var peer: BluetoothAddress { l2cap?.peer ?? .zero }

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
}

extension SimulatedKernel {
    func management() throws -> Channel {
        let tap = Tap()
        return Channel(socket: try openManagement(tap.handler), tap: tap)
    }
}
