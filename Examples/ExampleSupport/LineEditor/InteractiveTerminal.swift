import Synchronization

/// A terminal on which a user types lines while a program prints: the program's output appears above the line, which is
/// drawn again below.
///
/// From ``start()`` to ``stop()`` the terminal is raw, and ``run()`` reads its keys. What is typed while no line is read
/// is kept for the next one, except for Ctrl-C and Ctrl-Z.
public final class InteractiveTerminal: Sendable {
    /// What a user has entered.
    public enum Entry: Hashable, Sendable {
        case line(String)
        /// Ctrl-C, or the cancellation of the task.
        case interrupted
        /// Ctrl-D, or the end of the terminal.
        case ended
    }

    /// The purpose of a line.
    public enum Purpose: Sendable {
        /// With history and completion.
        case command
        /// The answer to a question. Keys typed before it are discarded.
        case answer
    }

    /// The ways to continue a line.
    public struct Completion: Hashable, Sendable {
        /// The number of characters before the cursor that the candidates replace.
        public var count: Int
        /// The candidates.
        public var candidates: [String]

        /// A completion from its parts.
        public init(replacing count: Int, with candidates: [String]) {
            (self.count, self.candidates) = (count, candidates)
        }
    }

    /// Nil when keys must be replayed first.
    private typealias Waiter = CheckedContinuation<Entry?, Never>

    private struct State {
        var editor: LineEditor
        /// The editor of an answer.
        var answer: LineEditor?
        var drawing = LineDrawing()
        /// The prompt of the line that is being read; nil while none is.
        var prompt: String?
        var waiter: Waiter?
        /// The keys typed before the line was read.
        var typedAhead: [UInt8] = []
        /// Whether those are being taken, so that later ones wait.
        var isReplaying = false
        var hasEnded = false
        var onInterrupt: (@Sendable () -> Void)?
        /// Redraws the line when the size of the terminal changes.
        var sizeWatch: SizeWatch?
    }

    private static let mostTypedAhead = 4096

    /// The terminal on which lines are drawn.
    private let descriptor: Int32
    private let style: Style
    private let input = StandardInput()
    private let history: HistoryFile?
    private let complete: @Sendable (String) async -> Completion
    private let state: Mutex<State>

    /// The terminal of the standard streams; nil if there is none that can be drawn on.
    ///
    /// - Parameters:
    ///   - history: the file of the lines entered before; nil for no file.
    ///   - warn: receives the reason why the file is not used.
    ///   - complete: returns how a line may continue, given its text before the cursor.
    public init?(
        history: HistoryFile?, warn: (any Error) -> Void,
        complete: @escaping @Sendable (String) async -> Completion
    ) {
        guard isatty(STDIN_FILENO) == 1, getenv("TERM").map({ String(cString: $0) }) != "dumb",
            let descriptor = [STDOUT_FILENO, STDERR_FILENO].first(where: { isatty($0) == 1 })
        else { return nil }
        self.descriptor = descriptor
        self.complete = complete
        style = Style(descriptor: descriptor)
        var (lines, file) = ([String](), history)
        do { lines = try history?.lines() ?? [] } catch {
            warn(error)
            file = nil
        }
        self.history = file
        state = Mutex(State(editor: LineEditor(history: LineHistory(lines))))
    }

    // MARK: Life

    /// Takes over the terminal.
    public func start() {
        _ = makeTerminalRaw()
        state.withLock { $0.sizeWatch = SizeWatch { [weak self] in self?.redraw() } }
    }

    /// Gives the terminal back.
    public func stop() {
        state.withLock { $0.sizeWatch = nil }
        restoreTerminal()
    }

    /// Runs work that Ctrl-C, or the end of the terminal, cancels. Returns its result, and whether it was cancelled so.
    public func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value?, isInterrupted: Bool) {
        let (interrupts, signal) = AsyncStream.makeStream(of: Never.self)
        state.withLock { $0.onInterrupt = { signal.finish() } }
        defer { state.withLock { $0.onInterrupt = nil } }
        return await withTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                for await _ in interrupts {}
                return nil
            }
            var (value, isInterrupted) = (Value?.none, false)
            for await result in group {
                if let result { value = result } else if value == nil { isInterrupted = !Task.isCancelled }
                group.cancelAll()
            }
            return (value, isInterrupted)
        }
    }

    /// Reads keys until the task is cancelled, or the terminal ends.
    public func run() async {
        while let bytes = await input.next() { await take(bytes) }
        // The reading of a line ends by the same cancellation.
        guard !Task.isCancelled else { return }
        let onInterrupt = state.withLock { state in
            state.hasEnded = true
            return state.onInterrupt
        }
        finish(.ended, leaving: "\n")
        onInterrupt?()
    }

    // MARK: Lines

    /// Reads a line. One task at a time may read; another is interrupted at once.
    public func readLine(_ prompt: String, for purpose: Purpose = .command) async -> Entry {
        let refused = state.withLock { state -> Entry? in
            if state.hasEnded { return .ended }
            guard state.prompt == nil, !Task.isCancelled else { return .interrupted }
            state.prompt = prompt
            state.isReplaying = true
            state.answer = purpose == .answer ? LineEditor() : nil
            if purpose == .answer { state.typedAhead = [] }
            write(Self.pasteOn)
            draw(&state)
            return nil
        }
        if let refused { return refused }
        while true {
            if let entry = await replay() {
                end(entry, leaving: entry == .interrupted ? "^C\n" : "\n")
                return entry
            }
            if let entry = await nextEntry() { return entry }
        }
    }

    /// Takes the keys typed before the line was read as if they were typed now, up to the end of a line.
    private func replay() async -> Entry? {
        while let action = state.withLock({ state -> LineEditor.Action?? in
            guard !state.typedAhead.isEmpty else { return .none }
            let byte = state.typedAhead.removeFirst()
            return .some(state.answer == nil ? state.editor.take(byte) : state.answer?.take(byte))
        }) {
            switch action {
            case .accept(let text): return .line(text)
            case .endOfInput: return .ended
            case .interrupt: return .interrupted
            case nil: break
            case let action?: await perform(action)
            }
        }
        redraw()
        return nil
    }

    /// Waits until a key ends the line; nil if keys have arrived since the last were replayed.
    private func nextEntry() async -> Entry? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let (isOver, entry) = state.withLock { state -> (Bool, Entry?) in
                    if state.hasEnded || Task.isCancelled {
                        end(&state, state.hasEnded ? .ended : .interrupted, leaving: "")
                        return (true, state.hasEnded ? .ended : .interrupted)
                    }
                    guard state.typedAhead.isEmpty else { return (true, nil) }
                    (state.waiter, state.isReplaying) = (waiter, false)
                    return (false, nil)
                }
                if isOver { waiter.resume(returning: entry) }
            }
        } onCancel: {
            finish(.interrupted, leaving: "")
        }
    }

    /// Ends the line that is being read, with `text` after what is on the screen; without effect if none is.
    private func finish(_ entry: Entry, leaving text: String) {
        let waiter = state.withLock { state -> Waiter? in
            guard let waiter = state.waiter.take() else { return nil }
            end(&state, entry, leaving: text)
            return waiter
        }
        waiter?.resume(returning: entry)
    }

    private func end(_ entry: Entry, leaving text: String) {
        state.withLock { end(&$0, entry, leaving: text) }
    }

    private func end(_ state: inout State, _ entry: Entry, leaving text: String) {
        // The whole line stays on the screen, as long as it is.
        if case .line(let entered) = entry, let prompt = state.prompt {
            let lines = entered.split(separator: "\n", omittingEmptySubsequences: false)
            write(LineDrawing.clear + paint(prompt) + lines.map { printable($0) }.joined(separator: "↵"))
        } else if text.isEmpty {
            write(LineDrawing.clear)
        }
        write(text + Self.pasteOff)
        (state.prompt, state.answer, state.isReplaying) = (nil, nil, false)
    }

    /// Replaces the prompt of the line that is being read, unless it is an answer.
    public func setPrompt(_ prompt: String) {
        state.withLock { state in
            guard state.prompt != nil, state.answer == nil else { return }
            state.prompt = prompt
            draw(&state)
        }
    }

    /// Adds a line to the history, and to its file.
    public func remember(_ line: String) throws {
        let isNew = state.withLock { $0.editor.remember(line) }
        if isNew { try history?.append(line) }
    }

    /// The lines of the history, oldest first.
    public var lines: [String] { state.withLock { $0.editor.history.lines } }

    // MARK: Keys

    private func take(_ bytes: [UInt8]) async {
        for byte in bytes {
            let (action, onInterrupt) = state.withLock { state -> (LineEditor.Action?, (@Sendable () -> Void)?) in
                guard state.prompt != nil, !state.isReplaying else { return (nil, keep(byte, in: &state)) }
                return (state.answer == nil ? state.editor.take(byte) : state.answer?.take(byte), nil)
            }
            onInterrupt?()
            if let action { await perform(action) }
        }
        // The keys that have arrived together are drawn once.
        redraw()
    }

    /// Keeps a key for the next line; returns what Ctrl-C or Ctrl-Z does.
    private func keep(_ byte: UInt8, in state: inout State) -> (@Sendable () -> Void)? {
        if byte == 0x03 {
            // It also ends a line whose earlier keys are being replayed.
            state.typedAhead = state.prompt == nil ? [] : [byte]
            return state.prompt == nil ? state.onInterrupt : nil
        }
        if byte == 0x1A { return { [self] in suspend() } }
        if state.typedAhead.count < Self.mostTypedAhead { state.typedAhead.append(byte) } else { write("\u{07}") }
        return nil
    }

    private func perform(_ action: LineEditor.Action) async {
        switch action {
        case .draw: break
        case .bell: write("\u{07}")
        case .accept(let text): finish(.line(text), leaving: "\n")
        case .interrupt: finish(.interrupted, leaving: "^C\n")
        case .endOfInput: finish(.ended, leaving: "\n")
        case .clearScreen:
            write("\u{1B}[H\u{1B}[2J")
        case .suspend: suspend()
        case .complete(let text, let listsAll): await complete(text, listsAll: listsAll)
        }
    }

    /// Stops the program, as Ctrl-Z does, until it is continued.
    private func suspend() {
        write(Self.pasteOff + "\r\n")
        restoreTerminal()
        kill(0, SIGTSTP)
        // Another thread may receive the signal, and the program stops a moment later: the terminal must not be raw by
        // then. A process group that nobody can continue does not stop, so that there may be no end to wait for.
        _ = systemPoll(nil, 0, 100)
        _ = makeTerminalRaw()
        if state.withLock({ $0.prompt != nil }) { write(Self.pasteOn) }
    }

    private func complete(_ text: String, listsAll: Bool) async {
        guard state.withLock({ $0.answer == nil }) else { return }
        let completion = await complete(text)
        let common = completion.candidates.commonPrefix
        let isOnly = completion.candidates.count == 1
        state.withLock { state in
            // The user may have gone on typing.
            guard state.prompt != nil, state.editor.line.textBeforeCursor == text else { return }
            let present = String(text.suffix(completion.count))
            if isOnly || common.count > present.count {
                state.editor.complete(completion.count, with: common + (isOnly && !common.hasSuffix("/") ? " " : ""))
            } else if completion.candidates.isEmpty || !listsAll {
                write("\u{07}")
            } else {
                let list = columns(completion.candidates, width: terminalSize(of: descriptor).width)
                write(LineDrawing.clear + list.map { $0 + "\n" }.joined())
            }
        }
    }

    // MARK: Drawing

    private static let pasteOn = "\u{1B}[?2004h"
    private static let pasteOff = "\u{1B}[?2004l"

    private func paint(_ prompt: String) -> String { style.bold(prompt) }

    private func write(_ text: String) {
        writeAll(text, to: descriptor)
    }

    private func draw(_ state: inout State) {
        guard let prompt = state.prompt else { return }
        let editor = state.answer ?? state.editor
        write(
            state.drawing.frame(
                prompt: editor.searchPrompt ?? prompt, editor.line, width: terminalSize(of: descriptor).width,
                paint: paint))
    }

    private func redraw() { state.withLock { draw(&$0) } }

    /// Writes output of the program: above the line, if one is being read on the same terminal.
    /// - Returns: the `errno` of a failure.
    func write(_ bytes: [UInt8], to other: Int32) -> Int32? {
        state.withLock { state in
            guard state.prompt != nil, isatty(other) == 1 else { return writeAll(bytes, to: other) }
            write(LineDrawing.clear)
            let failure = writeAll(bytes, to: other)
            // Output without a line end stays, on a line of its own.
            if bytes.last != UInt8(ascii: "\n") { write("\n") }
            draw(&state)
            return failure
        }
    }
}

extension [String] {
    /// The characters that all begin with.
    var commonPrefix: String {
        guard var prefix = first else { return "" }
        for text in dropFirst() { prefix = String(zip(prefix, text).prefix { $0 == $1 }.map(\.0)) }
        return prefix
    }
}

/// Texts in columns of equal width, filled from top to bottom.
func columns(_ texts: [String], width: Int) -> [String] {
    let cell = (texts.map { cellWidth($0) }.max() ?? 0) + 2
    let columnCount = max(1, min(texts.count, width / cell))
    let rowCount = (texts.count + columnCount - 1) / columnCount
    return (0..<rowCount).map { row in
        var line = ""
        for index in stride(from: row, to: texts.count, by: rowCount) {
            if !line.isEmpty { line += String(repeating: " ", count: cell - cellWidth(texts[index - rowCount])) }
            line += texts[index]
        }
        return shortened(line, toCells: max(1, width - 1))
    }
}
