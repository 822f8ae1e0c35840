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

/// Puts an adapter back to the state before the test.
struct AdapterRestoration: Sendable {
    let before: AdapterInformation
    /// The bonds that the test has made.
    let bonds: EphemeralBondStore
    let kernel: (any BluetoothKernel)?

    private static let limit = Duration.seconds(20)

    /// - Parameter adapter: nil if it was not opened, or not completely.
    /// - Returns: what could not be put back.
    func run(_ adapter: Adapter?) async -> [String] {
        var failures: [String] = []
        if let adapter {
            for bond in bonds.newBonds(of: adapter.information.address) {
                if let failure = await failure({ try await adapter.removeBond(with: bond.identity) }) {
                    failures.append("the keys of \(before.name): \(failure)")
                }
            }
            if let failure = await failure({ try await adapter.setPairingAgent(nil) }) {
                failures.append("the pairing settings of \(before.name): \(failure)")
            }
        }
        if let failure = await failure({ try await restorePower(adapter) }) {
            failures.append("the power of \(before.name), which was \(before.isPowered ? "on" : "off"): \(failure)")
        }
        await adapter?.close()
        return failures
    }

    private func restorePower(_ opened: Adapter?) async throws {
        let all = try await Adapter.all(on: kernel)
        guard let present = all.first(where: { $0.address == before.address }) else {
            throw SelfTestObstacle.failed("it is not there any more")
        }
        guard present.isPowered != before.isPowered else { return }
        if let opened { return try await opened.setPowered(before.isPowered) }
        let adapter = try await Adapter.open(
            .index(present.index), power: before.isPowered ? .powerOn : .leave, bonds: .disabled, on: kernel)
        do {
            try await adapter.setPowered(before.isPowered)
        } catch {
            await adapter.close()
            throw error
        }
        await adapter.close()
    }

    private func failure(_ body: @escaping @Sendable () async throws -> Void) async -> String? {
        do {
            try await withTimeLimit(Self.limit, body)
            return nil
        } catch let error as BluetoothError {
            // An adapter that is off or gone has no settings.
            return [.adapterOff, .noAdapter].contains(error.code) ? nil : error.message
        } catch let error as SelfTestObstacle {
            return error.reason
        } catch {
            return "\(error)"
        }
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
