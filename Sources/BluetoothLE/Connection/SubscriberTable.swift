import ATT
import BluetoothPrimitives

/// Who wants which characteristic's values.
struct SubscriberTable {
    private struct Subscriber {
        let id: UInt64
        let channel: StreamChannel<[UInt8]>
    }

    private var subscribers: [AttributeHandle: [Subscriber]] = [:]
    private var nextID: UInt64 = 0
    /// How many values came that nobody had asked for.
    private(set) var unwantedCount = 0

    /// Whether anybody wants the values of `handle`.
    func contains(_ handle: AttributeHandle) -> Bool { subscribers[handle] != nil }

    /// Hands the values of `handle` to `channel` from now on; the number takes it out again.
    mutating func add(_ channel: StreamChannel<[UInt8]>, for handle: AttributeHandle) -> UInt64 {
        nextID += 1
        subscribers[handle, default: []].append(Subscriber(id: nextID, channel: channel))
        return nextID
    }

    /// Takes a consumer out; says whether it was there and nobody else wants the values of `handle`.
    mutating func remove(_ id: UInt64, for handle: AttributeHandle) -> Bool {
        guard var rest = subscribers[handle], let index = rest.firstIndex(where: { $0.id == id }) else { return false }
        rest.remove(at: index)
        subscribers[handle] = rest.isEmpty ? nil : rest
        return rest.isEmpty
    }

    /// Hands a value to everybody who wants it: the one copy on its way in.
    mutating func deliver(_ value: RawSpan, of handle: AttributeHandle) {
        guard let wanting = subscribers[handle] else {
            unwantedCount += 1
            return
        }
        let bytes = [UInt8](value)
        for subscriber in wanting { subscriber.channel.send(bytes) }
    }

    /// Ends all streams with `reason` once what is buffered has been taken.
    mutating func finish(_ reason: BluetoothError) {
        for subscriber in subscribers.values.joined() { subscriber.channel.finish(reason) }
        subscribers = [:]
    }
}
