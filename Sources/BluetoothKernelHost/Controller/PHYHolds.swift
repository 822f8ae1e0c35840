import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// The need of this process's objects for LE Coded on an adapter, and what they have selected for it.
struct PHYHolds: AdapterTableValue, Sendable {
    private var needs: Set<ObjectIdentifier> = []
    /// What was selected in addition, and is deselected at the end.
    private var added: ManagementPHYs = []
    /// The selection with it.
    private var selected: ManagementPHYs = []

    private static let coded = ManagementPHYs(.leCoded)

    /// Whether nothing is needed and nothing remains to be undone.
    var isEmpty: Bool { needs.isEmpty && added.isEmpty }

    mutating func add(_ need: ObjectIdentifier) { needs.insert(need) }

    mutating func remove(_ needs: Set<ObjectIdentifier>) { self.needs.subtract(needs) }

    /// Whether the selection is no longer needed.
    var isToBeUndone: Bool { needs.isEmpty && !added.isEmpty }

    /// The selection that is needed, given the present one.
    func selection(from present: ManagementPHYs) -> ManagementPHYs {
        needs.isEmpty ? present.subtracting(added) : present.union(Self.coded)
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
