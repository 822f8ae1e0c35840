import BluetoothLoop
import Testing

@Suite struct WaiterListTests {
    fileprivate enum Failure: Error, Equatable { case ended, gaveUp }

    @Test func allAreResumedOnce() async throws {
        var waiters = WaiterList<Int, Failure>()
        let promises = (0..<20).map { _ in waiters.makePromise() }
        #expect(waiters.count == 20)
        waiters.succeedAll(1)
        #expect(waiters.isEmpty)
        waiters.failAll(.ended)
        for promise in promises { #expect(try await promise.value(ifCancelled: .gaveUp) == 1) }
    }

    @Test func theEndFailsThoseThatWait() async {
        var waiters = WaiterList<Int, Failure>()
        let promise = waiters.makePromise()
        waiters.failAll(.ended)
        await #expect(throws: Failure.ended) { try await promise.value(ifCancelled: .gaveUp) }
        #expect(waiters.isEmpty)
        let later = waiters.makePromise()
        #expect(!later.isResolved && waiters.count == 1)
    }

    @Test func theFirstThatStillWaitsIsResumed() {
        var waiters = WaiterList<Int, Failure>()
        let promises = (0..<4).map { _ in waiters.makePromise() }
        promises[0].fail(.gaveUp)
        promises[2].fail(.gaveUp)
        #expect(waiters.count == 2)
        let isFirst = waiters.succeedFirst(1)
        #expect(isFirst)
        #expect(promises[1].isResolved && !promises[3].isResolved)
        let isSecond = waiters.succeedFirst(2)
        #expect(isSecond)
        #expect(promises[3].isResolved)
        let isThird = waiters.succeedFirst(3)
        #expect(!isThird)
    }

    /// The list drops any number of promises of tasks that gave up, next to some that wait without limit.
    @Test(arguments: [0, 1, 7, 8, 15, 16, 40]) func promisesOfAbandonedWaitsAreDropped(patient: Int) {
        var waiters = WaiterList<Void, Failure>()
        let staying = (0..<patient).map { _ in waiters.makePromise() }
        var released = WeakPromises()
        for _ in 0..<1000 {
            let promise = waiters.makePromise()
            promise.fail(.gaveUp)
            released.add(promise)
        }
        #expect(waiters.count == patient)
        #expect(waiters.isEmpty == (patient == 0))
        #expect(released.count <= 64)
        waiters.succeedAll()
        #expect(staying.allSatisfy { $0.isResolved })
        #expect(released.count == 0)
    }
}

/// References to promises that others hold.
private struct WeakPromises {
    private struct Reference {
        weak let promise: Promise<Void, WaiterListTests.Failure>?
    }

    private var references: [Reference] = []

    var count: Int { references.count { $0.promise != nil } }

    mutating func add(_ promise: Promise<Void, WaiterListTests.Failure>) {
        references.append(Reference(promise: promise))
    }
}
