import BluetoothHost
import BluetoothLoop

/// The advertising sets of a program on an adapter, with the changes that the kernel has not received yet.
struct AdvertisingTable {
    /// An advertising set.
    struct Entry {
        var request: AdvertisingRequest
        var progress = AdvertisingProgress()
        /// The transmit power that the kernel has reported.
        var transmitPower: Int?
        /// Shows other programs that the instance has one.
        var mark: (any AnyObject & Sendable)?
        /// The timer of a state with a time limit.
        var timer: LoopTimer?
    }

    /// A change to send to the kernel.
    enum Work {
        case add(UInt64)
        case remove(UInt64)
        case removeInstance(UInt8)
    }

    private var entries: [UInt64: Entry] = [:]
    /// Instances that the kernel has not removed, since the adapter was off or the command failed.
    var leftovers: Set<UInt8> = []
    /// The timer after which the kernel is asked again to remove them.
    var leftoverTimer: LoopTimer?

    subscript(id: UInt64) -> Entry? {
        get { entries[id] }
        set { entries[id] = newValue }
    }

    /// The identifiers of the sets, in the order of creation.
    var ids: [UInt64] { entries.keys.sorted() }

    /// The set with this instance number.
    func id(of instance: UInt8) -> UInt64? { entries.first { $0.value.progress.instance == instance }?.key }

    /// The instance numbers of all sets.
    var instances: Set<UInt8> { Set(entries.values.compactMap(\.progress.instance)).union(leftovers) }

    /// The next change; while the adapter is not ready, only the end of a set.
    func next(isReady: Bool) -> Work? {
        if isReady, leftoverTimer == nil, let instance = leftovers.min() { return .removeInstance(instance) }
        if let id = ids.first(where: { entries[$0]?.progress.hasEnded == true }) { return .remove(id) }
        guard isReady else { return nil }
        return ids.first { entries[$0]?.progress.isPending == true }.map { .add($0) }
    }
}
