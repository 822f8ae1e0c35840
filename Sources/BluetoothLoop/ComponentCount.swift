import Synchronization

/// Counts components in debug builds: there are none soon after whoever uses them has let go of the last handle.
public final class ComponentCount: Sendable {
    #if DEBUG
        private let numbers = Mutex<[String: Int]>([:])

        /// How many there are of each kind; kinds of which there are none are left out.
        package var alive: [String: Int] { numbers.withLock { $0.filter { $0.value > 0 } } }

        /// How many there are.
        package var value: Int { numbers.withLock { $0.values.reduce(0, +) } }
    #endif

    /// Counts nothing yet.
    public init() {}

    /// Counts who keeps it, for as long as it lives.
    public struct Mark: ~Copyable, Sendable {
        #if DEBUG
            private let count: ComponentCount
            private let kind: String

            fileprivate init(_ count: ComponentCount, _ kind: String) {
                (self.count, self.kind) = (count, kind)
                count.numbers.withLock { $0[kind, default: 0] += 1 }
            }

            deinit {
                count.numbers.withLock { $0[kind, default: 0] -= 1 }
            }
        #else
            @inline(__always)
            fileprivate init() {}
        #endif
    }

    /// One more of a kind.
    public func mark(_ kind: @autoclosure () -> String = "component") -> Mark {
        #if DEBUG
            Mark(self, kind())
        #else
            Mark()
        #endif
    }
}
