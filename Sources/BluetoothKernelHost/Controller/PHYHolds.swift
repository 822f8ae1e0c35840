import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// The need of this process's objects for LE Coded on an adapter, and what they have selected for it.
struct PHYHolds: AdapterTableValue, Sendable {
    private var nextNumber: UInt64 = 0
    private var numbers: Set<UInt64> = []
    /// What was selected in addition, and is deselected at the end.
    private var added: ManagementPHYs = []
    /// The selection with it.
    private var selected: ManagementPHYs = []

    private static let coded = ManagementPHYs(.leCoded)

    /// Whether nothing is needed and nothing remains to be undone.
    var isEmpty: Bool { numbers.isEmpty && added.isEmpty }

    /// Adds a need; returns its number.
    mutating func add() -> UInt64 {
        nextNumber += 1
        numbers.insert(nextNumber)
        return nextNumber
    }

    mutating func remove(_ numbers: Set<UInt64>) { self.numbers.subtract(numbers) }

    /// Whether the selection is no longer needed.
    var isToBeUndone: Bool { numbers.isEmpty && !added.isEmpty }

    /// The selection that is needed, given the present one.
    func selection(from present: ManagementPHYs) -> ManagementPHYs {
        numbers.isEmpty ? present.subtracting(added) : present.union(Self.coded)
    }

    /// The selection that undoes what was selected, going by the last one known, which is then over; nil if there is nothing
    /// to undo, or others need it still.
    mutating func takeUndone() -> ManagementPHYs? {
        guard isToBeUndone else { return nil }
        defer { added = [] }
        return selected.subtracting(added)
    }

    /// Records a change of the selection.
    mutating func changed(from old: ManagementPHYs, to new: ManagementPHYs) {
        added = new.subtracting(old)
        selected = new
    }

    /// Leaves the selection as it is.
    mutating func giveUpUndoing() { added = [] }
}
