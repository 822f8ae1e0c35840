import Advertising
import BluetoothKernel

/// What a program advertises on an adapter, and what the kernel has still to be told of it.
struct AdvertisingTable {
    /// One advertising set.
    struct Entry {
        var content: AdvertisementContent
        let options: AdvertisingOptions
        let record: AdvertisingRecord
        var progress = AdvertisingProgress()
        /// Ends a state of limited length.
        var timer: LoopTimer?
        /// Who waits until the kernel has been told.
        var waiters = WaiterList<Void, BluetoothError>()
    }

    /// Something the kernel has to be told.
    enum Work {
        case add(UInt64)
        case remove(UInt64)
        case removeInstance(UInt8)
    }

    private(set) var entries: [UInt64: Entry] = [:]
    private var nextID: UInt64 = 0
    /// Instances that the kernel has not removed, as the adapter was off or for a reason of its own.
    var leftovers: Set<UInt8> = []
    /// Runs while the kernel is not asked again to remove them.
    var leftoverTimer: LoopTimer?

    subscript(id: UInt64) -> Entry? {
        get { entries[id] }
        set { entries[id] = newValue }
    }

    mutating func add(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ record: AdvertisingRecord
    ) -> UInt64 {
        nextID += 1
        entries[nextID] = Entry(content: content, options: options, record: record)
        return nextID
    }

    /// Its sets in the order they were made.
    var ids: [UInt64] { entries.keys.sorted() }

    /// Whether devices can connect to anything of it.
    var takesConnections: Bool { entries.values.contains { !$0.progress.hasEnded && $0.options.kind == .connectable } }

    /// The set that the kernel has under this number.
    func id(of instance: UInt8) -> UInt64? { entries.first { $0.value.progress.instance == instance }?.key }

    /// The kernel's numbers for what is advertised here.
    var instances: Set<UInt8> { Set(entries.values.compactMap(\.progress.instance)).union(leftovers) }

    /// What comes next; only an adapter that is ready can be told anything but that a set is of no more use.
    func next(isReady: Bool) -> Work? {
        if isReady, leftoverTimer == nil, let instance = leftovers.min() { return .removeInstance(instance) }
        if let id = ids.first(where: { entries[$0]?.progress.hasEnded == true }) { return .remove(id) }
        guard isReady else { return nil }
        return ids.first { entries[$0]?.progress.isPending == true }.map { .add($0) }
    }
}
