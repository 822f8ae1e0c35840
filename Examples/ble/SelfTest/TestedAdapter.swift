import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Synchronization

/// An adapter under test, with what must be put back.
final class TestedAdapter: Sendable {
    let adapter: Adapter
    /// Its state before the test.
    let before: AdapterInformation
    /// The problems that the library has noticed.
    private let noticed = Mutex<[String]>([])
    /// What the controller reports of itself, once it was read.
    private let reported = Mutex<ControllerProperties?>(nil)

    init(_ adapter: Adapter, before: AdapterInformation) {
        (self.adapter, self.before) = (adapter, before)
    }

    var name: String { before.name }

    var properties: ControllerProperties? { reported.withLock { $0 } }
    var problems: [String] { noticed.withLock { $0 } }

    func readProperties() async throws -> ControllerProperties {
        let properties = try await adapter.controllerProperties()
        reported.withLock { $0 = properties }
        return properties
    }

    /// Whether the controller has a feature, by its name; true as long as nothing is known.
    func supports(_ feature: String) -> Bool { properties?.featureNames.contains(feature) ?? true }

    /// Collects problems until the task is cancelled.
    func watch() async {
        let events = await adapter.healthEvents()
        do throws(BluetoothError) {
            for try await event in events {
                guard case .problem(let problem) = event else { continue }
                noticed.withLock { if $0.count < 16 { $0.append("\(problem)") } }
            }
        } catch {
            // Cancelled, or closed.
        }
    }

    /// Throws if links of other programs would be lost with the power.
    func checkNobodyElse() throws {
        guard let count = properties?.linkCount, count > 0 else { return }
        throw SelfTestObstacle.notRun(
            "\(name) had \(count == 1 ? "a link" : "\(count) links") when the test began",
            remedy: "End them, then run it again.")
    }
}

/// Something that could not be put back.
struct Leftover: Sendable, CustomStringConvertible {
    var text: String
    /// The command that puts it back.
    var remedy: String

    var description: String { "\(text)\n\(remedy)" }
}

/// Puts an adapter back to the state before the test.
struct AdapterRestoration: Sendable {
    let before: AdapterInformation
    /// The bonds that the test has made.
    let bonds: EphemeralBondStore
    let kernel: (any AdapterSource)?
    /// The time for each step.
    let limit: Duration
    let clock: BenchmarkClock

    /// - Parameter adapter: nil if it was not opened, or not completely.
    /// - Returns: what could not be put back.
    func run(_ adapter: Adapter?) async -> [Leftover] {
        var left: [Leftover] = []
        if let adapter {
            for bond in bonds.newBonds(of: adapter.information.address) {
                if let reason = await failure({ try await adapter.removeBond(with: bond.identity) }) {
                    left.append(
                        Leftover(
                            text: "the keys of \(before.name): \(reason)",
                            remedy: "Replace them with those of the stored bonds: sudo ble power on -i \(before.name)"))
                }
            }
            if let reason = await failure({ try await adapter.setPairingAgent(nil) }) {
                left.append(Leftover(text: "the pairing settings of \(before.name): \(reason)", remedy: powerRemedy))
            }
            await adapter.close()
        }
        do {
            let (before, kernel) = (before, kernel)
            try await withTimeLimit(limit, on: clock.loop) { try await Adapter.restoreSettings(before, on: kernel) }
        } catch  where error.code == .notPermitted && adapter == nil {
            // Without permission nothing was changed either.
        } catch {
            left.append(
                Leftover(
                    text: "the power and settings of \(before.name), which was \(before.state): \(Self.reason(error))",
                    remedy: powerRemedy))
        }
        return left
    }

    private var powerRemedy: String {
        before.isPowered
            ? "Power it on, which restores what matters: sudo ble power on -i \(before.name)"
            : "Power it off, which ends everything on it: sudo ble power off -i \(before.name)"
    }

    private func failure(_ body: @escaping @Sendable () async throws -> Void) async -> String? {
        do {
            try await withTimeLimit(limit, on: clock.loop, body)
            return nil
        } catch  where [.adapterOff, .noAdapter].contains(error.code) {
            // An adapter that is off or gone has no keys and no settings.
            return nil
        } catch {
            return Self.reason(error)
        }
    }

    private static func reason(_ error: BluetoothError) -> String {
        error.code == .noAdapter ? "it is no longer there" : error.message
    }
}

/// The bonds of a test: those of the user's store are read, new ones last as long as the program.
struct EphemeralBondStore: BondStore {
    private let base: any BondStore
    private let added = MemoryBondStore()

    init(over base: any BondStore) { self.base = base }

    /// Those that the program has made.
    func newBonds(of adapter: BluetoothAddress) -> [Bond] { added.bonds(of: adapter) }

    func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] {
        let own = added.bonds(of: adapter)
        let identities = Set(own.map(\.identity))
        return try await base.bonds(of: adapter).filter { !identities.contains($0.identity) } + own
    }

    func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) {
        added.save(bond, of: adapter)
    }

    func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool {
        if added.update(bond, of: adapter) { return true }
        guard try await base.bonds(of: adapter).contains(where: { $0.identity == bond.identity }) else { return false }
        added.save(bond, of: adapter)
        return true
    }

    func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async throws(BluetoothError) {
        added.removeBond(with: identity, of: adapter)
    }

    func localIdentity(
        ofAdapterAt place: String, orStore proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity? {
        try await base.localIdentity(ofAdapterAt: place, orStore: proposal)
    }
}
