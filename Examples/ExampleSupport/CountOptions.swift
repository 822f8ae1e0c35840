import ArgumentParser
import Synchronization

/// The number of results of a command that would otherwise run until it is stopped.
public struct CountOptions: ParsableArguments, Sendable {
    /// The number.
    @Option(help: "Exit after this number of results, such as 10; it is a failure if the time of --for ends before.")
    public var count: Int?

    /// The defaults.
    public init() {}

    /// Rejects an invalid number.
    public mutating func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number above 0, not \(count).") }
    }

    /// Runs `body`, which counts its results, as ``upTo(_:_:)`` does; too few of them by the end of the time are a failure.
    public func upTo(_ limit: Duration?, _ body: @escaping @Sendable (ResultCount) async throws -> Void) async throws {
        let results = ResultCount(of: count)
        if try await ExampleSupport.upTo(limit, { try await body(results) }) == nil { try check(results.found) }
    }

    /// Fails if there are fewer results than requested.
    public func check(_ found: Int) throws {
        guard let count, found < count else { return }
        throw ProgramError(.timedOut, "Only \(found) of \(count) results within the time limit.")
    }
}

/// The count of a command's results.
public final class ResultCount: Sendable {
    private let wanted: Int
    private let counted = Atomic(0)

    init(of wanted: Int?) { self.wanted = wanted ?? .max }

    /// The number of results so far.
    public var found: Int { min(wanted, counted.load(ordering: .relaxed)) }

    /// Counts a result, and returns the number of those that follow; negative if there were enough before.
    public func add() -> Int { wanted - counted.add(1, ordering: .relaxed).newValue }
}
