import BluetoothHCI
import BluetoothManagement
import BluetoothPrimitives
import Testing

@testable import BluetoothKernelHost

@Suite struct InitialParameterListTests {
    private static let (one, other) = (
        BluetoothAddress(0xC000_0000_0001, kind: .random), BluetoothAddress(0xC000_0000_0002, kind: .random)
    )
    private static let defaults = parameters(24)
    private static let (first, second) = (ObjectIdentifier(Int.self), ObjectIdentifier(UInt.self))

    private static func parameters(_ interval: UInt16) -> LEConnectionParameters {
        LEConnectionParameters(
            intervalMinimum: interval, intervalMaximum: interval, latency: 0, supervisionTimeout: 42)
    }

    /// The devices and intervals of a list, without its padding.
    private static func entries(_ list: InitialParameterList) -> [BluetoothAddress: UInt16] {
        var entries: [BluetoothAddress: UInt16] = [:]
        let all = list.whole(defaults: defaults)
        // Fewer do not replace the kernel's list.
        #expect(all.count >= 2)
        for entry in all where entry.address != .zero {
            #expect(entries[entry.address] == nil)
            entries[entry.address] = entry.values.intervalMinimum
        }
        return entries
    }

    @Test func theNewestEntryOfADeviceCountsUntilItEnds() {
        var list = InitialParameterList()
        #expect(list.isEmpty && Self.entries(list).isEmpty)
        list.add(Self.parameters(80), for: Self.one, as: Self.first)
        list.add(Self.parameters(6), for: Self.one, as: Self.second)
        list.add(Self.parameters(100), for: Self.other, as: ObjectIdentifier(Bool.self))
        #expect(Self.entries(list) == [Self.one: 6, Self.other: 100])
        list.remove([Self.second])
        #expect(Self.entries(list) == [Self.one: 80, Self.other: 100] && list.ended.isEmpty)
        list.remove([Self.first])
        #expect(Self.entries(list) == [Self.one: 24, Self.other: 100] && !list.ended.isEmpty)
    }

    @Test func anEndedEntryIsReplacedByTheDefaultsOnce() {
        var list = InitialParameterList()
        list.add(Self.parameters(80), for: Self.one, as: Self.first)
        list.remove([Self.first])
        #expect(!list.isEmpty && Self.entries(list) == [Self.one: 24])
        list.replaced(list.ended)
        #expect(list.isEmpty && Self.entries(list).isEmpty)
    }

    @Test func anEntryThatEndsWhileAListIsLoadedWaitsForTheNext() {
        var list = InitialParameterList()
        list.add(Self.parameters(80), for: Self.one, as: Self.first)
        let ended = list.ended
        list.remove([Self.first])
        list.replaced(ended)
        #expect(!list.ended.isEmpty && Self.entries(list) == [Self.one: 24])
    }

    @Test func anEntryThatBeginsAgainIsNotReplaced() {
        var list = InitialParameterList()
        list.add(Self.parameters(80), for: Self.one, as: Self.first)
        list.remove([Self.first])
        list.add(Self.parameters(60), for: Self.one, as: Self.first)
        #expect(list.ended.isEmpty && Self.entries(list) == [Self.one: 60])
    }

    @Test func unknownNumbersAndForgottenEntriesAreNotReplaced() {
        var list = InitialParameterList()
        list.remove([Self.second])
        #expect(list.isEmpty)
        list.add(Self.parameters(80), for: Self.one, as: Self.first)
        list.forget([Self.first])
        #expect(list.isEmpty)
    }

    @Test func theDefaultsAreReadOfTheAdaptersConfiguration() {
        let all = [
            SystemParameter(.connectionIntervalMinimum, 8), SystemParameter(.connectionIntervalMaximum, 9),
            SystemParameter(.latency, 1), SystemParameter(.supervisionTimeout, 100),
        ]
        #expect(
            LEConnectionParameters(all)
                == LEConnectionParameters(
                    intervalMinimum: 8, intervalMaximum: 9, latency: 1, supervisionTimeout: 100))
        #expect(LEConnectionParameters(Array(all.dropFirst())) == nil)
        #expect(LEConnectionParameters([]) == nil)
    }
}
