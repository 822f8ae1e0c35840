/// The handlers of an event, called in the order added.
package struct HandlerList<Event> {
    package typealias Handler = (Event) -> Void

    private var handlers: [(number: UInt64, handler: Handler)] = []
    private var lastNumber: UInt64 = 0

    package init() {}

    /// Adds a handler; returns the number with which to remove it.
    package mutating func add(_ handler: @escaping Handler) -> UInt64 {
        lastNumber += 1
        handlers.append((lastNumber, handler))
        return lastNumber
    }

    package mutating func remove(_ number: UInt64) {
        handlers.removeAll { $0.number == number }
    }

    package mutating func removeAll() { handlers = [] }

    /// Calls the current handlers; additions and removals during the calls apply from the next event.
    package func callAsFunction(_ event: Event) {
        for (_, handler) in handlers { handler(event) }
    }
}
