import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The writer of an adapter's bonds to its store.
///
/// The owner of the bonds writes the changes one after the other, as long as there are any. Of several pending changes of
/// one bond, only the last is written.
//
// Confined to the event loop, with the bonds.
final class BondWriter {
    private let mark: ComponentCount.Mark
    /// A step of ``next()``.
    enum Step {
        case stored(Bond)
        case notStored(Bond, BluetoothError)
        /// Another program has removed the bond from the store.
        case isGone(BluetoothAddress)
        /// The bonds are to be read again.
        case read
        /// A removal, perhaps failed, or nothing to report.
        case done
    }

    /// A pending change.
    private struct Write {
        /// The bond; nil for its removal.
        var bond: Bond?
        /// Whether the bond is written only if the store has an earlier version of it.
        var isUpdate: Bool
        var waiters = WaiterList<Void, BluetoothError>()
    }

    let store: any BondStore
    private let log: Logger
    /// The adapter whose bonds are written.
    var adapter = BluetoothAddress.zero
    /// The devices whose present bond could not be written.
    private(set) var unsaved: Set<BluetoothAddress> = []
    private var writes: [BluetoothAddress: Write] = [:]
    /// Whether the bonds are to be read again.
    private var isReadingDue = false
    /// The owner's task that writes, until nothing is due.
    var task: Task<Void, Never>?
    /// The number of readings under way, the devices whose bonds have changed here meanwhile, and the one whose bond is
    /// being written.
    private var readings = (count: 0, changed: Set<BluetoothAddress>(), writing: BluetoothAddress?.none)

    init(_ store: any BondStore, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("BondWriter")
        self.store = store
        self.log = log
    }

    /// Reads the bonds of the adapter, and returns them with the devices whose bonds the store may not have yet as they are
    /// here; nil if the adapter was replaced meanwhile.
    nonisolated(nonsending) func read() async throws(BluetoothError) -> (bonds: [Bond], own: Set<BluetoothAddress>)? {
        let adapter = adapter
        readings.count += 1
        readings.changed.formUnion(writes.keys)
        if let writing = readings.writing { readings.changed.insert(writing) }
        defer {
            readings.count -= 1
            if readings.count == 0 { readings.changed = [] }
        }
        let bonds = try await store.bonds(of: adapter)
        guard self.adapter == adapter else { return nil }
        let own = readings.changed.union(unsaved)
        return (bonds.filter { !own.contains($0.identity) }, own)
    }

    /// Has the bonds read again after the writes that are due.
    func readAgain() { isReadingDue = true }

    /// Forgets the write error of a removed bond.
    func drop(_ identity: BluetoothAddress) { unsaved.remove(identity) }

    /// Schedules a write of the bond with a device, or of its removal, in place of one that is pending.
    func write(
        _ bond: Bond?, of identity: BluetoothAddress, isUpdate: Bool, _ waiter: Promise<Void, BluetoothError>? = nil
    ) {
        var write = writes[identity] ?? Write(isUpdate: true)
        write.bond = bond
        // A bond whose last write failed is not in the store, so an update would not find it.
        write.isUpdate = write.isUpdate && isUpdate && !unsaved.contains(identity)
        if let waiter { write.waiters.append(waiter) }
        writes[identity] = write
        if readings.count > 0 { readings.changed.insert(identity) }
    }

    /// Writes the next change; nil if none is due.
    nonisolated(nonsending) func next() async -> Step? {
        guard let (identity, first) = writes.popFirst() else {
            defer { isReadingDue = false }
            if !isReadingDue { task = nil }
            return isReadingDue ? .read : nil
        }
        var write = first
        readings.writing = identity
        let (step, failure) = await store(write.bond, of: identity, isUpdate: write.isUpdate)
        readings.writing = nil
        write.waiters.resolveAll(failure.map { .failure($0) } ?? .success(()))
        return step
    }

    /// Writes a bond, or its removal; returns the error if that fails.
    private nonisolated(nonsending) func store(
        _ bond: Bond?, of identity: BluetoothAddress, isUpdate: Bool
    ) async -> (Step, BluetoothError?) {
        do throws(BluetoothError) {
            guard let bond else {
                try await store.removeBond(with: identity, of: adapter)
                return (.done, nil)
            }
            if isUpdate {
                guard try await store.update(bond, of: adapter) else {
                    log.debug("another program has removed the bond with \(identity.digits)")
                    return (writes[identity]?.isUpdate != false ? .isGone(identity) : .done, nil)
                }
            } else {
                try await store.save(bond, of: adapter)
            }
            unsaved.remove(identity)
            return (.stored(bond), nil)
        } catch {
            guard let bond else {
                log.warning("\(error)")
                return (.done, error)
            }
            log.warning("the bond with \(identity.digits) could not be stored and ends with this program: \(error)")
            unsaved.insert(identity)
            return (.notStored(bond, error), error)
        }
    }

    /// Waits until all changes are written.
    nonisolated(nonsending) func flush() async { await task?.value }
}
