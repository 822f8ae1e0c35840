import Glibc
import BluetoothSimulation
import Testing

/// A random number generator for tests: different numbers in each run, and the same numbers for the same seed.
///
/// A test that uses it has the trait `.seeded`, so that its failures include how to repeat them.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The environment variable that sets ``runSeed``.
    package static let variable = "BLUETOOTH_TEST_SEED"

    /// The seed of this test run: a new one, or that of the environment variable `BLUETOOTH_TEST_SEED`.
    package static let runSeed: UInt64 = {
        guard let value = getenv(variable) else { return .random(in: 1...999_999_999) }
        guard let seed = UInt64(String(cString: value)) else { preconditionFailure("\(variable) is not a number") }
        return seed
    }()

    /// Seeds for the cases of one test, which differ from each other and from run to run.
    package static func seeds(_ count: Int) -> [UInt64] {
        (0..<UInt64(count)).map { runSeed &* 1_000 &+ $0 }
    }

    private var numbers: SimulationGenerator

    /// Creates the generator of a seed.
    package init(seed: UInt64 = runSeed) {
        numbers = SimulationGenerator(seed: seed)
    }

    /// The next 64 bits.
    package mutating func next() -> UInt64 { numbers.next() }

    /// True with a probability of one in `count`.
    package mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

extension Trait where Self == IssueHandlingTrait {
    /// A trait that adds the seed, and how to repeat the run with it, to the failures of the test or suite.
    package static var seeded: Self {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append(
                "Its numbers are random: set \(SeededGenerator.variable)=\(SeededGenerator.runSeed) to repeat them.")
            return issue
        }
    }
}
