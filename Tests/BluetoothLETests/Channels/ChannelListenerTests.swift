import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct ChannelListenerTests {
    @Test func theKernelPicksAPSM() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen()
            #expect((0x0080...0x00FF).contains(listener.psm))
            let channel = try await machines.central.openChannel(to: machines.peer, psm: listener.psm)
            var incoming = listener.makeAsyncIterator()
            let other = try #require(try await incoming.next())
            #expect(other.psm == listener.psm && channel.psm == listener.psm)
            let taken = await failure { _ = try await machines.peripheral.listen(psm: listener.psm) }
            #expect(taken?.code == .busy)
        }
    }

    @Test func wellKnownPSMsNeedACapability() async throws {
        try await TwoMachines.run { machines in
            let error = await failure { _ = try await machines.peripheral.listen(psm: 0x0025) }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("cap_net_bind_service") == true)
        }
    }

    @Test func theBacklogIsBounded() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085, backlog: 2)
            var opened: [ConnectionOrientedChannel] = []
            for _ in 0..<3 { opened.append(try await machines.central.openChannel(to: machines.peer, psm: 0x0085)) }
            try await opened[2].send([1])
            #expect(try await opened[2].read() == nil)
            #expect(listener.refusedCount == 1)
            #expect(await opened[0].isOpen)
            #expect(await opened[1].isOpen)
            var incoming = listener.makeAsyncIterator()
            let first = try #require(try await incoming.next())
            try await first.send([9])
            #expect(try await opened[0].read() == [9])
        }
    }

    @Test func leavingTheLoopEndsListeningAndKeepsTheChannels() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let error = await failure { _ = try await machines.central.openChannel(to: machines.peer, psm: 0x0085) }
            #expect(error?.code == .connectionFailed)
            try await central.send([1])
            #expect(try await peripheral.read() == [1])
        }
    }

    @Test func closingTheAdapterEndsListening() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            let loop = machines.fixture.begin { for try await _ in listener {} }
            try await machines.fixture.radio.sleep(for: .seconds(1))
            await machines.peripheral.close()
            #expect(await failure { try await loop.value }?.code == .cancelled)
            #expect(await failure { _ = try await machines.peripheral.listen(psm: 0x0085) } != nil)
        }
    }

    @Test func listeningContinuesWhenTheAdapterIsRestored() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            machines.other.setPowered(false, adapter: 0)
            try await machines.fixture.radio.sleep(for: .seconds(1))
            machines.other.setPowered(true, adapter: 0)
            try await machines.fixture.radio.sleep(for: .seconds(1))
            try await machines.advertise()
            let channel = try await machines.central.openChannel(to: machines.peer, psm: 0x0085)
            var incoming = listener.makeAsyncIterator()
            let other = try #require(try await incoming.next())
            try await other.send([1])
            #expect(try await channel.read() == [1])
        }
    }

    @Test func aChannelInTheBufferRetainsItsAdapterUntilItsEnd() async throws {
        try await TwoMachines.run { machines in
            let life: SessionLife
            let listener: ChannelListener
            let channel: ConnectionOrientedChannel
            do {
                let adapter = try await Adapter.open(on: machines.other)
                life = SessionLife(session: adapter.session)
                listener = try await adapter.listen(psm: 0x0085)
                channel = try await machines.central.openChannel(to: machines.peer, psm: 0x0085)
                try await machines.fixture.radio.sleep(for: .seconds(1))
                listener.close()
            }
            try await machines.fixture.radio.sleep(for: .seconds(1))
            #expect(!life.isOver)
            await channel.close()
            try await machines.fixture.settle { life.isOver }
            withExtendedLifetime(listener) {}
        }
    }
}
