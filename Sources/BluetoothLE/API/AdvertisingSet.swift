import BluetoothAdvertising
import BluetoothSockets

/// An advertising set of this program; see ``Adapter/advertise(_:options:)``.
///
/// Advertising continues until ``close()`` is called, the last reference is released, or the set ends for another
/// reason, which ``states()`` reports. Swift may release a variable after its last use: a program that only waits should
/// await ``closed()``, or use ``Adapter/withAdvertising(_:options:_:)``.
///
/// When a program ends without closing its sets, the kernel continues to advertise them.
public final class AdvertisingSet: Sendable {
    private let id: UInt64
    private let session: AdapterSession
    private let record: AdvertisingRecord

    init(_ id: UInt64, _ record: AdvertisingRecord, _ session: AdapterSession) {
        self.id = id
        self.record = record
        self.session = session
    }

    deinit {
        session.soon { [id] in $0.advertising.beginToStop(id) }
    }

    /// The payloads sent, without the flags and the transmit power that the kernel adds, and the fields that were left
    /// out.
    public var payloads: AdvertisingPayloads { record.parameters.withLock { $0.payloads } }

    /// The transmit power in dBm; nil where none can be requested.
    public var transmitPower: Int? { record.parameters.withLock { $0.transmitPower } }

    /// The kernel's number of the advertising instance, as other tools show it; nil while there is none.
    public var instance: UInt8? { record.parameters.withLock { $0.instance } }

    /// The current state of the advertising set.
    public var state: AdvertisingState { record.state.value }

    /// A stream of the set's states that begins with the current one.
    ///
    /// Each call creates a separate stream. It delivers the newest state: a slow consumer misses intermediate ones. It
    /// finishes after `AdvertisingState.closed`.
    public func states() -> BoundedStream<AdvertisingState> { record.state.stream(keeping: self) }

    /// Waits for the end of advertising and returns its reason; `.cancelled` for a cancelled task.
    public nonisolated(nonsending) func closed() async -> BluetoothError {
        do throws(BluetoothError) {
            for try await state in states() {
                if let reason = state.closed { return reason }
            }
            return .cancelled(record.operation)
        } catch {
            return error
        }
    }

    /// Replaces the content. When this throws, the former content remains; after a refusal by the kernel it is restored
    /// as soon as the kernel accepts it again.
    /// - Throws: `.invalidArgument` when the content does not fit, `.cancelled` after the end, and what
    ///   ``Adapter/advertise(_:options:)`` throws.
    public nonisolated(nonsending) func update(_ content: AdvertisementContent) async throws(BluetoothError) {
        try await session.updateAdvertising(id, content, record)
    }

    /// Ends the set, and returns when nothing more is sent. It does not wait for that in a cancelled task, or when
    /// the kernel refuses, which is logged and retried. Further calls have no effect.
    public nonisolated(nonsending) func close() async {
        await session { [id] in await $0.advertising.stop(id) }
    }
}
