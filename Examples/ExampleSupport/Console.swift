import Glibc
import Synchronization

/// Where a program writes: results to standard output, everything else to standard error.
///
/// A trace that is recorded to standard output has it for itself: results go to standard error then.
public struct Console: Sendable {
    /// Whether the results are JSON Lines.
    public let isJSON: Bool
    /// How much is told: 0, 1 or 2.
    public let verbosity: Int
    /// Colours of standard output.
    public let output: Style
    /// Colours of standard error.
    public let messages: Style

    let results: ResultStream

    /// A console as the options ask for it.
    public init(_ options: CommonOptions) {
        isJSON = options.json
        verbosity = options.verbose
        results = ResultStream(options.tracesToStandardOutput ? STDERR_FILENO : STDOUT_FILENO)
        output = Style(descriptor: results.descriptor, isAllowed: !options.noColor && !options.json)
        messages = Style(descriptor: STDERR_FILENO, isAllowed: !options.noColor)
    }

    /// How many character cells the terminal has that results go to, if they go to one.
    public var size: (width: Int, height: Int) { terminalSize(of: results.descriptor) }

    /// Writes a line of results.
    public func result(_ line: String) {
        results.write(Array((line + "\n").utf8))
    }

    /// Writes bytes of results as they are.
    public func result(_ bytes: [UInt8]) {
        results.write(bytes)
    }

    /// Writes a JSON object as one line of results, with the time of day as its first field, `t`.
    public func result(_ fields: [(String, JSONValue)]) {
        result(JSONValue.object([("t", .string(timestamp()))] + fields).description)
    }

    /// Says what is going on.
    public func message(_ line: String) {
        writeAll(line + "\n", to: STDERR_FILENO)
    }

    /// Says what is going on if -v was given.
    public func detail(_ line: @autoclosure () -> String) {
        if verbosity > 0 { message(messages.dim(line())) }
    }

    /// Says what went wrong and what helps.
    public func error(_ program: String, _ text: String, remedy: String?) {
        message(messages.red("\(program): ") + text)
        if let remedy { message(remedy) }
    }
}

/// The descriptor that results are written to. The first write that fails is the last, and cancels the program.
final class ResultStream: Sendable {
    private struct State {
        var failure: Int32?
        var hasLostTrace = false
        var cancel: (@Sendable () -> Void)?
    }

    let descriptor: Int32
    private let state = Mutex(State())

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The `errno` of the write that failed.
    var failure: Int32? { state.withLock { $0.failure } }

    /// Whether a trace could not be written to its end.
    var hasLostTrace: Bool {
        get { state.withLock { $0.hasLostTrace } }
        set { state.withLock { $0.hasLostTrace = newValue } }
    }

    /// Has `cancel` run when a write fails, at once if one has failed already.
    func onFailure(_ cancel: @escaping @Sendable () -> Void) {
        let hasFailed = state.withLock { state in
            state.cancel = cancel
            return state.failure != nil
        }
        if hasFailed { cancel() }
    }

    func write(_ bytes: [UInt8]) {
        guard failure == nil, let number = writeAll(bytes, to: descriptor) else { return }
        fail(number)
    }

    /// Records that standard output takes no more.
    func fail(_ number: Int32) {
        let cancel = state.withLock { state in
            if state.failure == nil { state.failure = number }
            return state.cancel
        }
        cancel?()
    }
}

/// Writes all of `text` to a descriptor; an end that nobody reads ends the writing.
func writeAll(_ text: String, to descriptor: Int32) {
    writeAll(Array(text.utf8), to: descriptor)
}

/// Writes all of `bytes` to a descriptor; the `errno` when it takes no more.
@discardableResult
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written > 0 {
            rest = rest.dropFirst(written)
        } else if errno == EAGAIN {
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = Glibc.poll(&poll, 1, -1)
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

    /// Colours if the descriptor is a terminal that understands them and nobody forbids them.
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

/// How many character cells a terminal has; 80 by 24 where it cannot be told.
func terminalSize(of descriptor: Int32) -> (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
}

/// What to do with a string that a device sent before it goes to a terminal: control characters are shown, not obeyed.
public func printable(_ text: some StringProtocol) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
            result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
