import Synchronization

/// A program's output: results go to standard output, everything else to standard error.
///
/// If a trace is recorded to standard output, results go to standard error as well.
public struct Console: Sendable {
    /// Whether the results are JSON Lines.
    public private(set) var isJSON: Bool
    /// The verbosity: 0, 1 or 2.
    public let verbosity: Int
    /// Colours of standard output.
    public let output: Style
    /// Colours of standard error.
    public let messages: Style

    let results: ResultStream

    /// A console configured by the options.
    public init(_ options: CommonOptions) {
        isJSON = options.json
        verbosity = options.verbose
        results = ResultStream(options.tracesToStandardOutput ? STDERR_FILENO : STDOUT_FILENO)
        output = Style(descriptor: results.descriptor, isAllowed: !options.noColor && !options.json)
        messages = Style(descriptor: STDERR_FILENO, isAllowed: !options.noColor)
    }

    /// The same console, whose results are JSON Lines if either requests it.
    public func asJSON(_ isWanted: Bool) -> Console {
        var console = self
        console.isJSON = isJSON || isWanted
        return console
    }

    /// The size in cells of the terminal for results; 80 by 24 if they go elsewhere.
    public var size: (width: Int, height: Int) { terminalSize(of: results.descriptor) }

    /// Writes a line of results, broken to the width of a terminal.
    public func result(_ line: String) {
        results.write(Array((fitted(line, to: results.descriptor) + "\n").utf8))
    }

    /// Writes lines of results beside a label, broken to the width of a terminal.
    public func result(_ label: String, beside text: String) {
        let indent = String(repeating: " ", count: visibleWidth(label))
        guard 2 * indent.count <= size.width else { return result(label + text) }
        let lines = text.split(separator: "\n").map { fitted(indent + $0, to: results.descriptor) }
        result(Array((label + lines.joined(separator: "\n").dropFirst(indent.count) + "\n").utf8))
    }

    /// Writes a table, in the columns for which a terminal has room.
    public func result(_ table: Table) {
        for line in output.isTerminal ? table.wholeLines(fitting: size.width) : table.lines { result(line) }
    }

    /// Writes bytes to the results unchanged.
    public func result(_ bytes: [UInt8]) {
        results.write(bytes)
    }

    /// Writes an event: its fields as JSON, or else a line of text.
    public func result(_ event: String, _ text: String, _ fields: [(String, JSONValue)]) {
        isJSON ? result([("event", .string(event))] + fields) : result(text)
    }

    /// Writes a JSON object as one line of results, with the time of day as its first field, `t`.
    public func result(_ fields: [(String, JSONValue)]) {
        result(fields, at: timestamp())
    }

    /// Writes a JSON object as one line of results, with a time of its own as its first field, `t`.
    public func result(_ fields: [(String, JSONValue)], at time: String) {
        result(Array((JSONValue.object([("t", .string(time))] + fields).description + "\n").utf8))
    }

    /// Writes a line to standard error, broken to the width of a terminal.
    public func message(_ line: String) {
        results.writeMessage(Array((fitted(line, to: STDERR_FILENO) + "\n").utf8))
    }

    /// Writes everything above the line that a user types on this terminal.
    public func write(above terminal: InteractiveTerminal) {
        results.terminal = terminal
    }

    /// The terminal on which a user types lines; nil if there is none.
    var terminal: InteractiveTerminal? { results.terminal }

    /// Writes a line to standard error with -v.
    public func detail(_ line: @autoclosure () -> String) {
        if verbosity > 0 { message(messages.dim(line())) }
    }

    /// Writes an error and its remedy to standard error.
    public func error(_ program: String, _ text: String, remedy: String?) {
        message(messages.red("\(program): ") + text)
        if let remedy { message(remedy) }
    }
}

/// The output for results. A failed write ends the output and cancels the program.
final class ResultStream: Sendable {
    private struct State {
        var failure: Int32?
        var hasLostTrace = false
        var cancel: (@Sendable () -> Void)?
        var terminal: InteractiveTerminal?
    }

    let descriptor: Int32
    private let state = Mutex(State())

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The `errno` of the failed write.
    var failure: Int32? { state.withLock { $0.failure } }

    /// Whether a write of the trace has failed.
    var hasLostTrace: Bool {
        get { state.withLock { $0.hasLostTrace } }
        set { state.withLock { $0.hasLostTrace = newValue } }
    }

    /// Calls `cancel` when a write fails, immediately if one has failed already.
    func onFailure(_ cancel: @escaping @Sendable () -> Void) {
        let hasFailed = state.withLock { state in
            state.cancel = cancel
            return state.failure != nil
        }
        if hasFailed { cancel() }
    }

    /// The terminal on which a user types lines.
    var terminal: InteractiveTerminal? {
        get { state.withLock { $0.terminal } }
        set { state.withLock { $0.terminal = newValue } }
    }

    func write(_ bytes: [UInt8]) {
        guard failure == nil, let number = put(bytes, descriptor) else { return }
        fail(number)
    }

    /// Writes to standard error, whose failures are ignored.
    func writeMessage(_ bytes: [UInt8]) {
        _ = put(bytes, STDERR_FILENO)
    }

    private func put(_ bytes: [UInt8], _ descriptor: Int32) -> Int32? {
        guard let terminal else { return writeAll(bytes, to: descriptor) }
        return terminal.write(bytes, to: descriptor)
    }

    /// Records the failure of standard output, and cancels the program.
    func fail(_ number: Int32) {
        let cancel = state.withLock { state in
            if state.failure == nil { state.failure = number }
            return state.cancel
        }
        cancel?()
    }
}

/// Writes all of `text` to a descriptor; stops at an error such as a closed pipe.
func writeAll(_ text: String, to descriptor: Int32) {
    writeAll(Array(text.utf8), to: descriptor)
}

/// Writes all of `bytes` to a descriptor; returns the `errno` of a failure.
@discardableResult
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written > 0 {
            rest = rest.dropFirst(written)
        } else if errno == EAGAIN {
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = systemPoll(&poll, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}

/// Colours for a terminal, or none.
public struct Style: Sendable {
    /// Whether the descriptor is a terminal.
    public let isTerminal: Bool
    /// Whether colours are used.
    public let isEnabled: Bool

    /// Colours if the descriptor is a terminal that supports them, and neither option nor environment forbids them.
    public init(descriptor: Int32, isAllowed: Bool = true) {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        isTerminal = isatty(descriptor) == 1
        isEnabled = isAllowed && isTerminal && variable("NO_COLOR").map(\.isEmpty) ?? true && variable("TERM") != "dumb"
    }

    private func paint(_ text: String, _ code: String) -> String {
        isEnabled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    /// Bold.
    public func bold(_ text: String) -> String { paint(text, "1") }
    /// Faint.
    public func dim(_ text: String) -> String { paint(text, "2") }
    /// For failures.
    public func red(_ text: String) -> String { paint(text, "31") }
    /// For success.
    public func green(_ text: String) -> String { paint(text, "32") }
    /// For warnings.
    public func yellow(_ text: String) -> String { paint(text, "33") }
    /// For names and headings.
    public func cyan(_ text: String) -> String { paint(text, "36") }
}

/// The size of a terminal in cells; 80 by 24 if it is unknown.
func terminalSize(of descriptor: Int32) -> (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
}

/// A device's string made safe for a terminal: control characters are escaped.
public func printable(_ text: some StringProtocol) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if JSONValue.isInvisible(scalar) {
            result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}
