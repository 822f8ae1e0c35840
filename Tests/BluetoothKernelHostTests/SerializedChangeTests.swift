import Testing

@testable import BluetoothKernelHost

@Suite struct SerializedChangeTests {
    private static func request(_ change: inout SerializedChange<Int>, _ waiters: [Int], beginsAtOnce: Bool) {
        let begins = change.request(for: waiters)
        #expect(begins == beginsAtOnce)
    }

    @Test func aChangeIsMadeOnceAtATimeForThoseWhoAskedBeforeItBegan() {
        var change = SerializedChange<Int>()
        #expect(change.isIdle)
        Self.request(&change, [1, 2], beginsAtOnce: true)
        #expect(!change.isIdle)
        var end = change.finish()
        #expect(end.waiters == [1, 2] && !end.beginsAgain && change.isIdle)

        Self.request(&change, [1], beginsAtOnce: true)
        Self.request(&change, [2], beginsAtOnce: false)
        Self.request(&change, [3], beginsAtOnce: false)
        end = change.finish()
        #expect(end.waiters == [1] && end.beginsAgain && !change.isIdle)
        // Whoever asks during the second waits for a third.
        Self.request(&change, [4], beginsAtOnce: false)
        end = change.finish()
        #expect(end.waiters == [2, 3] && end.beginsAgain)
        end = change.finish()
        #expect(end.waiters == [4] && !end.beginsAgain && change.isIdle)
    }

    @Test func askingForNobodyBeginsItAgainAsWell() {
        var change = SerializedChange<Int>()
        Self.request(&change, [], beginsAtOnce: true)
        Self.request(&change, [], beginsAtOnce: false)
        var end = change.finish()
        #expect(end.waiters == [] && end.beginsAgain)
        end = change.finish()
        #expect(end.waiters == [] && !end.beginsAgain)
    }

    @Test func anEndWithoutAChangeIsNothing() {
        var change = SerializedChange<Int>()
        let end = change.finish()
        #expect(end.waiters == [] && !end.beginsAgain && change.isIdle)
    }
}
