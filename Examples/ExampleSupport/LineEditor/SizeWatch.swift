import Dispatch

/// Calls a handler when the size of the terminal changes (SIGWINCH), until it is released.
// Unchecked: the source does not change, and is only cancelled.
final class SizeWatch: @unchecked Sendable {
    private let source: any DispatchSourceSignal

    init(_ handler: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: DispatchQueue(label: "terminal size"))
        source.setEventHandler(handler: handler)
        source.activate()
    }

    deinit { source.cancel() }
}
