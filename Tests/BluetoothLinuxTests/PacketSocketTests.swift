import BluetoothSockets
import BluetoothPrimitives
import BluetoothLinux
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PacketSocketTests {
    @Test func packetsKeepTheirBoundaries() async throws {
        let pair = try await Pair.open()
        let packets = [0, 1, 20, 247, 671, 672].map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: $0) }
        for packet in packets { #expect(await pair.send(packet) == [.sent]) }
        _ = await pair.secondEntries(packets.count)
        #expect(pair.secondEvents.packets == packets)
        #expect(pair.firstEvents.journal.entries == [])
        await pair.close()
    }

    @Test func bothDirectionsWork() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            #expect(pair.first.send([1]) == .sent)
            #expect(pair.second.send([2]) == .sent)
        }
        _ = await pair.secondEntries(1)
        _ = await pair.firstEvents.journal.wait(on: pair.kernel.loop) { $0 == [.packet([2])] }
        #expect(pair.secondEvents.packets == [[1]])
        await pair.close()
    }

    @Test func nothingToReceiveWouldBlock() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            #expect(pair.first.receive { _ in Issue.record("nothing was sent") } == .wouldBlock)
        }
        await pair.close()
    }

    @Test func aFullSocketWouldBlockAndTellsOnceWhenItIsWritable() async throws {
        let pair = try await Pair.open(options: L2CAPOptions(sendBuffer: 4608))
        let sent = await pair.kernel.onLoop {
            pair.second.setReading(false)
            var sent = 0
            while sent < 10_000, pair.first.send([UInt8](repeating: 7, count: 100)) == .sent { sent += 1 }
            #expect(pair.first.send([1]) == .wouldBlock)
            pair.first.notifyWhenWritable()
            pair.first.notifyWhenWritable()
            return sent
        }
        #expect((1..<10_000).contains(sent))
        #expect(pair.firstEvents.journal.entries == [])
        await pair.kernel.onLoop { pair.second.setReading(true) }
        _ = await pair.firstEvents.journal.wait(on: pair.kernel.loop) { $0 == [.writable] }
        #expect(await pair.send([1]) == [.sent])
        _ = await pair.secondEntries(sent + 1)
        #expect(pair.secondEvents.packets.last == [1])
        #expect(pair.firstEvents.journal.entries == [.writable])
        await pair.close()
    }

    @Test func closingTellsTheOtherSideOnceAfterWhatWasSent() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            pair.second.setReading(false)
            #expect(pair.first.send([1]) == .sent)
            #expect(pair.first.send([2, 3]) == .sent)
            pair.first.close()
            pair.first.close()
        }
        let told = await pair.secondEntries(3)
        #expect(told == [.packet([1]), .packet([2, 3]), connectionReset])
        await pair.kernel.onLoop {
            #expect(pair.second.send([1]) == .failed(KernelError("send", .notConnected)))
            #expect(pair.second.receive { _ in } == .failed(KernelError("recv", .notConnected)))
            #expect(pair.first.send([1]) == .failed(KernelError("send", .notConnected)))
            #expect(throws: KernelError("getsockopt(L2CAP_CONNINFO)", .notConnected)) {
                try pair.second.connectionHandle()
            }
        }
        #expect(pair.firstEvents.journal.entries == [])
        #expect(pair.secondEvents.journal.entries.count == 3)
    }

    @Test func sendingToAnEndThatClosedFailsAndTheEndIsStillTold() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            pair.second.close()
            #expect(pair.first.send([1]) == .failed(KernelError("send", .brokenPipe)))
            #expect(pair.firstEvents.journal.entries == [])
        }
        await pair.firstEvents.journal.wait(on: pair.kernel.loop) { $0 == [connectionReset] }
        #expect(pair.firstEvents.journal.entries == [connectionReset])
    }

    @Test func receivingFromAnEndThatClosedFailsAndTheEndIsToldAfterwards() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            pair.second.close()
            #expect(pair.first.receive { _ in } == .failed(KernelError("recv", .connectionReset)))
            #expect(pair.firstEvents.journal.entries == [])
        }
        await pair.firstEvents.journal.wait(on: pair.kernel.loop) { $0 == [connectionReset] }
        #expect(pair.firstEvents.journal.entries == [connectionReset])
    }

    @Test(arguments: [true, false]) func droppingTheLastReferenceCloses(onLoop: Bool) async throws {
        let kernel = try LinuxKernel.shared
        let events = SocketRecorder()
        let dropped = Mutex<(any L2CAPSocket)?>(nil)
        let kept = try await kernel.onLoop { () -> any L2CAPSocket in
            let (first, second) = try kernel.unixPair({ _ in }, { events.handle($0) })
            dropped.withLock { $0 = first }
            return second
        }
        if onLoop {
            await kernel.onLoop { dropped.withLock { $0 = nil } }
        } else {
            dropped.withLock { $0 = nil }
        }
        await events.journal.wait(on: kernel.loop) { $0 == [connectionReset] }
        #expect(events.journal.entries == [connectionReset])
        withExtendedLifetime(kept) {}
    }

    @Test func aSocketClosedByAnotherOfTheSameBatchIsToldNothing() async throws {
        let kernel = try LinuxKernel.shared
        let told = Journal<Int>()
        let sockets = Mutex<[any L2CAPSocket]>([])
        // Sixteen sockets become readable at once; the first handler called closes all others.
        let senders = try await kernel.onLoop {
            var senders: [any L2CAPSocket] = []
            for number in 0..<16 {
                let (sender, receiver) = try kernel.unixPair(
                    { _ in },
                    { _ in
                        told.add(number)
                        for socket in sockets.withLock({ $0 }) { socket.close() }
                    })
                senders.append(sender)
                sockets.withLock { $0.append(receiver) }
            }
            for sender in senders { #expect(sender.send([1]) == .sent) }
            return senders
        }
        await told.wait(on: kernel.loop) { !$0.isEmpty }
        await kernel.onLoop {}
        await kernel.onLoop {}
        #expect(told.entries.count == 1)
        withExtendedLifetime(senders) {}
    }

    @Test func anEventOfAClosedSocketDoesNotReachTheOneThatTookItsPlace() async throws {
        let kernel = try LinuxKernel.shared
        let told = Journal<String>()
        let others = Mutex<[any L2CAPSocket]>([])
        let successors = Mutex<[any L2CAPSocket]>([])
        let senders = try await kernel.onLoop {
            var senders: [any L2CAPSocket] = []
            for _ in 0..<8 {
                let (sender, receiver) = try kernel.unixPair(
                    { _ in },
                    { event in
                        guard event == .readable else { return }
                        told.add("readable")
                        let closed = others.withLock { others in
                            defer { others = [] }
                            return others
                        }
                        for socket in closed { socket.close() }
                        // The same descriptor numbers, and the same slots in the table.
                        for _ in closed {
                            guard let pair = try? kernel.unixPair({ _ in told.add("x") }, { _ in told.add("x") })
                            else { return told.add("no pair") }
                            successors.withLock { $0 += [pair.first, pair.second] }
                        }
                    })
                senders.append(sender)
                others.withLock { $0.append(receiver) }
            }
            for sender in senders { #expect(sender.send([1]) == .sent) }
            return senders
        }
        await told.wait(on: kernel.loop) { !$0.isEmpty }
        await kernel.onLoop {}
        await kernel.onLoop {}
        #expect(told.entries == ["readable"])
        await kernel.onLoop { for socket in successors.withLock({ $0 }) { socket.close() } }
        withExtendedLifetime(senders) {}
    }

    @Test func readingCanBePausedAndResumed() async throws {
        let pair = try await Pair.open()
        await pair.kernel.onLoop {
            pair.second.setReading(false)
            #expect(pair.first.send([1]) == .sent)
        }
        // After another packet in each direction the loop has delivered all earlier events.
        await pair.kernel.onLoop { #expect(pair.second.send([9]) == .sent) }
        await pair.firstEvents.journal.wait(on: pair.kernel.loop) { $0 == [.packet([9])] }
        #expect(pair.secondEvents.journal.entries == [])
        await pair.kernel.onLoop { pair.second.setReading(true) }
        #expect(await pair.secondEntries(1) == [.packet([1])])
        await pair.close()
    }

    @Test func aPacketLongerThanTheMTUIsRefusedAndTheSocketLivesOn() async throws {
        let pair = try await Pair.open(options: L2CAPOptions(receiveMTU: 100, sendMTU: 50))
        await pair.kernel.onLoop {
            #expect(pair.first.send([UInt8](repeating: 0, count: 51)) == .failed(KernelError("send", .messageTooLong)))
            #expect(pair.first.send([UInt8](repeating: 0, count: 50)) == .sent)
            #expect(throws: Never.self) {
                let units = try pair.first.maximumTransmissionUnits()
                #expect(units == (receive: 100, send: 50))
            }
        }
        #expect(await pair.secondEntries(1) == [.packet([UInt8](repeating: 0, count: 50))])
        await pair.close()
    }

    @Test func receivingWhileAPacketIsBorrowedLeavesItAlone() async throws {
        let one = try await Pair.open()
        let other = try await Pair.open()
        await one.kernel.onLoop {
            one.second.setReading(false)
            other.second.setReading(false)
            #expect(one.first.send([1, 1, 1]) == .sent)
            #expect(other.first.send([2, 2, 2]) == .sent)
            let outcome = one.second.receive { outer in
                let inner = other.second.receive { #expect($0.withUnsafeBytes { Array($0) } == [2, 2, 2]) }
                #expect(inner == .packet)
                #expect(outer.withUnsafeBytes { Array($0) } == [1, 1, 1])
            }
            #expect(outcome == .packet)
        }
        await one.close()
        await other.close()
    }

    @Test func manySocketsAreServed() async throws {
        let kernel = try LinuxKernel.shared
        let told = Journal<Int>()
        let count = 150
        let sockets = try await kernel.onLoop {
            var sockets: [any L2CAPSocket] = []
            for number in 0..<count {
                let holder = Holder()
                let (first, second) = try kernel.unixPair(
                    { _ in },
                    { event in
                        guard event == .readable else { return }
                        _ = holder.socket?.receive { _ in told.add(number) }
                    })
                holder.socket = second
                sockets += [first, second]
            }
            for index in stride(from: 0, to: sockets.count, by: 2) { #expect(sockets[index].send([1]) == .sent) }
            return sockets
        }
        let numbers = await told.wait(on: kernel.loop) { $0.count == count }
        #expect(numbers?.sorted() == Array(0..<count))
        await kernel.onLoop { for socket in sockets { socket.close() } }
    }

    @Test func anEndSaysWhatItCan() async throws {
        let pair = try await Pair.open()
        try await pair.kernel.onLoop {
            let handle = try pair.first.connectionHandle()
            let security = try pair.first.security()
            #expect(handle == 1)
            #expect(security == LinkSecurity(level: .low, keySize: 0))
            #expect(throws: KernelError("setsockopt(BT_SECURITY)", .operationNotSupported)) {
                try pair.first.raiseSecurity(to: .medium)
            }
            #expect(pair.first.peer != pair.second.peer)
            #expect(pair.first.peer.randomKind == .static)
        }
        await pair.close()
    }
}

/// Retains a socket for its own handler, on the loop.
private final class Holder: Sendable {
    private let state = Mutex<(any L2CAPSocket)?>(nil)
    var socket: (any L2CAPSocket)? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
