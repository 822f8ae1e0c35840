import BluetoothHost
import Logging

/// What adapters call themselves, by their places.
//
// Lives on the loop, with the bonds.
final class LocalIdentities: AdapterKnowledge {
    private let store: (any BondStore)?
    private let log: Logger
    private var known: [String: LocalIdentity] = [:]

    init(_ store: (any BondStore)?, log: Logger) {
        self.store = store
        self.log = log
    }

    /// What the adapter at a place calls itself; made up where nothing is kept and `makes` says so, and otherwise nil.
    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity? {
        if let known = known[place] { return known }
        var identity = makes ? LocalIdentity.random() : nil
        do throws(BluetoothError) {
            if let store { identity = try await store.localIdentity(ofAdapterAt: place, orKeep: identity) }
        } catch {
            log.warning("the adapter's identity is not kept, and paired devices will not know it again: \(error)")
        }
        known[place] = identity
        return identity
    }
}
