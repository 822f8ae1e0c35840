import Synchronization

/// Counts a radio's components and handles in debug builds: there are none soon after the program's last object has gone.
final class ComponentCount: Sendable {
    #if DEBUG
        private let number = Atomic(0)

        /// How many there are.
        var value: Int { number.load(ordering: .acquiring) }
    #endif

    /// Counts who keeps it, for as long as it lives.
    struct Mark: ~Copyable {
        #if DEBUG
            private let count: ComponentCount

            fileprivate init(_ count: ComponentCount) {
                self.count = count
                count.number.add(1, ordering: .acquiringAndReleasing)
            }

            deinit {
                count.number.subtract(1, ordering: .acquiringAndReleasing)
            }
        #endif
    }

    /// One more.
    func mark() -> Mark {
        #if DEBUG
            Mark(self)
        #else
            Mark()
        #endif
    }
}
