import BluetoothAdvertising
import BluetoothSockets

/// Something that this program advertises; see ``Adapter/advertise(_:options:)``.
///
/// It lasts until ``stop()``, or until the last reference to this goes, or until it ends by itself, which ``states``
/// tells. Swift may release a variable after its last use, so a program that only waits keeps it by waiting for its end,
/// or uses ``Adapter/withAdvertising(_:options:_:)``.
///
/// The kernel keeps what it was told to advertise when a program ends without having taken it back.
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

    /// What is sent, without the flags and the transmit power that the kernel adds, and what was left out.
    public var payloads: AdvertisingPayloads { record.parameters.withLock { $0.payloads } }

    /// The power the controller sends with, in dBm; nil where one cannot be asked for.
    public var transmitPower: Int? { record.parameters.withLock { $0.transmitPower } }

    /// The kernel's number for it, as other tools show it; nil while it is not there.
    public var instance: UInt8? { record.parameters.withLock { $0.instance } }

    /// How it stands now.
    public var state: AdvertisingState { record.state.value }

    /// How it stands: now, and whenever that changes, until it has ended.
    ///
    /// Each call makes a stream of its own. It hands out the newest state: a consumer that is slow misses what was in
    /// between. It finishes after ``AdvertisingState/ended(_:)``.
    public var states: BoundedStream<AdvertisingState> { record.state.stream(keeping: self) }

    /// Waits for the end and tells why it ended; a cancelled task is told so instead.
    public func stopped() async -> BluetoothError {
        do throws(BluetoothError) {
            for try await state in states {
                if case .ended(let reason) = state { return reason }
            }
            return .cancelled(record.operation)
        } catch {
            return error
        }
    }

    /// Says something else from now on. When this throws, what was said before goes on, after a refusal of the kernel's as
    /// soon as it takes that again.
    /// - Throws: `.invalidArgument` when there is no room for it, `.cancelled` after the end, and what
    ///   ``Adapter/advertise(_:options:)`` throws.
    public func update(_ content: AdvertisementContent) async throws(BluetoothError) {
        try await session.updateAdvertising(id, content, record)
    }

    /// Stops advertising. Nothing is sent any more when the call returns, unless the task is cancelled, which does not wait
    /// for that, or the kernel refuses, which is logged and tried again. Further calls do nothing.
    public func stop() async {
        await session.stopAdvertising(id)
    }
}
