import BluetoothLoop

/// An event of the simulation that happens at a moment unless it is cancelled.
final class ScheduledEvent {
    let moment: KernelInstant
    fileprivate let order: UInt64
    fileprivate var action: (() -> Void)?

    fileprivate init(moment: KernelInstant, order: UInt64, action: @escaping () -> Void) {
        self.moment = moment
        self.order = order
        self.action = action
    }

    /// Whether it is still pending.
    var isPending: Bool { action != nil }

    func cancel() {
        action = nil
    }

    fileprivate func comesBefore(_ other: ScheduledEvent) -> Bool {
        (moment.nanoseconds, order) < (other.moment.nanoseconds, other.order)
    }
}

/// The pending events, earliest first; events of the same moment are in the order of scheduling.
struct EventQueue {
    private var heap: [ScheduledEvent] = []
    private var nextOrder: UInt64 = 0

    mutating func schedule(at moment: KernelInstant, _ action: @escaping () -> Void) -> ScheduledEvent {
        let event = ScheduledEvent(moment: moment, order: nextOrder, action: action)
        nextOrder &+= 1
        heap.append(event)
        var child = heap.count - 1
        while child > 0, case let parent = (child - 1) / 2, heap[child].comesBefore(heap[parent]) {
            heap.swapAt(child, parent)
            child = parent
        }
        return event
    }

    /// The moment of the earliest pending event.
    mutating func nextMoment() -> KernelInstant? {
        while let first = heap.first, !first.isPending { removeFirst() }
        return heap.first?.moment
    }

    /// Removes the earliest due event and returns its action.
    mutating func removeDue(at now: KernelInstant) -> (() -> Void)? {
        guard let moment = nextMoment(), moment <= now, let first = heap.first else { return nil }
        removeFirst()
        let action = first.action
        first.cancel()
        return action
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].comesBefore(heap[first]) {
                first = child
            }
            guard first != parent else { return }
            heap.swapAt(parent, first)
            parent = first
        }
    }
}
