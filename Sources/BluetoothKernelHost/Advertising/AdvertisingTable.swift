import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop

/// What a program advertises on an adapter, and what the kernel has still to be told of it.
struct AdvertisingTable {
    /// One advertising set.
    struct Entry {
        /// What it is to say, and what the kernel has been told last that it took.
        var content: AdvertisementContent
        var sent: AdvertisementContent?
        let options: AdvertisingOptions
        var progress = AdvertisingProgress()
        var facts = AdvertisingFacts()
        /// Ends a state of limited length.
        var timer: LoopTimer?
    }

    /// Something the kernel has to be told.
    enum Work {
        case add(UInt64)
        case remove(UInt64)
        case removeInstance(UInt8)
    }

    private var entries: [UInt64: Entry] = [:]
    /// Instances that the kernel has not removed, as the adapter was off or for a reason of its own.
    var leftovers: Set<UInt8> = []
    /// Runs while the kernel is not asked again to remove them.
    var leftoverTimer: LoopTimer?

    subscript(id: UInt64) -> Entry? {
        get { entries[id] }
        set { entries[id] = newValue }
    }

    /// Its sets in the order they were made.
    var ids: [UInt64] { entries.keys.sorted() }

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
