import BluetoothManagement
import Testing

@testable import BluetoothKernelHost

@Suite struct PHYHoldsTests {
    private static let plain = ManagementPHYs([.le1M, .le2M])
    private static let coded = ManagementPHYs(.leCoded)

    @Test func whatWasSelectedForANeedIsUndoneAfterTheLast() {
        var holds = PHYHolds()
        #expect(holds.isEmpty)
        let (first, second) = (holds.add(), holds.add())
        let selection = holds.selection(from: Self.plain)
        #expect(selection == Self.plain.union(Self.coded))
        holds.changed(from: Self.plain, to: selection)
        holds.remove([first])
        #expect(!holds.isToBeUndone)
        holds.remove([second])
        #expect(holds.isToBeUndone && !holds.isEmpty)
        // Another program's selection meanwhile is left alone.
        #expect(holds.selection(from: Self.coded) == [])
        holds.changed(from: selection, to: Self.plain)
        #expect(holds.isEmpty)
    }

    @Test func whatWasSelectedBeforeStays() {
        var holds = PHYHolds()
        let number = holds.add()
        #expect(holds.selection(from: Self.coded) == Self.coded)
        holds.remove([number])
        #expect(holds.isEmpty && !holds.isToBeUndone)
    }

    @Test func oneThatClosesUndoesNothingThatOthersNeed() {
        var holds = PHYHolds()
        let (first, second) = (holds.add(), holds.add())
        holds.changed(from: Self.plain, to: Self.plain.union(Self.coded))
        holds.remove([first])
        var undone = holds.takeUndone()
        #expect(undone == nil)
        holds.remove([second])
        undone = holds.takeUndone()
        #expect(undone == Self.plain && holds.isEmpty)
        undone = holds.takeUndone()
        #expect(undone == nil)
    }

    @Test func undoingIsGivenUp() {
        var holds = PHYHolds()
        let number = holds.add()
        holds.changed(from: Self.plain, to: Self.plain.union(Self.coded))
        holds.remove([number])
        holds.giveUpUndoing()
        #expect(holds.isEmpty)
        #expect(holds.selection(from: Self.plain.union(Self.coded)) == Self.plain.union(Self.coded))
    }
}
