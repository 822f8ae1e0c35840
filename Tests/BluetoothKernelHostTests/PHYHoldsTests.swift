import BluetoothManagement
import Testing

@testable import BluetoothKernelHost

@Suite struct PHYHoldsTests {
    private static let plain = ManagementPHYs([.le1M, .le2M])
    private static let coded = ManagementPHYs(.leCoded)
    private static let (first, second) = (ObjectIdentifier(Int.self), ObjectIdentifier(UInt.self))

    @Test func whatWasSelectedForANeedIsUndoneAfterTheLast() {
        var holds = PHYHolds()
        #expect(holds.isEmpty)
        for need in [Self.first, Self.second] { holds.add(need) }
        let selection = holds.selection(from: Self.plain)
        #expect(selection == Self.plain.union(Self.coded))
        holds.changed(from: Self.plain, to: selection)
        holds.remove([Self.first])
        #expect(!holds.isToBeUndone)
        holds.remove([Self.second])
        #expect(holds.isToBeUndone && !holds.isEmpty)
        // Another program's selection meanwhile is left alone.
        #expect(holds.selection(from: Self.coded) == [])
        holds.changed(from: selection, to: Self.plain)
        #expect(holds.isEmpty)
    }

    @Test func whatWasSelectedBeforeStays() {
        var holds = PHYHolds()
        holds.add(Self.first)
        #expect(holds.selection(from: Self.coded) == Self.coded)
        holds.remove([Self.first])
        #expect(holds.isEmpty && !holds.isToBeUndone)
    }

    @Test func oneThatClosesUndoesNothingThatOthersNeed() {
        var holds = PHYHolds()
        for need in [Self.first, Self.second] { holds.add(need) }
        holds.changed(from: Self.plain, to: Self.plain.union(Self.coded))
        holds.remove([Self.first])
        var undone = holds.takeUndone()
        #expect(undone == nil)
        holds.remove([Self.second])
        undone = holds.takeUndone()
        #expect(undone == Self.plain && holds.isEmpty)
        undone = holds.takeUndone()
        #expect(undone == nil)
    }

    @Test func undoingIsGivenUp() {
        var holds = PHYHolds()
        holds.add(Self.first)
        holds.changed(from: Self.plain, to: Self.plain.union(Self.coded))
        holds.remove([Self.first])
        holds.giveUpUndoing()
        #expect(holds.isEmpty)
        #expect(holds.selection(from: Self.plain.union(Self.coded)) == Self.plain.union(Self.coded))
    }
}
