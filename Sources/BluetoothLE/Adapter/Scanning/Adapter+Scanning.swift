import Advertising
import BluetoothKernel
import BluetoothPrimitives

extension Adapter {
    /// Begins to listen for advertisements; the scan is on when the call returns.
    ///
    /// Several scans may be on at once, each with its filter, its policy and its buffer. A malformed report is passed
    /// over.
    ///
    /// The scan lives until the loop over the stream is left, its task is cancelled, or the stream is dropped; then the
    /// controller is left as it was. The stream finishes by throwing when the adapter is closed, when the controller
    /// fails, and when the adapter is powered off, blocked or unplugged, unless ``ScanOptions/whenAdapterLeaves`` says
    /// otherwise.
    ///
    /// While a connection is made, by whomever, the kernel itself uses the scanner; the scan pauses and goes on by
    /// itself, as it does when another program has switched the scanner off. Another program's scan is listened to where
    /// it gives all that is wanted, and otherwise replaced by one that serves both; a discovery through the management
    /// interface is listened to as it is for the some 10 s it lasts, which the log tells as a notice.
    ///
    /// Needs CAP_NET_RAW; CAP_NET_ADMIN as well to leave no trace in the kernel, which takes an active scan for a
    /// discovery and connects nobody any more while it thinks that one goes on.
    /// - Throws: `.notPermitted`, `.unsupported` when the controller has none of the PHYs, `.invalidArgument` when there
    ///   are none, `.busy` when another program keeps the scanner busy for good, `.adapterOff`, `.adapterBlocked`,
    ///   `.noAdapter`, `.timedOut` when the controller does not answer, `.cancelled`.
    public func scan(_ options: ScanOptions = ScanOptions()) async throws(BluetoothError) -> BoundedStream<
        Advertisement
    > {
        try checkUsable()
        return try await controller.value.scan(options, for: self)
    }

    /// Scans for the first advertisement that fulfils a condition.
    /// - Parameters:
    ///   - timeout: the most time to look; nil for ever.
    ///   - options: how to scan.
    ///   - condition: called for every advertisement that passes the options' filter, in turn; at first any will do.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public func first(
        timeout: Duration?, options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> Advertisement {
        let advertisements = try await scan(options)
        let deadline = timeout.map { timeout in
            let timer = loop.makeTimer { [operation = operation("look for a device")] in
                advertisements.finish(
                    BluetoothError(
                        .notFound, operation, "No device that matches was seen within \(timeout.inSeconds).",
                        remedy: BluetoothError.outOfReachRemedy, isRetryable: true))
            }
            timer.set(after: timeout)
            return timer
        }
        defer { deadline?.cancel() }
        for try await advertisement in advertisements where condition(advertisement) { return advertisement }
        throw .cancelled(operation("look for a device"))
    }
}
