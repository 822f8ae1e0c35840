import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The writer of an adapter's bonds to its store.
///
/// One task writes the changes one after the other and ends when there are none left. Of several pending changes of one
/// bond, only the last is written.
//
// Confined to the event loop, with the bonds.
final class BondWriter {
    private let mark: ComponentCount.Mark
    typealias Reading = nonisolated(nonsending) () async -> Void
    /// The outcome of writing a bond.
    enum WriteOutcome {
        case stored(Bond)
        case notStored(Bond, BluetoothError)
        /// Another program has removed the bond from the store.
        case isGone(BluetoothAddress)
    }

    /// A pending change.
    private struct Write {
        /// Whether the bond is written only if the store has an earlier version of it.
        var isUpdate: Bool
        var waiters = WaiterList<Void, BluetoothError>()
    }

    let store: any BondStore
    private let loop: EventLoop
    private let log: Logger
    /// The present bond with a device.
    var bond: (BluetoothAddress) -> Bond? = { _ in nil }
    /// Called with the outcome of writing a bond.
    var onOutcome: (WriteOutcome) -> Void = { _ in }
    /// The adapter whose bonds are written.
    var adapter = BluetoothAddress.zero
    /// The devices whose present bond could not be written.
    private(set) var unsaved: Set<BluetoothAddress> = []
    private var writes: [BluetoothAddress: Write] = [:]
    /// Reads the bonds again, if that is due.
    private var reading: Reading?
    private var writer: Task<Void, Never>?
    /// The number of readings under way, the devices whose bonds have changed here meanwhile, and the one whose bond is
    /// being written.
    private var readings = (count: 0, changed: Set<BluetoothAddress>(), writing: BluetoothAddress?.none)

    init(_ store: any BondStore, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("BondWriter")
        self.store = store
        self.loop = loop
        self.log = log
    }

    /// Reads the bonds of the adapter; nil if it was replaced meanwhile. What the store may not have yet is as it is here.
    nonisolated(nonsending) func read() async throws(BluetoothError) -> [Bond]? {
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
        return bonds.filter { !own.contains($0.identity) } + own.compactMap(bond)
    }

    /// Calls `body` after the writes that are due.
    func readAgain(keeping owner: AnyObject, _ body: @escaping Reading) {
        reading = body
        begin(keeping: owner)
    }

    /// Forgets the write error of a removed bond.
    func drop(_ identity: BluetoothAddress) { unsaved.remove(identity) }

    /// Schedules a write of the bond with a device, or of its removal, in the state it has by then.
    ///
    /// - Parameter owner: the owner of the bonds, retained until the last write, which reads them from it.
    func write(
        _ identity: BluetoothAddress, isUpdate: Bool, keeping owner: AnyObject,
        _ waiter: Promise<Void, BluetoothError>? = nil
    ) {
        var write = writes[identity] ?? Write(isUpdate: true)
        // A bond whose last write failed is not in the store, so an update would not find it.
        write.isUpdate = write.isUpdate && isUpdate && !unsaved.contains(identity)
        if let waiter { write.waiters.append(waiter) }
        writes[identity] = write
        if readings.count > 0 { readings.changed.insert(identity) }
        begin(keeping: owner)
    }

    private func begin(keeping owner: AnyObject) {
        guard writer == nil else { return }
        let own = LoopBound((writer: self, owner: owner), on: loop)
        writer = Task(executorPreference: loop) {
            await own.value.writer.writeAll()
            withExtendedLifetime(own) {}
        }
    }

    private nonisolated(nonsending) func writeAll() async {
        while reading != nil || !writes.isEmpty {
            while let (identity, first) = writes.popFirst() {
                var write = first
                readings.writing = identity
                let failure = await store(identity, isUpdate: write.isUpdate)
                readings.writing = nil
                write.waiters.resolveAll(failure.map { .failure($0) } ?? .success(()))
            }
            await reading.take()?()
        }
        writer = nil
    }

    /// Writes the present state of the bond with a device; returns the error if that fails.
    private nonisolated(nonsending) func store(_ identity: BluetoothAddress, isUpdate: Bool) async -> BluetoothError? {
        let bond = bond(identity)
        do throws(BluetoothError) {
            if let bond {
                if isUpdate {
                    guard try await store.update(bond, of: adapter) else {
                        log.debug("another program has removed the bond with \(identity)")
                        if writes[identity]?.isUpdate != false { onOutcome(.isGone(identity)) }
                        return nil
                    }
                } else {
                    try await store.save(bond, of: adapter)
                }
                unsaved.remove(identity)
                onOutcome(.stored(bond))
            } else {
                try await store.removeBond(with: identity, of: adapter)
            }
            return nil
        } catch {
            if let bond {
                log.warning("the bond with \(identity) could not be stored and ends with this program: \(error)")
                unsaved.insert(identity)
                onOutcome(.notStored(bond, error))
            } else {
                log.warning("\(error)")
            }
            return error
        }
    }

    /// Waits until all changes are written.
    nonisolated(nonsending) func flush() async {
        await writer?.value
    }
}
