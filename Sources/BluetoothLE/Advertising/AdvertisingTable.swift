import Advertising
import BluetoothKernel

/// What a program advertises on an adapter, and what the kernel has still to be told of it.
struct AdvertisingTable {
    /// One advertising set.
    struct Entry {
        var content: AdvertisementContent
        let options: AdvertisingOptions
        let record: AdvertisingRecord
        /// The kernel's number for it, from when it was first named to the kernel; nil while the kernel does not have it.
        var instance: UInt8? {
            didSet { record.facts.withLock { [instance] in $0.instance = instance } }
        }
        /// Whether it has been on the air.
        var hasBegun = false
        /// Whether the kernel has to be told of it, again or for the first time.
        var isDue = true
        /// Whether the kernel is to be rid of it.
        var isStopping = false
        /// Who waits until the kernel has been told.
        var waiters = WaiterList<Void, BluetoothError>()
        /// Runs while the kernel has lost it and it is not known why.
        var lossTimer: LoopTimer?
        /// Whether a link has ended since the kernel began to be told.
        var hasLinkEnded = false
        /// Runs while the kernel has refused it.
        var retryTimer: LoopTimer?
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
    /// Tells the kernel what it has to be told; there is none while that is nothing.
    var worker: Task<Void, Never>?
    /// Whether what happens to instances is followed.
    var isFollowing = false

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
    var takesConnections: Bool { entries.values.contains { !$0.isStopping && $0.options.kind == .connectable } }

    /// The set that the kernel has under this number.
    func id(of instance: UInt8) -> UInt64? { entries.first { $0.value.instance == instance }?.key }

    /// The kernel's numbers for what is advertised here.
    var instances: Set<UInt8> { Set(entries.values.compactMap(\.instance)).union(leftovers) }

    /// What comes next; only an adapter that is ready can be told anything but that a set is of no more use.
    func next(isReady: Bool) -> Work? {
        if isReady, leftoverTimer == nil, let instance = leftovers.min() { return .removeInstance(instance) }
        if let id = ids.first(where: { entries[$0]?.isStopping == true }) { return .remove(id) }
        guard isReady else { return nil }
        return ids.first { entries[$0]?.isDue == true }.map { .add($0) }
    }
}
