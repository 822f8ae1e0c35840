import Logging
import Synchronization
import Testing

@testable import CoreBluetooth

/// The log of what a program or a device can cause without end.
@Suite struct LimitedLogTests {
    private final class Recorder: Sendable {
        let lines = Mutex<[String]>([])
        let timers = Mutex<[@Sendable () -> Void]>([])

        /// Lets a second pass.
        func fire() {
            let due = timers.withLock { timers in
                defer { timers = [] }
                return timers
            }
            for timer in due { timer() }
        }

        /// The lines since the last call.
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private struct Handler: LogHandler {
        let recorder: Recorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { recorder.lines.withLock { $0.append("\(event.message)") } }
    }

    @Test func eachKindOnceASecondWithACount() {
        let recorder = Recorder()
        let log = LimitedLog(Logger(label: "test") { _ in Handler(recorder: recorder) }) { timer in
            recorder.timers.withLock { $0.append(timer) }
        }
        func drop(_ number: Int) { log.warning("value \(number) was dropped") }
        for number in 1...3600 { drop(number) }
        log.notice("another kind")
        #expect(recorder.take() == ["value 1 was dropped", "another kind"])
        recorder.fire()
        #expect(recorder.take() == ["value 3600 was dropped (3599 of these in the last second)"])
        drop(3601)
        #expect(recorder.take() == [])
        recorder.fire()
        // A single one needs no count.
        #expect(recorder.take() == ["value 3601 was dropped"])
        recorder.fire()
        #expect(recorder.take() == [])
        #expect(recorder.timers.withLock { $0.isEmpty })
        drop(3602)
        #expect(recorder.take() == ["value 3602 was dropped"])
    }
}
