import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import Testing

struct FaultTests {
    @Test func blockingTheRadioResetsItsLinks() async throws {
        try await withEcho { _, kernel, peripheral in
            let channel = try await kernel.link(to: peripheral.address)
            kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            #expect(await channel.end() == KernelError("recv", .connectionReset))
            #expect(throws: KernelError("connect", .hostUnreachable)) { try kernel.connect(to: peripheral.address) }
            kernel.setRadioSwitch(adapter: 0)
            // Unblocking does not power on.
            #expect(throws: KernelError("connect", .hostUnreachable)) { try kernel.connect(to: peripheral.address) }
        }
    }

    @Test func pullingAnAdapterOutAbortsWhatIsGoingOn() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let echo = Echo()
        let (near, far) = (SimulatedPeripheral(on: radio) { _ in echo }, SimulatedPeripheral(on: radio))
        far.setHidden(true)
        try await radio.run {
            let connected = try await kernel.link(to: near.address)
            let connecting = try kernel.connect(to: far.address)
            kernel.unplug(0)
            #expect(await connected.end() == KernelError("recv", .connectionAborted))
            #expect(await connecting.end() == KernelError("connect", .connectionAborted))
            // The other side only notices after the supervision timeout.
            #expect(echo.log.withLock { $0 } == [])
            try await radio.sleep(for: .milliseconds(421))
            #expect(echo.log.withLock { $0 } == ["disconnected 8"])
        }
    }

    @Test func lossAndJitterNeverChangeTheOrder() async throws {
        let radio = SimulatedRadio(seed: 3)
        radio.conditions.packetLoss = 0.3
        radio.conditions.latency = .milliseconds(5)
        radio.conditions.jitter = .milliseconds(80)
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
        try await radio.run {
            let channel = try await kernel.link(to: peripheral.address)
            for value in 0..<100 { #expect(channel.send([UInt8(value)]) == .sent) }
            for value in 0..<100 { #expect(await channel.nextPacket() == [UInt8(value)]) }
        }
    }

    @Test func comingBackIntoRangeInTimeSavesTheLink() async throws {
        try await withEcho { radio, kernel, peripheral in
            let channel = try await kernel.link(to: peripheral.address)
            peripheral.setHidden(true)
            channel.send([1])
            try await radio.sleep(for: .milliseconds(400))
            peripheral.setHidden(false)
            #expect(await channel.nextPacket() == [1])
        }
    }

    @Test func aBrokenLinkTellsItsReason() async throws {
        let table: [(HCIStatus, ErrorNumber)] = [
            (.connectionTimeout, .timedOut), (.remoteUserTerminatedConnection, .connectionReset),
            (.connectionTerminatedByLocalHost, .connectionAborted), (.authenticationFailure, .accessDenied),
            (.connectionTerminatedMICFailure, .notImplemented),
        ]
        for (reason, number) in table {
            try await withEcho { _, kernel, peripheral in
                let channel = try await kernel.link(to: peripheral.address)
                peripheral.breakLinks(reason: reason)
                #expect(await channel.end() == KernelError("recv", number))
            }
        }
    }

    @Test func manyConnectionsAreMadeOneByOne() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripherals = (0..<8).map { _ in SimulatedPeripheral(on: radio) { _ in Echo() } }
        try await radio.run {
            let start = radio.now
            let channels = try peripherals.map { try kernel.connect(to: $0.address) }
            for channel in channels { #expect(await channel.tap.next() == .writable) }
            #expect(start.duration(to: radio.now) < .seconds(5))
            #expect(kernel.links(adapter: 0).count == 8)
            #expect(Set(try channels.map { try $0.l2cap?.connectionHandle() }).count == 8)
        }
    }

    @Test func theWrongKindOfAddressIsSearchedForInVain() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio)
        let wrong = BluetoothAddress(peripheral.address.value, kind: .public)
        try await radio.run {
            let channel = try kernel.connect(to: wrong, options: L2CAPOptions(connectTimeout: .seconds(8)))
            #expect(await channel.end() == KernelError("connect", .connectionRefused))
        }
    }

    @Test func aPeerThatNeverAnswersAPairingCostsTheLinkAfterThirtySeconds() async throws {
        try await withEcho { radio, kernel, peripheral in
            peripheral.setSecurity(SimulatedSecurity(response: .silence))
            let channel = try await kernel.link(to: peripheral.address)
            let start = radio.now
            try channel.l2cap?.raiseSecurity(to: .medium)
            #expect(await channel.end() == KernelError("recv", .accessDenied))
            #expect(start.duration(to: radio.now) < .seconds(31))
        }
    }

    @Test func whilePlainAdvertisingIsOnConnectingFails() async throws {
        try await withEcho { radio, kernel, peripheral in
            let management = try kernel.management()
            #expect(try await management.status(of: ManagementSetAdvertising(.connectable), on: 0) == .success)
            let channel = try kernel.connect(to: peripheral.address)
            try await radio.sleep(for: .seconds(1))
            #expect(throws: KernelError("connect", .busy)) { try kernel.connect(to: peripheral.address) }
            #expect(await channel.end() == KernelError("connect", .hostDown))
        }
    }

    @Test func aPeripheralGetsTheConnectionParametersItAsksFor() async throws {
        try await withEcho { radio, kernel, peripheral in
            let management = try kernel.management()
            let channel = try await kernel.link(to: peripheral.address)
            peripheral.requestConnectionParameters(
                LEConnectionParameters(
                    intervalMinimum: 6, intervalMaximum: 6, latency: 0, supervisionTimeout: 100))
            let told = await management.event(after: "New Connection Parameter")
            #expect(told?.contains("interval 6-6") == true)
            try await radio.sleep(for: .milliseconds(500))
            let start = radio.now
            channel.send([1])
            #expect(await channel.nextPacket() == [1])
            #expect(start.duration(to: radio.now) <= .milliseconds(15))
        }
    }

    @Test func anOverflowCanFailTheStory() async throws {
        let radio = SimulatedRadio()
        radio.conditions.failsOnOverflow = true
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
        await #expect(throws: SimulationOverflowed.self) {
            try await radio.run {
                let channel = try kernel.connect(
                    to: peripheral.address, options: L2CAPOptions(receiveBuffer: 1))
                #expect(await channel.tap.next() == .writable)
                channel.socket.setReading(false)
                for _ in 0..<10 { channel.send([1]) }
                try await radio.sleep(for: .seconds(1))
            }
        }
    }

    @Test func aNewAdapterSettlesBeforeItIsDown() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [])
        let somebody = try #require(BluetoothAddress("C0:00:00:00:00:01", kind: .random))
        try await radio.run {
            #expect(kernel.plug(.fresh) == 0)
            #expect(throws: KernelError("connect", .connectionRefused)) { try kernel.connect(to: somebody) }
            try await radio.sleep(for: .seconds(3))
            #expect(throws: KernelError("connect", .hostUnreachable)) { try kernel.connect(to: somebody) }
        }
    }
}
