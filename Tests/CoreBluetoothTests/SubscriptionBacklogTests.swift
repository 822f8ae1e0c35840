import Testing

@testable import CoreBluetooth

/// The queue of a central's subscription changes for the program.
@Suite struct SubscriptionBacklogTests {
    private typealias Backlog = PeripheralManagerHandle.Backlog

    /// The results of adding `count` changes.
    private func begin(_ count: Int, _ backlog: inout Backlog) -> [Bool] { (0..<count).map { _ in backlog.begin() } }
    private func end(_ count: Int, _ backlog: inout Backlog) -> [Bool] { (0..<count).map { _ in backlog.end() } }

    @Test func whatFitsIsToldOneByOne() {
        var backlog = Backlog()
        for _ in 0..<3 {
            #expect(!begin(Backlog.limit, &backlog).contains(false))
            #expect(!end(Backlog.limit, &backlog).contains(true))
        }
    }

    @Test func whatDoesNotIsToldOnceAfterTheRest() {
        var backlog = Backlog()
        #expect(!begin(Backlog.limit, &backlog).contains(false))
        #expect(!begin(5, &backlog).contains(true))
        // There is room again, and a new change is reported before the missed ones.
        #expect(end(1, &backlog) == [false] && begin(1, &backlog) == [true])
        #expect(!end(Backlog.limit - 1, &backlog).contains(true))
        #expect(end(1, &backlog) == [true])
        #expect(begin(1, &backlog) == [true] && end(1, &backlog) == [false])
    }
}
