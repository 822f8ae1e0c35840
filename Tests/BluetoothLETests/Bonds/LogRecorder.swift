import Logging
import Synchronization

/// Keeps everything that is logged, metadata included.
final class LogRecorder: Sendable {
    private let state = Mutex<[String]>([])

    /// Everything so far.
    var lines: [String] { state.withLock { $0 } }

    /// A handler that takes everything.
    var handler: any LogHandler { Handler(recorder: self) }

    /// A log that takes everything.
    var log: Logger { Logger(label: "test") { _ in self.handler } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.state.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
