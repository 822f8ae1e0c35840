import Testing

@testable import BluetoothLE

@Suite struct OneShotTests {
    @Test func theFirstValueCountsWhetherOneWaitsOrNot() async {
        let early = OneShot<Int>()
        #expect(early.resolve(1))
        #expect(!early.resolve(2))
        #expect(await early.value(ifCancelled: 0) == 1)
        let late = OneShot<Int>()
        async let value = late.value(ifCancelled: 0)
        late.resolve(3)
        #expect(await value == 3)
    }

    @Test func aCancelledTaskIsTold() async {
        let shot = OneShot<Int>()
        let task = Task { await shot.value(ifCancelled: -1) }
        task.cancel()
        #expect(await task.value == -1)
        #expect(!shot.resolve(1))
    }
}
