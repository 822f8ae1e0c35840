import Synchronization

/// A count of live components, which reaches zero soon after the last handle is released; in debug builds, and in those
/// with `COUNTS_COMPONENTS`.
public final class ComponentCount: Sendable {
    #if DEBUG || COUNTS_COMPONENTS
        private let numbers = Mutex<[String: Int]>([:])

        /// The number of live components of each kind; kinds without any are left out.
        package var alive: [String: Int] { numbers.withLock { $0.filter { $0.value > 0 } } }

        /// The number of live components.
        package var value: Int { numbers.withLock { $0.values.reduce(0, +) } }
    #endif

    /// An empty count.
    public init() {}

    /// A mark that counts its owner for its lifetime.
    public struct Mark: ~Copyable, Sendable {
        #if DEBUG || COUNTS_COMPONENTS
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

    /// Adds a component of a kind.
    public func mark(_ kind: @autoclosure () -> String = "component") -> Mark {
        #if DEBUG || COUNTS_COMPONENTS
            Mark(self, kind())
        #else
            Mark()
        #endif
    }
}
