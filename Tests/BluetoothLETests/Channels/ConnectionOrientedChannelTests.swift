import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import Synchronization
import TestSupport
import Testing

import BluetoothLE

@Suite struct ConnectionOrientedChannelTests {
    @Test func bothSidesKnowEachOtherAndTheirMTUs() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel(
                options: ChannelOptions(maximumTransmissionUnit: 100),
                listening: ChannelOptions(maximumTransmissionUnit: 200))
            #expect(central.peer == machines.peer)
            #expect(peripheral.peer == machines.central.information.address)
            #expect(central.psm == 0x0085 && peripheral.psm == 0x0085)
            #expect(await central.maximumTransmissionUnit == 100)
            #expect(await central.peerMaximumTransmissionUnit == 200)
            #expect(await peripheral.maximumTransmissionUnit == 200)
            #expect(await peripheral.peerMaximumTransmissionUnit == 100)
            #expect(try await central.security().level == .low)
            #expect(await central.isOpen)
        }
    }

    @Test(arguments: L2CAPFlowControl.allKinds) func SDUsKeepTheirBoundariesBothWays(
        _ flowControl: L2CAPFlowControl
    ) async throws {
        try await TwoMachines.run { machines in
            let options = ChannelOptions(maximumTransmissionUnit: 1000, flowControl: flowControl)
            let (central, peripheral) = try await machines.channel(options: options, listening: options)
            for (from, to) in [(central, peripheral), (peripheral, central)] {
                for count in [1, 23, 245, 246, 1000] {
                    try await from.send(pattern(count))
                    #expect(try await to.read() == pattern(count))
                }
            }
        }
    }

    @Test func writesAreSplitIntoSDUsOfThePeersMTU() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel(
                listening: ChannelOptions(maximumTransmissionUnit: 100))
            try await central.write(pattern(250))
            try await central.write([])
            try await central.write([7])
            try await central.flush()
            await central.close()
            var sizes: [Int] = []
            var all: [UInt8] = []
            for try await sdu in peripheral {
                sizes.append(sdu.count)
                all += sdu
            }
            #expect(sizes == [100, 100, 50, 1])
            #expect(all == pattern(250) + [7])
        }
    }

    @Test func anSDUThatDoesNotFitOrHasNoBytesIsRefused() async throws {
        try await TwoMachines.run { machines in
            let (central, _) = try await machines.channel(listening: ChannelOptions(maximumTransmissionUnit: 100))
            #expect(await failure { try await central.send(pattern(101)) }?.code == .invalidArgument)
            #expect(await failure { try await central.send([]) }?.code == .invalidArgument)
            #expect(await central.isOpen)
        }
    }

    /// A mebibyte each way at the same time; one of the readers is slow.
    @Test func aMebibyteEachWayIsExactAndASlowReaderHoldsBackTheWriter() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let count = 1 << 20
            let largestLead = Mutex(0)
            let progress = Mutex((sent: 0, received: 0))
            let writers = [
                machines.fixture.begin {
                    for start in stride(from: 0, to: count, by: 4096) {
                        try await central.write(pattern(4096, from: start))
                        let lead = progress.withLock { state in
                            state.sent += 4096
                            return state.sent - state.received
                        }
                        largestLead.withLock { $0 = max($0, lead) }
                    }
                    try await central.flush()
                },
                machines.fixture.begin { try await peripheral.write(pattern(count)) },
            ]
            let slow = machines.fixture.begin {
                var position = 0
                while position < count {
                    let sdu = try #require(try await peripheral.read())
                    #expect(sdu == pattern(sdu.count, from: position))
                    position += sdu.count
                    progress.withLock { $0.received = position }
                    try await machines.fixture.radio.sleep(for: .milliseconds(40))
                }
            }
            var received: [UInt8] = []
            while received.count < count { received += try #require(try await central.read()) }
            #expect(received == pattern(count))
            for writer in writers { try await writer.value }
            try await slow.value
            // The two kernels' buffers, with the kernel's generous accounting of a packet.
            #expect(largestLead.withLock { $0 } < 512 << 10)
            #expect(machines.fixture.radio.statistics.receiveOverflows == 0)
        }
    }

    @Test func unreadDataWithholdsCredits() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let writer = machines.fixture.begin { try await central.write(pattern(1 << 20), timeout: .seconds(60)) }
            let error = await failure { try await writer.value }
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("of 1048576 bytes") == true)
            #expect(error?.sentByteCount.map { error?.message.contains("accepted \($0) of") == true } == true)
            // The channel remains usable.
            var first = try #require(try await peripheral.read())
            #expect(first == pattern(2048))
            let more = machines.fixture.begin { try await central.send([1, 2, 3]) }
            while first != [1, 2, 3] { first = try #require(try await peripheral.read()) }
            try await more.value
        }
    }

    @Test func writesOfSeveralTasksDoNotMix() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel(
                listening: ChannelOptions(maximumTransmissionUnit: 64))
            let writers = (1...20).map { (number: UInt8) in
                machines.fixture.begin { try await central.write([UInt8](repeating: number, count: 1000)) }
            }
            var received: [UInt8] = []
            while received.count < 20_000 { received += try #require(try await peripheral.read()) }
            #expect(received == (1...20).flatMap { [UInt8](repeating: $0, count: 1000) })
            for writer in writers { try await writer.value }
        }
    }

    @Test func severalChannelsOnOnePSMAreIndependent() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            var incoming = listener.makeAsyncIterator()
            let connection = try await machines.central.connect(to: machines.peer)
            var ends: [(ConnectionOrientedChannel, ConnectionOrientedChannel)] = []
            for _ in 0..<5 {
                let made = try await connection.openChannel(psm: 0x0085)
                ends.append((made, try #require(try await incoming.next())))
            }
            // The first is not read; the others are not delayed by it.
            let stuck = machines.fixture.begin { [first = ends[0].0] in try await first.write(pattern(1 << 20)) }
            for (number, (here, there)) in ends.enumerated().dropFirst() {
                try await here.write(pattern(3000, from: number))
                var received: [UInt8] = []
                while received.count < 3000 { received += try #require(try await there.read()) }
                #expect(received == pattern(3000, from: number))
                await here.close()
                #expect(try await there.read() == nil)
            }
            stuck.cancel()
            #expect(await failure { try await stuck.value }?.code == .cancelled)
            #expect(await ends[0].1.isOpen)
        }
    }

    @Test func aChannelOutlivesItsConnectionObjectAndEndsWithTheLink() async throws {
        try await TwoMachines.run { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            var incoming = listener.makeAsyncIterator()
            var connection: Connection? = try await machines.central.connect(to: machines.peer)
            let here = try #require(try await connection?.openChannel(psm: 0x0085))
            let there = try #require(try await incoming.next())
            await connection?.disconnect()
            connection = nil
            try await machines.fixture.radio.sleep(for: .seconds(10))
            try await there.send([1])
            #expect(try await here.read() == [1])
            machines.fixture.radio.breakLink(machines.central.information.address, machines.peer)
            #expect(await failure { _ = try await here.read() }?.code == .disconnected)
            #expect(await here.closed().message.contains("was lost"))
        }
    }

    // MARK: Ends

    @Test func thePeersCloseComesAfterWhatItSent() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            try await central.write(pattern(10_000))
            try await central.flush()
            await central.close()
            try await machines.fixture.radio.sleep(for: .seconds(5))
            var received: [UInt8] = []
            for try await sdu in peripheral { received += sdu }
            #expect(received == pattern(10_000))
            #expect(try await peripheral.read() == nil)
            #expect(await failure { try await peripheral.write([1]) }?.code == .disconnected)
            #expect(await peripheral.closed().message.contains("closed the channel"))
            #expect(await failure { try await central.write([1]) }?.code == .disconnected)
            #expect(await failure { _ = try await central.read() }?.code == .disconnected)
        }
    }

    @Test func aCancelledReadConsumesNothing() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let reader = machines.fixture.begin { try await peripheral.read() }
            try await machines.fixture.radio.sleep(for: .seconds(1))
            reader.cancel()
            #expect(await failure { _ = try await reader.value }?.code == .cancelled)
            #expect(await failure { _ = try await peripheral.read(timeout: .seconds(1)) }?.code == .timedOut)
            try await central.send([1])
            #expect(try await peripheral.read() == [1])
        }
    }

    @Test func timedOutReadsLeaveNothingBehind() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let waiting = machines.fixture.begin { try await central.read() }
            try await machines.fixture.radio.sleep(for: .seconds(1))
            for _ in 0..<100 {
                let error = await failure { _ = try await central.read(timeout: .milliseconds(1)) }
                #expect(error?.code == .timedOut)
            }
            #expect(await central.waitingReadCount == 1)
            try await peripheral.send([1])
            #expect(try await waiting.value == [1])
        }
    }

    @Test func timedOutWritesLeaveTheQueue() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let codes = Mutex<Set<BluetoothError.Code>>([])
            for _ in 0..<2000 {
                if let error = await failure({ try await central.write(pattern(2000), timeout: .milliseconds(1)) }) {
                    codes.withLock { _ = $0.insert(error.code) }
                }
            }
            #expect(codes.withLock { $0 } == [.timedOut])
            withExtendedLifetime(peripheral) {}
        }
    }

    /// A send refused by the kernel is permanent if the kernel refuses it again after reporting the channel writable.
    @Test(arguments: [1, .max]) func aRefusedSendIsRepeatedOnce(refusals: Int) async throws {
        try await Fixture.run { fixture in
            let socket = RefusingSocket(refusals, on: fixture.radio.loop)
            let channel = try await ConnectionOrientedChannel(
                over: {
                    socket.start($0)
                    return socket
                }, to: .zero, psm: 0x80, on: fixture.radio.loop)
            let error = await failure { try await channel.write([1, 2, 3]) }
            #expect(socket.sent == (refusals == 1 ? [[1, 2, 3]] : []))
            #expect(error?.code == (refusals == 1 ? nil : .failed))
            #expect(error?.cause == (refusals == 1 ? nil : .kernel(KernelError("send", ErrorNumber(rawValue: 105)))))
            #expect(await channel.isOpen)
        }
    }

    @Test func readersAreServedInTurn() async throws {
        try await TwoMachines.run { machines in
            let (central, peripheral) = try await machines.channel()
            let first = machines.fixture.begin { try await peripheral.read() }
            try await machines.fixture.radio.sleep(for: .milliseconds(1))
            let second = machines.fixture.begin { try await peripheral.read() }
            try await machines.fixture.radio.sleep(for: .milliseconds(1))
            try await central.send([1])
            try await central.send([2])
            let one = try await first.value
            let other = try await second.value
            #expect(one == [1])
            #expect(other == [2])
        }
    }

    @Test func droppingTheLastReferenceClosesIt() async throws {
        try await TwoMachines.run { machines in
            let peripheral = try await {
                let (central, peripheral) = try await machines.channel()
                try await central.send([1])
                try await central.flush()
                return peripheral
            }()
            #expect(try await peripheral.read() == [1])
            #expect(try await peripheral.read() == nil)
        }
    }

    @Test(arguments: [true, false]) func closingWaitsForCreditsForTwoSecondsAtMost(_ areGranted: Bool) async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in EchoHandler() }
            peripheral.setService(0x0085, receiveMTU: 512)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let channel = try await adapter.openChannel(to: peripheral.address, psm: 0x0085)
            peripheral.setGrantingCredits(areGranted)
            // An SDU of three frames, of which one has a credit.
            try await channel.write([UInt8](repeating: 1, count: 512))
            let time = await fixture.duration { await channel.close() }
            #expect(areGranted ? time < .seconds(1) : time >= .seconds(2) && time < .milliseconds(2100), "\(time)")
            #expect(fixture.radio.statistics.packetsWithoutCredits == (areGranted ? 0 : 1))
            #expect(await !channel.isOpen)
        }
    }

    // MARK: Peers that misbehave

    @Test func aPeerThatExceedsItsCreditsIsDisconnected() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in EchoHandler() }
            peripheral.setService(0x0085, receiveMTU: 100)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let channel = try await adapter.openChannel(
                to: peripheral.address, psm: 0x0085, options: ChannelOptions(maximumTransmissionUnit: 50))
            let link = try #require(peripheral.links.first)
            // The kernel drops an SDU that is too long; one of no bytes is an SDU, not the end.
            for count in [50, 51, 0, 1] {
                while link.send(pattern(count), on: .dynamic(psm: 0x0085)) != .sent {
                    try await fixture.radio.sleep(for: .milliseconds(10))
                }
            }
            for count in [50, 0, 1] {
                #expect(try await channel.read() == pattern(count))
            }
            // Without a reader it keeps sending without credits.
            var isOpen = true
            while isOpen {
                if case .failed = link.send([1], on: .dynamic(psm: 0x0085), ignoresCredits: true) { isOpen = false }
                try await fixture.radio.sleep(for: .milliseconds(10))
            }
            var count = 0
            for try await _ in channel { count += 1 }
            #expect(count > 0 && count < 1000)
        }
    }
}

extension L2CAPFlowControl {
    fileprivate static let allKinds: [L2CAPFlowControl] = [.leCreditBased, .enhancedCreditBased]
}

/// A socket that refuses a number of sends for lack of memory.
private final class RefusingSocket: L2CAPSocket {
    private struct State {
        var refusals: Int
        var sent: [[UInt8]] = []
        var handler: LoopBound<SocketHandler>?
    }

    private let state: Mutex<State>
    private let loop: EventLoop
    let peer = BluetoothAddress.zero

    init(_ refusals: Int, on loop: EventLoop) {
        state = Mutex(State(refusals: refusals))
        self.loop = loop
    }

    var sent: [[UInt8]] { state.withLock { $0.sent } }

    func start(_ handler: @escaping SocketHandler) {
        let handler = LoopBound(handler, on: loop)
        state.withLock { $0.handler = handler }
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        let bytes = [UInt8](packet)
        return state.withLock { state in
            guard state.refusals == 0 else {
                state.refusals -= 1
                return .failed(KernelError("send", ErrorNumber(rawValue: 105)))
            }
            state.sent.append(bytes)
            return .sent
        }
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome { .wouldBlock }
    func notifyWhenWritable() {
        loop.execute { [weak self] in self?.state.withLock { $0.handler }?.value(.writable) }
    }
    func setReading(_ isOn: Bool) {}
    func close() {}
    func connectionHandle() throws(KernelError) -> UInt16 { 1 }
    func security() throws(KernelError) -> LinkSecurity { LinkSecurity(level: .low, keySize: 0) }
    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {}
    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) { (672, 672) }
}
