import Synchronization

/// The identity of a service, characteristic or descriptor that a program defines; copies of a definition share it.
///
/// It distinguishes definitions with the same UUID, so that a program can address each one after publishing it.
public struct DefinitionID: Hashable, Sendable {
    private let number: UInt64

    private static let last = Atomic<UInt64>(0)

    /// A new identity.
    init() {
        number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
