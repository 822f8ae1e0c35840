import BluetoothSockets
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLinux

struct BacklogTests {
    /// The number of calls of a handler that receives one packet each time, of `waiting` queued ones.
    private func turn(_ backlog: inout Backlog, wait: UInt64, waiting: Int) -> Int {
        var (told, left) = (0, waiting)
        backlog.begin(inWait: wait)
        repeat {
            told += 1
            if left > 0 {
                left -= 1
                backlog.didReceive()
            }
        } while backlog.isWorthAnotherTry()
        return told
    }

    @Test func aSocketThatIsReadyNowAndThenIsNeverAskedInVain() {
        var backlog = Backlog()
        for wait in stride(from: 10 as UInt64, to: 200, by: 2) {
            #expect(turn(&backlog, wait: wait, waiting: 1) == 1)
        }
    }

    @Test func packetsThatComeOneByOneCostFewTriesInVain() {
        var backlog = Backlog()
        let told = (1...1000 as ClosedRange<UInt64>).reduce(0) { $0 + turn(&backlog, wait: $1, waiting: 1) }
        #expect((1000...1070).contains(told))
    }

    @Test func packetsThatQueueUpAreTakenSeveralAtATime() {
        var backlog = Backlog()
        let told = (1...10 as ClosedRange<UInt64>).map { turn(&backlog, wait: $0, waiting: 1000) }
        #expect(told.suffix(7) == Array(repeating: 16, count: 7)[...])
        // The end of the queue is noticed by one try.
        #expect(turn(&backlog, wait: 11, waiting: 5) == 6)
        #expect(turn(&backlog, wait: 12, waiting: 1) == 1)
    }

    @Test func aHandlerThatTakesNothingIsNotToldForEver() {
        var backlog = Backlog()
        for wait in 1...100 as ClosedRange<UInt64> {
            #expect(turn(&backlog, wait: wait, waiting: 0) <= 1)
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct BurstTests {
    @Test func aBurstArrivesWholeAndInOrder() async throws {
        let pair = try await Pair.open()
        let packets = (0..<100).map { [UInt8(truncatingIfNeeded: $0)] }
        await pair.kernel.onLoop { for packet in packets { #expect(pair.first.send(packet) == .sent) } }
        _ = await pair.secondEntries(packets.count)
        #expect(pair.secondEvents.packets == packets)
        await pair.close()
    }

    @Test func aHandlerMayStopReadingOrCloseInTheMiddleOfABurst() async throws {
        let kernel = try LinuxKernel.shared
        for closes in [false, true] {
            let received = Journal<Int>()
            let ends = Mutex<(any L2CAPSocket, any L2CAPSocket)?>(nil)
            try await kernel.onLoop {
                let pair = try kernel.unixPair({ _ in }) { event in
                    guard event == .readable, let (_, second) = ends.withLock({ $0 }) else { return }
                    guard second.receive({ received.add(Int($0.byteCount)) }) == .packet else { return }
                    guard received.entries.count == 50 else { return }
                    if closes { second.close() } else { second.setReading(false) }
                }
                ends.withLock { $0 = pair }
                for _ in 0..<100 { #expect(pair.first.send([1]) == .sent) }
            }
            await received.wait(on: kernel.loop) { $0.count == 50 }
            // Several rounds of the loop later there is still no packet.
            for _ in 0..<5 { await kernel.onLoop {} }
            #expect(received.entries.count == 50)
            await kernel.onLoop {
                ends.withLock { $0?.0.close() }
                ends.withLock { $0?.1.close() }
            }
        }
    }
}
