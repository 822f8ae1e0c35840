import BluetoothSockets
import BluetoothPrimitives
import Logging
import Synchronization

/// A store of bonds, separate for each adapter, since a bond belongs to the adapter's address.
///
/// Calls may overlap; the last one counts. An error of the store is thrown to the caller that requested the change; the
/// bond remains in use as long as the adapter is open.
public protocol BondStore: Sendable {
    /// All bonds of an adapter. A bond that cannot be read is logged and left out.
    func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond]
    /// Stores a bond in place of the one with the same device.
    func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError)
    /// Stores a bond in place of the one with the same device; returns false if there is none, such as after its
    /// removal by another program.
    func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool
    /// Removes the bond with a device, if there is one.
    func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async throws(BluetoothError)
    /// The identity of an adapter that has no public address, or hides it. Without a stored identity, `proposal` is
    /// stored and returned; nil if there is no proposal either.
    /// - Parameters:
    ///   - place: the adapter's key in the store: its port, or its public address.
    ///   - proposal: the identity to store if there is none; nil only reads.
    func localIdentity(
        ofAdapterAt place: String, orStore proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity?
}

/// A store in memory, which lasts as long as the program runs: for tests, and where nothing may be written.
public final class MemoryBondStore: BondStore {
    private let state = Mutex<[BluetoothAddress: [BluetoothAddress: Bond]]>([:])
    private let identities = Mutex<[String: LocalIdentity]>([:])

    /// Creates a store with bonds.
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

    /// Stores a bond.
    public func save(_ bond: Bond, of adapter: BluetoothAddress) {
        state.withLock { $0[adapter, default: [:]][bond.identity] = bond }
    }

    /// Stores a bond in place of the one with the same device; false if there is none.
    public func update(_ bond: Bond, of adapter: BluetoothAddress) -> Bool {
        state.withLock { state in
            guard state[adapter]?[bond.identity] != nil else { return false }
            state[adapter]?[bond.identity] = bond
            return true
        }
    }

    /// Removes the bond with a device.
    public func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) {
        state.withLock { _ = $0[adapter]?.removeValue(forKey: identity) }
    }

    /// The identity of an adapter; without a stored one, the proposal.
    public func localIdentity(ofAdapterAt place: String, orStore proposal: LocalIdentity?) -> LocalIdentity? {
        identities.withLock { identities in
            if identities[place] == nil { identities[place] = proposal }
            return identities[place]
        }
    }
}

/// The source of an adapter's bonds.
public enum BondStorage: Sendable {
    /// The files of ``FileBondStore/defaultDirectory``; on a kernel that is not the machine's own, such as a simulated
    /// one, a ``MemoryBondStore`` that ends with the adapter.
    case standard
    /// A given store.
    case store(any BondStore)
    /// No bonds, as another program manages the keys: none are loaded into the kernel, and none are stored.
    case disabled
}

extension BondStorage {
    /// The store of the adapters' bonds; nil for none.
    func store(log: Logger) -> (any BondStore)? {
        switch self {
        case .disabled: return nil
        case .store(let store): return store
        case .standard:
            do throws(BluetoothError) {
                return try FileBondStore(log: log)
            } catch {
                log.notice("bonds are not stored: \(error)")
                return MemoryBondStore()
            }
        }
    }
}
