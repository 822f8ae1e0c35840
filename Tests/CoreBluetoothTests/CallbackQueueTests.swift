import BluetoothLE
import BluetoothSimulation
import Dispatch
import TestSupport
import Testing

@testable import CoreBluetooth

/// The order of a program's callbacks.
@Suite struct CallbackQueueTests {
    private let program = DispatchQueue(label: "program")
    private let journal = Journal<String>()
    private let one = CallbackSource.device(BluetoothAddress(0xC000_0000_0001, kind: .random))
    private let two = CallbackSource.device(BluetoothAddress(0xC000_0000_0002, kind: .random))

    /// Posts callbacks while the program is busy; returns the order in which they are called back.
    private func order(_ posts: [(CallbackSource?, String)]) async -> [String] {
        let callbacks = CallbackQueue(program)
        program.suspend()
        for (source, name) in posts { callbacks.post(from: source) { [journal] in journal.add(name) } }
        program.resume()
        await callbacks.drain()
        return journal.entries
    }

    @Test func devicesTakeTurns() async {
        let flood = (0..<1000).map { (Optional(one), "flood \($0)") }
        let order = await order(flood + [(two, "a value"), (two, "another"), (.scan, "an advertisement")])
        #expect(order.prefix(4) == ["flood 0", "a value", "an advertisement", "flood 1"])
        #expect(order[4] == "another")
        #expect(order.filter { $0.hasPrefix("flood") } == flood.map(\.1))
        #expect(order.count == 1003)
    }

    /// Such as the adapter's state, which the ends of its links follow.
    @Test func whatConcernsAllStaysInItsPlace() async {
        let order = await order([
            (one, "1"), (one, "2"), (nil, "off"), (two, "3"), (one, "4"), (two, "5"), (nil, "on"), (one, "6"),
        ])
        #expect(order == ["1", "2", "off", "3", "4", "5", "on", "6"])
    }

    /// What a callback causes comes after what it has put on the program's queue itself.
    @Test func anAnswerComesInALaterTurn() async {
        let callbacks = CallbackQueue(program)
        callbacks.post(from: one) { [program, journal, two] in
            program.async { journal.add("the program's own work") }
            callbacks.post(from: two) { journal.add("an answer") }
        }
        await callbacks.drain()
        #expect(journal.entries == ["the program's own work", "an answer"])
    }

    @Test func aTurnComesAfterWhatIsQueued() async {
        let callbacks = CallbackQueue(program)
        program.suspend()
        program.async { [journal] in journal.add("before") }
        async let turn: Void = callbacks.turn()
        program.resume()
        await turn
        #expect(journal.entries == ["before"])
    }

    /// The loop puts a block on the program's queue when it has handled what it has received, not at the first value.
    @Test func whatTheLoopReceivesTogetherIsOneBlock() async {
        let radio = SimulatedRadio(time: .real)
        let callbacks = CallbackQueue(program, from: radio.loop)
        program.suspend()
        await radio.loop.run { [program, journal, one] in
            for number in 0..<100 {
                callbacks.post(from: one) { journal.add("\(number)") }
                program.async { journal.add("other work") }
            }
        }
        program.resume()
        await callbacks.drain()
        let values = journal.entries.filter { $0 != "other work" }
        #expect(journal.entries.prefix(100).allSatisfy { $0 == "other work" })
        #expect(values == (0..<100).map { "\($0)" })
        radio.close()
    }

    /// Callbacks that the loop is about to put on the program's queue come before a turn of it.
    @Test func aTurnComesAfterWhatTheLoopHasReceived() async {
        let radio = SimulatedRadio(time: .real)
        let callbacks = CallbackQueue(program, from: radio.loop)
        await withTaskExecutorPreference(radio.loop) { [journal, one] in
            callbacks.post(from: one) {
                usleep(20_000)
                journal.add("a value")
            }
            await callbacks.turn()
            journal.add("the turn")
        }
        #expect(journal.entries == ["a value", "the turn"])
        radio.close()
    }

    /// Other work on the program's queue has its turn, also while a single device sends without end.
    @Test func aBlockIsShort() async {
        let callbacks = CallbackQueue(program)
        program.suspend()
        callbacks.post(from: one) { [program, journal] in program.async { journal.add("other work") } }
        for _ in 0..<200 { callbacks.post(from: one) { [journal] in journal.add("a value") } }
        program.resume()
        await callbacks.drain()
        let position = journal.entries.firstIndex(of: "other work")
        #expect(position == 63)
        #expect(journal.entries.count == 201)
    }
}
