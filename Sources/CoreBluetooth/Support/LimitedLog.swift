import Dispatch
import Logging
import Synchronization

/// A log that writes each kind of notice at once, then once a second with the number of those it has held back: programs
/// and devices can cause them without end. A kind is a place in the code.
final class LimitedLog: Sendable {
    private struct Place: Hashable {
        let file: String
        let line: UInt
    }

    /// The notices of a kind that were held back since the last one was written.
    private struct Held {
        var count = 0
        var last = ""
    }

    /// Calls a function a second later.
    typealias Timer = @Sendable (@escaping @Sendable () -> Void) -> Void

    let logger: Logger
    private let held = Mutex<[Place: Held]>([:])
    private let afterASecond: Timer

    init(
        _ logger: Logger,
        afterASecond: @escaping Timer = { DispatchQueue.global().asyncAfter(deadline: .now() + 1, execute: $0) }
    ) {
        self.logger = logger
        self.afterASecond = afterASecond
    }

    func notice(_ message: @autoclosure () -> String, file: String = #fileID, line: UInt = #line) {
        log(.notice, message(), Place(file: file, line: line))
    }

    func warning(_ message: @autoclosure () -> String, file: String = #fileID, line: UInt = #line) {
        log(.warning, message(), Place(file: file, line: line))
    }

    private func log(_ level: Logger.Level, _ message: @autoclosure () -> String, _ place: Place) {
        guard logger.logLevel <= level else { return }
        let message = message()
        let isFirst = held.withLock { held -> Bool in
            guard let before = held[place] else {
                held[place] = Held()
                return true
            }
            held[place] = Held(count: before.count + 1, last: message)
            return false
        }
        if isFirst { write(level, message, place) }
    }

    private func write(_ level: Logger.Level, _ message: String, _ place: Place) {
        logger.log(level: level, "\(message)", file: place.file, line: place.line)
        afterASecond { [self] in
            let held = held.withLock { held -> Held in
                let before = held[place] ?? Held()
                held[place] = before.count > 0 ? Held() : nil
                return before
            }
            guard held.count > 0 else { return }
            let count = held.count > 1 ? " (\(held.count) of these in the last second)" : ""
            write(level, held.last + count, place)
        }
    }
}
