import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives

/// The subscribers to the peer's values on one link, and the configuration writes that follow from them, as
/// ``SubscriptionArbiter`` decides.
struct SubscriberTable {
    private struct Subscriber {
        let id: UInt64
        let kind: ClientCharacteristicConfiguration
        let channel: StreamChannel<[UInt8]>
        /// The promise of the caller that waits until the peer has accepted or refused the configuration.
        let confirmation: Promise<Void, BluetoothError>
    }

    /// The peer's configuration of a characteristic.
    private struct Configuration {
        var arbiter: SubscriptionArbiter
        /// The outstanding write.
        var write: ConfigurationWrite?
    }

    /// The subscribers of each characteristic that has any. Separate from the configurations, since each value looks
    /// them up.
    private var subscribers: [AttributeHandle: [Subscriber]] = [:]
    private var configurations: [AttributeHandle: Configuration] = [:]
    /// The characteristics whose configuration may have to be written.
    private var due: [AttributeHandle] = []
    private var nextID: UInt64 = 0
    /// The number of values received without a subscriber.
    private(set) var unwantedCount = 0
    /// The receiver of every value, with or without a subscriber, to which the caller of ``deliver(_:of:as:)`` sends it.
    var events: LinkEvents?

    // MARK: Subscribers

    /// Whether the values of `handle` have a subscriber.
    func contains(_ handle: AttributeHandle) -> Bool { subscribers[handle] != nil }

    /// The characteristics whose values have a subscriber.
    var handles: [AttributeHandle] { Array(subscribers.keys) }

    /// The configuration that the subscribers of `handle` request.
    func wanted(of handle: AttributeHandle) -> ClientCharacteristicConfiguration {
        configurations[handle]?.arbiter.requested ?? []
    }

    /// Adds a subscriber that delivers the values of `handle` to `channel`; the returned number removes it.
    ///
    /// `confirmation` is resolved when the peer has accepted or refused `kind`, which requires
    /// ``ATTBearer/configure(_:)``. Without a `descriptor` nothing is written, and the values are delivered that the
    /// peer sends.
    mutating func add(
        _ channel: StreamChannel<[UInt8]>, for handle: AttributeHandle, kind: ClientCharacteristicConfiguration,
        configuredBy descriptor: AttributeHandle?, confirmation: Promise<Void, BluetoothError>
    ) -> UInt64 {
        nextID += 1
        subscribers[handle, default: []].append(
            Subscriber(id: nextID, kind: kind, channel: channel, confirmation: confirmation))
        let new = Configuration(arbiter: SubscriptionArbiter(descriptor: descriptor))
        configurations[handle, default: new].arbiter.add(nextID, kind)
        return nextID
    }

    /// Removes a subscriber, which may require a change of the peer's configuration.
    mutating func remove(_ id: UInt64, for handle: AttributeHandle) {
        removeSubscribers(of: handle) { $0.id == id }
        configurations[handle]?.arbiter.remove(id)
        dropIfIdle(handle)
    }

    private mutating func removeSubscribers(of handle: AttributeHandle, where condition: (Subscriber) -> Bool) {
        subscribers[handle]?.removeAll(where: condition)
        if subscribers[handle]?.isEmpty == true { subscribers[handle] = nil }
    }

    /// Ends all streams with `reason`, after their buffered values.
    mutating func finish(_ reason: BluetoothError) {
        for handle in configurations.keys { finish(reason, of: handle) }
    }

    /// Ends the streams of `handle` with `reason`, after their buffered values, and drops its configuration.
    mutating func finish(_ reason: BluetoothError, of handle: AttributeHandle) {
        configurations[handle] = nil
        for subscriber in subscribers.removeValue(forKey: handle) ?? [] {
            subscriber.confirmation.fail(reason)
            subscriber.channel.finish(reason)
        }
    }

    // MARK: Values

    /// Delivers a value to its subscribers; copies it once. Returns the copy for the receiver of every value, if any.
    ///
    /// Where some subscribers request notifications and some indications, each receives its own kind, so that a value
    /// that the peer sends in both ways is not delivered twice.
    mutating func deliver(
        _ value: RawSpan, of handle: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) -> (LinkEvents, [UInt8])? {
        let wanting = subscribers[handle] ?? []
        guard !wanting.isEmpty || events != nil else {
            unwantedCount += 1
            return nil
        }
        let bytes = [UInt8](value)
        if wanting.count == 1 {
            wanting[0].channel.send(bytes)
        } else {
            let isWantedByKind = wanting.contains { $0.kind == kind }
            for subscriber in wanting where subscriber.kind == kind || !isWantedByKind {
                subscriber.channel.send(bytes)
            }
        }
        return events.map { ($0, bytes) }
    }

    // MARK: Configurations

    /// Schedules `handle` for examination by ``nextWrite(on:)``.
    mutating func isDue(_ handle: AttributeHandle) { due.append(handle) }

    /// Returns the next configuration write that the subscribers' requests need; nil when there is none for now.
    mutating func nextWrite(on bearer: ATTBearer) -> ConfigurationWrite? {
        while let handle = due.popLast() {
            guard var configuration = configurations[handle] else { continue }
            let decision = configuration.arbiter.next(isSent: configuration.write?.isSent ?? false)
            if decision.isAbandoned {
                configuration.write?.abandon()
                configuration.write = nil
            }
            for subscriber in subscribers[handle] ?? [] where decision.live.contains(subscriber.id) {
                subscriber.confirmation.succeed()
            }
            var write: ConfigurationWrite?
            if let value = decision.write, let descriptor = configuration.arbiter.descriptor {
                write = ConfigurationWrite(value, to: descriptor, of: handle, on: bearer)
            }
            if let write { configuration.write = write }
            configurations[handle] = configuration
            dropIfIdle(handle)
            if let write { return write }
        }
        return nil
    }

    /// Handles the outcome of a write; subscribers removed because of it receive `error`.
    mutating func didEnd(_ write: ConfigurationWrite, _ error: BluetoothError?) {
        let handle = write.characteristic
        guard var configuration = configurations[handle], configuration.write === write else { return }
        configuration.write = nil
        // Unless the peer has refused, its configuration is unknown.
        let failure: SubscriptionArbiter.Outcome = error?.code == .attributeProtocol ? .refused : .unknown
        let out = configuration.arbiter.didEnd(error == nil ? .accepted : failure)
        if let error {
            removeSubscribers(of: handle) { subscriber in
                guard out.contains(subscriber.id) else { return false }
                subscriber.confirmation.fail(error)
                return true
            }
        }
        configurations[handle] = configuration
        isDue(handle)
    }

    /// Drops the configuration of a characteristic without subscribers that needs no further write.
    private mutating func dropIfIdle(_ handle: AttributeHandle) {
        if configurations[handle]?.arbiter.isIdle == true { configurations[handle] = nil }
    }
}

/// A write of a Client Characteristic Configuration for the subscriber table.
final class ConfigurationWrite: ClientTransaction {
    /// The characteristic whose configuration is written.
    let characteristic: AttributeHandle
    private var procedure: ValueWrite
    /// Whether the request was sent, after which it cannot be abandoned.
    private(set) var isSent = false
    private(set) var isAbandoned = false
    private unowned let bearer: ATTBearer

    init(
        _ value: ClientCharacteristicConfiguration, to descriptor: AttributeHandle,
        of characteristic: AttributeHandle, on bearer: ATTBearer
    ) {
        self.characteristic = characteristic
        self.bearer = bearer
        procedure = ValueWrite(
            [UInt8(truncatingIfNeeded: value.rawValue), UInt8(truncatingIfNeeded: value.rawValue >> 8)],
            to: descriptor)
    }

    /// Cancels the write before it is sent.
    func abandon() { isAbandoned = true }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        isSent = true
        try procedure.writeRequest(into: &writer)
    }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        _ = try procedure.receive(answer)
        return .done
    }

    func stop() -> TransactionStep { .done }

    func end(_ failure: TransactionFailure?) {
        let operation = BluetoothError.Operation("subscribe", peer: bearer.peer, attribute: characteristic)
        bearer.peerServer.subscribers.didEnd(
            self, failure.map { BluetoothError($0, operation, bearerEnd: bearer.closeReason) })
        bearer.submitConfigurations()
    }
}

extension ATTBearer {
    /// Configures the peer to send what the subscribers of `characteristic` request, if it does not.
    func configure(_ characteristic: AttributeHandle) {
        peerServer.subscribers.isDue(characteristic)
        submitConfigurations()
        flush()
    }
}
