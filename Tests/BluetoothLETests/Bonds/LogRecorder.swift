import Logging
import Synchronization

/// A recorder of all log messages, with their metadata.
final class LogRecorder: Sendable {
    private let state = Mutex<[String]>([])

    /// The messages so far.
    var lines: [String] { state.withLock { $0 } }

    /// A handler that records every message.
    var handler: any LogHandler { Handler(recorder: self) }

    /// A logger that records every message.
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
