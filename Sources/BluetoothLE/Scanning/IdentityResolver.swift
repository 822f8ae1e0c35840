import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// A set of devices known by their keys, which resolves private addresses.
///
/// Each address is compared with all keys once, which takes about 1 µs per key; the result is cached for the last 1024
/// addresses of these devices and for the last 4096 of others. In a scan the comparisons have a limit of
/// 100,000 in a second: beyond it an address is resolved by a later report of its device, so that neither many
/// keys nor a transmitter with a new address in each packet keeps the loop busy.
///
/// Safe to use from any thread.
public final class IdentityResolver: Sendable {
    /// The devices, in order of preference: if keys of several resolve an address, the first device is the result.
    public let identities: [DeviceIdentity]
    /// By key: the index of its device.
    private let owners: [Int32]
    private let keys: ResolvingKeys
    /// By the digits of the identity address: the index of the device.
    private let addresses: [UInt64: Int32]
    private let state = Mutex(State())

    /// The maximum number of keys that scans compare with addresses in a second of the kernel's clock. An address for
    /// which more are necessary takes that much longer.
    package static let comparisonsPerSecond = 100_000

    static let matchLimit = 1024
    static let otherLimit = 4096

    private struct State {
        var matches = RecentlyUsed<Int32>(limit: IdentityResolver.matchLimit)
        var others = RecentlyUsed<Void>(limit: IdentityResolver.otherLimit)
        var budget = ComparisonBudget(perSecond: IdentityResolver.comparisonsPerSecond)
        var comparedCount = 0
        var postponedCount = 0

        /// The cached result: the index of a device, or nil for an address of none; the outer nil without a result.
        mutating func cached(_ value: UInt64) -> Int32?? {
            if let index = matches.index(of: value) { return .some(matches[index]) }
            return others.index(of: value) == nil ? .none : .some(nil)
        }
    }

    /// Creates a resolver, and expands the keys: about 0.3 kB for each.
    public init(_ identities: [DeviceIdentity]) {
        self.identities = identities
        var keys: [SecurityKey] = []
        var owners: [Int32] = []
        var addresses: [UInt64: Int32] = [:]
        for (index, identity) in identities.enumerated() {
            let index = Int32(clamping: index)
            for key in identity.candidates {
                keys.append(key)
                owners.append(index)
            }
            if let address = identity.address, addresses[address.value] == nil { addresses[address.value] = index }
        }
        (self.owners, self.addresses) = (owners, addresses)
        self.keys = ResolvingKeys(keys)
    }

    /// The number of addresses that were compared with the keys.
    package var comparedCount: Int { state.withLock { $0.comparedCount } }

    /// The number of reports whose address was not compared with the keys because of the limit.
    package var postponedCount: Int { state.withLock { $0.postponedCount } }

    /// The device with an address: a private one that its key resolves, or its identity address; nil if it is none of
    /// these devices.
    public func identity(of address: BluetoothAddress) -> DeviceIdentity? { resolve(address, at: nil) }

    /// The device of an advertisement; nil if it is none of these devices, or not yet resolved because of the limit.
    public func identity(of advertisement: Advertisement) -> DeviceIdentity? {
        guard let address = advertisement.address else { return nil }
        if let private_ = advertisement.privateAddress, let found = resolve(private_, at: advertisement.time) {
            return found
        }
        return resolve(address, at: advertisement.time)
    }

    /// Whether the address of an advertisement was not compared with the keys because of the limit.
    func isPostponed(_ advertisement: borrowing Advertisement) -> Bool {
        guard let address = advertisement.privateAddress ?? advertisement.address,
            address.randomKind == .resolvablePrivate
        else { return false }
        return state.withLock { $0.cached(address.value) == .none }
    }

    /// Resolves an address; with a time, within the limit.
    private func resolve(_ address: BluetoothAddress, at time: KernelInstant?) -> DeviceIdentity? {
        guard address.randomKind == .resolvablePrivate else {
            return addresses[address.value].map { identities[Int($0)] }
        }
        guard keys.count > 0 else { return nil }
        let index = state.withLock { state -> Int32? in
            if let cached = state.cached(address.value) { return cached }
            if let time, !state.budget.spend(keys.count, at: time) {
                state.postponedCount += 1
                return nil
            }
            state.comparedCount += 1
            let found = keys.index(behind: address).map { owners[$0] }
            if let found {
                _ = state.matches.use(address.value, orInsert: found)
            } else {
                _ = state.others.use(address.value, orInsert: ())
            }
            return found
        }
        return index.map { identities[Int($0)] }
    }
}

/// A limit of comparisons: a second's worth at once, renewed continuously.
struct ComparisonBudget {
    let perSecond: Int
    /// What is left; below zero after an address with more keys than that.
    private var rest: Int
    private var last: KernelInstant?

    init(perSecond: Int) {
        self.perSecond = perSecond
        rest = perSecond
    }

    /// Spends comparisons if anything is left.
    mutating func spend(_ count: Int, at time: KernelInstant) -> Bool {
        if let last {
            let gained = last.duration(to: time).clampedNanoseconds / (1_000_000_000 / Int64(perSecond))
            if gained > 0 {
                rest = Int(clamping: min(Int64(perSecond), Int64(rest) + min(gained, Int64.max / 2)))
                self.last = time
            }
        } else {
            last = time
        }
        guard rest > 0 else { return false }
        rest -= count
        return true
    }
}
