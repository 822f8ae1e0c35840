import BluetoothSockets
import BluetoothPrimitives
import Logging

/// Brings the store to where the bonds of an adapter are.
///
/// Changes are written one after the other by one task, which ends when there are none; of several changes of one bond
/// that wait for it, the last is written.
//
// Lives on the loop, with the bonds.
final class BondWriter {
    private let mark: ComponentCount.Mark
    /// What has become of a bond.
    enum WriteOutcome {
        case kept(Bond)
        case notKept(Bond, BluetoothError)
        /// Another program has removed it.
        case isGone(BluetoothAddress)
    }

    /// A change that is to be written.
    private struct Write {
        /// Whether it is written only where it replaces another.
        var isUpdate: Bool
        var waiters = WaiterList<Void, BluetoothError>()
    }

    let store: any BondStore
    private let loop: EventLoop
    private let log: Logger
    /// The bond with a device as it is now.
    var bond: (BluetoothAddress) -> Bond? = { _ in nil }
    /// Called with what has become of a bond.
    var onOutcome: (WriteOutcome) -> Void = { _ in }
    /// Whose bonds they are.
    private var adapter = BluetoothAddress.zero
    /// Those of whom the store has not the last word, since it could not be written.
    private(set) var unsaved: Set<BluetoothAddress> = []
    private var writes: [BluetoothAddress: Write] = [:]
    private var writer: Task<Void, Never>?

    init(_ store: any BondStore, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("BondWriter")
        self.store = store
        self.loop = loop
        self.log = log
    }

    /// Reads the bonds of an adapter, whose are written from now on; nil when another was asked for meanwhile.
    nonisolated(nonsending) func read(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond]? {
        self.adapter = adapter
        let bonds = try await store.bonds(of: adapter)
        return self.adapter == adapter ? bonds : nil
    }

    /// Takes note that a bond is there no more.
    func drop(_ identity: BluetoothAddress) { unsaved.remove(identity) }

    /// Has a bond written as it is then, or its absence.
    ///
    /// - Parameter owner: has the bonds, and is kept until all is written: one that is gone would have none.
    func write(
        _ identity: BluetoothAddress, isUpdate: Bool, keeping owner: AnyObject,
        _ waiter: Promise<Void, BluetoothError>? = nil
    ) {
        var write = writes[identity] ?? Write(isUpdate: true)
        // One that could not be written the last time is not there to be replaced.
        write.isUpdate = write.isUpdate && isUpdate && !unsaved.contains(identity)
        if let waiter { write.waiters.append(waiter) }
        writes[identity] = write
        guard writer == nil else { return }
        let own = LoopBound((writer: self, owner: owner), on: loop)
        writer = Task(executorPreference: loop) {
            await own.value.writer.writeAll()
            withExtendedLifetime(own) {}
        }
    }

    private nonisolated(nonsending) func writeAll() async {
        while let (identity, first) = writes.popFirst() {
            var write = first
            let failure = await store(identity, isUpdate: write.isUpdate)
            write.waiters.resolveAll(failure.map { .failure($0) } ?? .success(()))
        }
        writer = nil
    }

    /// Brings the store to where the bond with a device is; says what is in the way.
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
                onOutcome(.kept(bond))
            } else {
                try await store.removeBond(with: identity, of: adapter)
            }
            return nil
        } catch {
            if let bond {
                log.warning("the bond with \(identity) lasts as long as this program: \(error)")
                unsaved.insert(identity)
                onOutcome(.notKept(bond, error))
            } else {
                log.warning("\(error)")
            }
            return error
        }
    }

    /// Waits until what has changed is written.
    nonisolated(nonsending) func flush() async {
        await writer?.value
    }
}
