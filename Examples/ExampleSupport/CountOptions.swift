import ArgumentParser

/// The number of results of a command that would otherwise run until it is stopped.
public struct CountOptions: ParsableArguments, Sendable {
    /// The number.
    @Option(help: "Exit after this number of results, such as 10; fewer within the time of --for are a failure.")
    public var count: Int?

    /// The defaults.
    public init() {}

    /// Rejects an invalid number.
    public mutating func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number above 0, not \(count).") }
    }

    /// Runs `body` as ``upTo(_:_:)`` does, with the number; the end of the time is a failure if there is one.
    public func upTo(_ limit: Duration?, _ body: @escaping @Sendable (_ count: Int) async throws -> Void) async throws {
        if try await ExampleSupport.upTo(limit, { try await body(count ?? .max) }) == nil { try check(0) }
    }

    /// Fails if there are fewer results than requested.
    public func check(_ found: Int) throws {
        guard let count, found < count else { return }
        throw ProgramError(.timedOut, "Fewer than \(count) results within the time limit.")
    }
}
