import BluetoothSockets
import BluetoothPrimitives
import Logging
import Synchronization

/// Keeps bonds, those of each adapter apart: an adapter knows its devices by its own address.
///
/// Calls may come at the same time; the last one counts. What a store throws is told to whoever asked for the change, and
/// the bond is used all the same for as long as the adapter is open.
public protocol BondStore: Sendable {
    /// All bonds of an adapter. One that cannot be read is left out, with a word in the log; the others are returned.
    func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond]
    /// Keeps a bond, in place of the one with the same device.
    func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError)
    /// Keeps a bond in place of the one with the same device, unless that has been removed meanwhile, such as by another
    /// program; false then.
    func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool
    /// Forgets the bond with a device; none is no error.
    func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async throws(BluetoothError)
    /// What an adapter calls itself where it has no public address, or hides it. Where nothing is kept, the proposal is
    /// kept from now on and returned; nil without one.
    /// - Parameter place: by which the adapter is recognised: where it is plugged in, or its public address.
    func localIdentity(
        ofAdapterAt place: String, orKeep proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity?
}

/// Keeps bonds as long as the program runs: for tests, and where nothing may be written.
public final class MemoryBondStore: BondStore {
    private let state = Mutex<[BluetoothAddress: [BluetoothAddress: Bond]]>([:])
    private let identities = Mutex<[String: LocalIdentity]>([:])

    /// A store with bonds.
    public init(_ bonds: [Bond] = [], of adapter: BluetoothAddress = .zero) {
        guard !bonds.isEmpty else { return }
        state.withLock { state in
            for bond in bonds { state[adapter, default: [:]][bond.identity] = bond }
        }
    }

    /// All bonds of an adapter, by address.
    public func bonds(of adapter: BluetoothAddress) -> [Bond] {
        state.withLock { $0[adapter]?.values.sorted { $0.identity < $1.identity } ?? [] }
    }

    /// Keeps a bond.
    public func save(_ bond: Bond, of adapter: BluetoothAddress) {
        state.withLock { $0[adapter, default: [:]][bond.identity] = bond }
    }

    /// Keeps a bond in place of the one with the same device; false when there is none.
    public func update(_ bond: Bond, of adapter: BluetoothAddress) -> Bool {
        state.withLock { state in
            guard state[adapter]?[bond.identity] != nil else { return false }
            state[adapter]?[bond.identity] = bond
            return true
        }
    }

    /// Forgets the bond with a device.
    public func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) {
        state.withLock { _ = $0[adapter]?.removeValue(forKey: identity) }
    }

    /// What an adapter calls itself; the proposal where there is nothing yet.
    public func localIdentity(ofAdapterAt place: String, orKeep proposal: LocalIdentity?) -> LocalIdentity? {
        identities.withLock { identities in
            if identities[place] == nil { identities[place] = proposal }
            return identities[place]
        }
    }
}

/// Which bonds an adapter works with.
public enum BondKeeping: Sendable {
    /// Those in the files of ``FileBondStore/defaultDirectory``; on a kernel that is not the machine's own, such as a
    /// simulated one, those of a ``MemoryBondStore`` that ends with the adapter.
    case standard
    /// Those of a store.
    case store(any BondStore)
    /// None: keys are another program's business. None are loaded into the kernel, and none are kept.
    case notKept
}

extension BondKeeping {
    /// Where the bonds of adapters are kept; nil for nowhere.
    func store(of provider: any HostProvider, log: Logger) -> (any BondStore)? {
        switch self {
        case .notKept: return nil
        case .store(let store): return store
        case .standard:
            guard provider.isMachine else { return MemoryBondStore() }
            do throws(BluetoothError) {
                return try FileBondStore(log: log)
            } catch {
                log.notice("bonds are not kept: \(error)")
                return MemoryBondStore()
            }
        }
    }
}
