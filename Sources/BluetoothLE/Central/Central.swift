import BluetoothAdvertising
import BluetoothLoop
import BluetoothPrimitives

/// A radio in the central role: it finds devices and connects to them.
///
/// An ``Adapter`` is a central, and so are several adapters as one, `AdapterGroup` of the product `BluetoothGateway`. Code
/// for any of them takes `some Central`:
///
/// ```swift
/// func batteryLevel(of name: String, on central: some Central) async throws -> UInt8? {
///     let connection = try await central.connect { $0.localName == name }
///     return try await connection.readValues(of: .batteryLevel).first?.value.first
/// }
/// ```
public protocol Central<Report>: Sendable {
    /// A report of a scan.
    associatedtype Report: ScanReport

    /// The event loop of the central and all its objects.
    var loop: EventLoop { get }

    /// The bonds with devices, sorted by address.
    nonisolated(nonsending) func bonds() async -> [Bond]

    /// A stream of advertisements; the controllers scan when the call returns.
    ///
    /// Several scans may run at once, each with its filter, its duplicate policy and its buffer. The scan ends when the loop
    /// over the stream is left, its task is cancelled, the stream is dropped, or ``ScanOptions/duration`` is over, which
    /// finishes the stream.
    nonisolated(nonsending) func scan(
        _ options: ScanOptions
    ) async throws(BluetoothError) -> BoundedStream<Report>

    /// Connects to a device and exchanges the ATT_MTU.
    ///
    /// Where this program has a connection to the device already, the call returns that same ``Connection``.
    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection

    /// Waits until the central can be used.
    /// - Parameter timeout: the maximum time to wait; nil for no limit.
    /// - Throws: the obstacle at the time limit, with its remedy; `.cancelled`.
    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError)

    /// Waits until the central is closed or lost; returns the reason, or `.cancelled` when the task is cancelled.
    /// - Parameter handler: called with the reason on the loop, as part of the closing.
    nonisolated(nonsending) func closed(
        _ handler: @escaping @Sendable (BluetoothError) -> Void
    ) async -> BluetoothError
}

/// A report of a scan: an ``Advertisement``, or one with what its central adds.
public protocol ScanReport: Identifiable, Sendable where ID == UInt64 {
    /// The advertisement.
    var advertisement: Advertisement { get }
    /// The RSSI in dBm, of the best adapter if several have received the device; nil if it was not measured.
    var rssi: Int? { get }
}

extension Advertisement: ScanReport {
    /// The advertisement itself.
    public var advertisement: Advertisement { self }
}

extension ScanReport {
    /// The identity in a list of devices: that of the device, or of its advertising set. Anonymous advertisements of one
    /// set have the same.
    public var id: UInt64 { AdvertisementJoiner.key(advertisement.address, advertisement.advertisingSetID) }
}

extension Central {
    /// Waits until the central is closed or lost; returns the reason, or `.cancelled` when the task is cancelled.
    public nonisolated(nonsending) func closed() async -> BluetoothError { await closed { _ in } }

    /// Runs `body` on the central's event loop, and returns its result.
    ///
    /// There, calls to the central, its connections and streams need no thread switch: on two cores a read takes
    /// about a quarter of the time that it takes from Swift's thread pool or the main actor. It is worthwhile for a
    /// task that makes many calls or reads many values; one call more or less does not matter. The child tasks of `body`,
    /// `async let` and those of task groups, run on the loop as well. A `Task { }` does not: it runs on Swift's thread
    /// pool, unless it is created as `Task(executorPreference: loop) { }`.
    ///
    /// The loop's thread also receives everything from the adapter: `body` must not block it by waiting for a file, a
    /// terminal or a lock, or by long computations. Waiting with `await` does not block it.
    public nonisolated(nonsending) func run<Value: Sendable, Failure: Error>(
        _ body: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withTaskExecutorPreference(loop) { () async throws(Failure) -> Value in try await body() }
    }
}
