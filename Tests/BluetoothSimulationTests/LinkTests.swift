import BluetoothPrimitives
import BluetoothHCI
import BluetoothSimulation
import Testing

struct LinkTests {
    @Test func aCentralConnectsToAPeripheralAndTalks() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let echo = Echo()
        let peripheral = SimulatedPeripheral(on: radio) { _ in echo }
        try await radio.run {
            let channel = try kernel.connect(to: peripheral.address)
            #expect(channel.send([1]) == .failed(KernelError("send", .notConnected)))
            #expect(await channel.tap.next() == .writable)
            #expect(try channel.l2cap?.connectionHandle() == 1)
            #expect(channel.l2cap?.peer == peripheral.address)
            #expect(channel.send([0x02, 0x05, 0x02]) == .sent)
            #expect(await channel.nextPacket() == [0x02, 0x05, 0x02])
            channel.socket.close()
            // The link outlives the last socket by two seconds.
            try await radio.sleep(for: .milliseconds(1900))
            #expect(peripheral.links.count == 1)
            try await radio.sleep(for: .milliseconds(500))
            #expect(peripheral.links.isEmpty)
            #expect(echo.log.withLock { $0 } == ["020502", "disconnected 19"])
        }
    }

    @Test func nobodyToConnectToEndsWithTheTimeOut() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let nobody = try #require(BluetoothAddress("C0:00:00:00:00:01", kind: .random))
        try await radio.run {
            let start = radio.now
            let channel = try kernel.connect(to: nobody)
            #expect(await channel.tap.next() == .closed(KernelError("connect", .connectionRefused)))
            #expect(start.duration(to: radio.now) == .seconds(40))
            let hasty = try kernel.connect(to: nobody, options: L2CAPOptions(connectTimeout: .seconds(3)))
            let second = radio.now
            #expect(await hasty.tap.next() == .closed(KernelError("connect", .connectionRefused)))
            #expect(second.duration(to: radio.now) == .seconds(3))
        }
    }

    @Test func aLinkThatIsNotEstablishedEndsTheAttempt() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio)
        peripheral.setRefusal(.connectionFailedToBeEstablished)
        try await radio.run {
            let channel = try kernel.connect(to: peripheral.address)
            #expect(await channel.tap.next() == .closed(KernelError("connect", .notImplemented)))
        }
    }

    @Test func outOfRangeIsNoticedByTheSupervisionTimeOut() async throws {
        try await withEcho { radio, kernel, peripheral in
            let channel = try await kernel.link(to: peripheral.address)
            let start = radio.now
            peripheral.setHidden(true)
            #expect(await channel.tap.next() == .closed(KernelError("recv", .timedOut)))
            #expect(start.duration(to: radio.now) == .milliseconds(420))
        }
    }

    @Test func aFullSocketBlocksAndTellsWhenItTakesPacketsAgain() async throws {
        try await withEcho { radio, kernel, peripheral in
            let channel = try await kernel.link(to: peripheral.address, options: L2CAPOptions(sendBuffer: 2304))
            peripheral.setReceiving(false)
            var sent = 0
            while channel.send([UInt8](repeating: 0, count: 20)) == .sent { sent += 1 }
            // A dozen in the controller, six in the socket.
            #expect(sent == 18)
            channel.socket.notifyWhenWritable()
            try await radio.sleep(for: .seconds(1))
            #expect(channel.tap.pending.isEmpty)
            peripheral.setReceiving(true)
            // The first packets are echoed in the event in which the others are sent.
            var event = await channel.tap.next()
            while event == .readable { event = await channel.tap.next() }
            #expect(event == .writable)
            #expect(channel.send([1]) == .sent)
            #expect(channel.send([UInt8](repeating: 0, count: 673)) == .failed(KernelError("send", .messageTooLong)))
        }
    }

    /// Linux ends a link when its controller has returned no buffer for 45 s, and a packet follows (`hci_link_tx_to`).
    @Test func aLinkThatItsControllerHasForgottenEndsWhenNoBufferComesBack() async throws {
        try await withEcho { radio, kernel, peripheral in
            let channel = try await kernel.link(to: peripheral.address)
            kernel.forgetState(adapter: 0)
            for _ in 0..<12 { #expect(channel.send([1]) == .sent) }
            try await radio.sleep(for: .seconds(45))
            #expect(channel.send([1]) == .sent)
            try await radio.sleep(for: .seconds(1))
            #expect(channel.tap.pending.isEmpty)
            #expect(kernel.links(adapter: 0) == [peripheral.address])
            #expect(channel.send([1]) == .sent)
            #expect(await channel.tap.next() == .closed(KernelError("recv", .notConnected)))
            #expect(kernel.links(adapter: 0).isEmpty)
        }
    }
}
