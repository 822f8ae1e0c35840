/// A binary heap of deadlines whose entries can be changed and removed.
///
/// Entries with equal deadlines expire in the order set, so that simulations are deterministic.
struct TimerQueue<Handler: Sendable> {
    private struct Slot {
        var handler: Handler?
        var heapIndex: Int?
        var deadline: KernelInstant
        var order: UInt64
    }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var heap: [Int] = []
    /// The number of times any entry was set.
    private(set) var nextOrder: UInt64 = 0

    /// The earliest deadline.
    var firstDeadline: KernelInstant? {
        heap.first.map { slots[$0].deadline }
    }

    mutating func addSlot(_ handler: Handler) -> Int {
        let slot = Slot(handler: handler, heapIndex: nil, deadline: KernelInstant(nanoseconds: 0), order: 0)
        if let free = freeSlots.popLast() {
            slots[free] = slot
            return free
        }
        slots.append(slot)
        return slots.count - 1
    }

    /// Frees an entry's slot and returns its handler.
    mutating func removeSlot(_ slot: Int) -> Handler? {
        set(slot, at: nil)
        let handler = slots[slot].handler
        slots[slot].handler = nil
        freeSlots.append(slot)
        return handler
    }

    mutating func set(_ slot: Int, at deadline: KernelInstant?) {
        if let index = slots[slot].heapIndex { removeFromHeap(at: index) }
        guard let deadline else { return }
        slots[slot].deadline = deadline
        slots[slot].order = nextOrder
        nextOrder &+= 1
        heap.append(slot)
        slots[slot].heapIndex = heap.count - 1
        siftUp(from: heap.count - 1)
    }

    /// Removes the first entry whose deadline has passed, unless it was set at or after `order`; returns its handler.
    mutating func removeDue(at now: @autoclosure () -> KernelInstant, setBefore order: UInt64) -> Handler? {
        guard let slot = heap.first, slots[slot].order < order, slots[slot].deadline <= now() else { return nil }
        removeFromHeap(at: 0)
        return slots[slot].handler
    }

    private func comesBefore(_ left: Int, _ right: Int) -> Bool {
        (slots[left].deadline.nanoseconds, slots[left].order) < (slots[right].deadline.nanoseconds, slots[right].order)
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        slots[heap[left]].heapIndex = left
        slots[heap[right]].heapIndex = right
    }

    private mutating func removeFromHeap(at index: Int) {
        slots[heap[index]].heapIndex = nil
        let last = heap.removeLast()
        guard index < heap.count else { return }
        heap[index] = last
        slots[last].heapIndex = index
        siftUp(from: index)
        siftDown(from: slots[last].heapIndex ?? index)
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard comesBefore(heap[child], heap[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && comesBefore(heap[child], heap[first]) {
                first = child
            }
            guard first != parent else { return }
            exchange(parent, first)
            parent = first
        }
    }
}
