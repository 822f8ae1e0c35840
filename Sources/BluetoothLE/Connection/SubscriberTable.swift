import ATT
import BluetoothPrimitives
import GATT

/// Who wants which characteristic's values, and what the peer has been told to send of it.
///
/// The rules of a Client Characteristic Configuration with several subscribers: one write is under way at a time;
/// when it has ended the next follows, until the peer has taken what all subscribers together want. A subscriber is
/// live once the peer has taken what it wants; whoever is not when the peer refuses is told so and is out.
struct SubscriberTable {
    private struct Subscriber {
        let id: UInt64
        let kind: ClientCharacteristicConfiguration
        let channel: StreamChannel<[UInt8]>
        /// Whoever waits for the peer's answer.
        var confirmation: Promise<Void, BluetoothError>?
    }

    private struct Characteristic {
        let descriptor: AttributeHandle
        var subscribers: [Subscriber] = []
        /// What the peer has taken; nil when that is not known.
        var configured: ClientCharacteristicConfiguration? = []
        /// What the peer has refused, which is not tried again for those who are there.
        var refused: ClientCharacteristicConfiguration?
        var write: ConfigurationWrite?

        var wanted: ClientCharacteristicConfiguration { subscribers.reduce(into: []) { $0.formUnion($1.kind) } }
    }

    private var characteristics: [AttributeHandle: Characteristic] = [:]
    /// Of which the peer may have to be told something.
    private var due: [AttributeHandle] = []
    private var nextID: UInt64 = 0
    /// How many values came that nobody had asked for.
    private(set) var unwantedCount = 0
    /// Who is told every value as it comes, whoever has subscribed; see ``Connection/observeValues(_:)``.
    var observer: (@Sendable (AttributeHandle, [UInt8]) -> Void)?

    // MARK: Who wants what

    /// Whether anybody wants the values of `handle`.
    func contains(_ handle: AttributeHandle) -> Bool { characteristics[handle]?.subscribers.isEmpty == false }

    /// The characteristics whose values somebody wants.
    var handles: [AttributeHandle] { characteristics.filter { !$0.value.subscribers.isEmpty }.map(\.key) }

    /// What subscribers want of `handle` now.
    func wanted(of handle: AttributeHandle) -> ClientCharacteristicConfiguration {
        characteristics[handle]?.wanted ?? []
    }

    /// Hands the values of `handle` to `channel` from now on; the number takes it out again.
    ///
    /// `confirmation` is resolved when the peer has taken `kind` or refused it, which needs ``ATTBearer/configure(_:)``.
    mutating func add(
        _ channel: StreamChannel<[UInt8]>, for handle: AttributeHandle, kind: ClientCharacteristicConfiguration,
        configuredBy descriptor: AttributeHandle, confirmation: Promise<Void, BluetoothError>
    ) -> UInt64 {
        nextID += 1
        var characteristic = characteristics[handle] ?? Characteristic(descriptor: descriptor)
        characteristic.subscribers.append(
            Subscriber(id: nextID, kind: kind, channel: channel, confirmation: confirmation))
        characteristic.refused = nil
        confirmLive(&characteristic)
        characteristics[handle] = characteristic
        return nextID
    }

    /// Takes a consumer out, after which the peer may have to be told less.
    mutating func remove(_ id: UInt64, for handle: AttributeHandle) {
        characteristics[handle]?.subscribers.removeAll { $0.id == id }
        dropIfIdle(handle)
    }

    /// Ends all streams with `reason` once what is buffered has been taken.
    mutating func finish(_ reason: BluetoothError) {
        for handle in characteristics.keys { finish(reason, of: handle) }
    }

    /// Ends the streams of `handle` with `reason` once what is buffered has been taken, and forgets what the peer has
    /// been told.
    mutating func finish(_ reason: BluetoothError, of handle: AttributeHandle) {
        for subscriber in characteristics.removeValue(forKey: handle)?.subscribers ?? [] {
            subscriber.confirmation?.fail(reason)
            subscriber.channel.finish(reason)
        }
    }

    // MARK: Values

    /// Hands a value to everybody who wants it: the one copy on its way in.
    ///
    /// Where some want notifications and some indications, each gets its own kind, so that a peer which sends a value
    /// in both ways is not heard twice.
    mutating func deliver(
        _ value: RawSpan, of handle: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) {
        let wanting = characteristics[handle]?.subscribers ?? []
        guard !wanting.isEmpty || observer != nil else {
            unwantedCount += 1
            return
        }
        let bytes = [UInt8](value)
        observer?(handle, bytes)
        guard !wanting.isEmpty else { return }
        if wanting.count == 1 {
            wanting[0].channel.send(bytes)
            return
        }
        let isWantedByKind = wanting.contains { $0.kind == kind }
        for subscriber in wanting where subscriber.kind == kind || !isWantedByKind { subscriber.channel.send(bytes) }
    }

    // MARK: What the peer is told

    /// Takes note that ``nextWrite(on:)`` has to look at `handle`.
    mutating func isDue(_ handle: AttributeHandle) { due.append(handle) }

    /// The next write that has to be sent, so that the peer sends what is wanted; nil when there is none for now.
    mutating func nextWrite(on bearer: ATTBearer) -> ConfigurationWrite? {
        while let handle = due.popLast() {
            if let write = nextWrite(of: handle, on: bearer) { return write }
        }
        return nil
    }

    /// The write that has to be sent now, so that the peer sends what is wanted of `handle`; nil when there is none or
    /// another one has to end first.
    private mutating func nextWrite(of handle: AttributeHandle, on bearer: ATTBearer) -> ConfigurationWrite? {
        guard var characteristic = characteristics[handle] else { return nil }
        let wanted = characteristic.wanted
        if let write = characteristic.write, write.value != wanted, write.abandon() { characteristic.write = nil }
        defer {
            characteristics[handle] = characteristic
            dropIfIdle(handle)
        }
        guard characteristic.write == nil else { return nil }
        confirmLive(&characteristic)
        guard wanted != characteristic.configured, wanted != characteristic.refused else { return nil }
        let write = ConfigurationWrite(wanted, to: characteristic.descriptor, of: handle, on: bearer)
        characteristic.write = write
        return write
    }

    /// Takes the outcome of a write; those who wanted what the peer did not take get `error` and are out.
    mutating func didEnd(_ write: ConfigurationWrite, _ error: BluetoothError?) {
        let handle = write.characteristic
        guard var characteristic = characteristics[handle], characteristic.write === write else { return }
        characteristic.write = nil
        if let error {
            // After anything but a refusal it is not known what the peer has done.
            if error.code != .attributeProtocol { characteristic.configured = nil }
            characteristic.refused = write.value
            characteristic.subscribers.removeAll { subscriber in
                guard let confirmation = subscriber.confirmation, subscriber.kind.isSubset(of: write.value) else {
                    return false
                }
                confirmation.fail(error)
                return true
            }
        } else {
            characteristic.configured = write.value
            characteristic.refused = nil
        }
        characteristics[handle] = characteristic
        isDue(handle)
    }

    /// Tells those who wait that the peer has taken what they want, unless it is being told something else.
    private func confirmLive(_ characteristic: inout Characteristic) {
        guard let configured = characteristic.configured else { return }
        let lasting = configured.intersection(characteristic.write?.value ?? configured)
        for index in characteristic.subscribers.indices
        where characteristic.subscribers[index].kind.isSubset(of: lasting) {
            characteristic.subscribers[index].confirmation?.succeed(())
            characteristic.subscribers[index].confirmation = nil
        }
    }

    /// Forgets a characteristic of which nothing is wanted any more and nothing is to be told.
    private mutating func dropIfIdle(_ handle: AttributeHandle) {
        guard let characteristic = characteristics[handle], characteristic.subscribers.isEmpty,
            characteristic.write == nil, characteristic.configured == [] || characteristic.refused == []
        else { return }
        characteristics[handle] = nil
    }
}

/// A write of a Client Characteristic Configuration that nobody waits for but the subscriber table.
final class ConfigurationWrite: ClientTransaction {
    /// What is written.
    let value: ClientCharacteristicConfiguration
    /// The characteristic whose configuration it is.
    let characteristic: AttributeHandle
    private var procedure: ValueWrite
    private var hasBegun = false
    private(set) var isAbandoned = false
    private unowned let bearer: ATTBearer

    init(
        _ value: ClientCharacteristicConfiguration, to descriptor: AttributeHandle,
        of characteristic: AttributeHandle, on bearer: ATTBearer
    ) {
        self.value = value
        self.characteristic = characteristic
        self.bearer = bearer
        procedure = ValueWrite(
            [UInt8(truncatingIfNeeded: value.rawValue), UInt8(truncatingIfNeeded: value.rawValue >> 8)],
            to: descriptor)
    }

    /// Gives up unless it is on its way; says whether it will not be sent.
    func abandon() -> Bool {
        if !hasBegun { isAbandoned = true }
        return isAbandoned
    }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        hasBegun = true
        try procedure.writeRequest(into: &writer)
    }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        _ = try procedure.receive(answer)
        return .done
    }

    func stop() -> TransactionStep { .done }

    func end(_ failure: TransactionFailure?) {
        let operation = BluetoothError.Operation("subscribe", peer: bearer.peer, attribute: characteristic)
        bearer.subscribers.didEnd(
            self, failure.map { BluetoothError($0, operation, bearerEnd: bearer.closeReason) })
        bearer.submitConfigurations()
    }
}

extension ATTBearer {
    /// Has the peer send what subscribers want of `characteristic`, if it does not.
    func configure(_ characteristic: AttributeHandle) {
        subscribers.isDue(characteristic)
        submitConfigurations()
        flush()
    }
}
