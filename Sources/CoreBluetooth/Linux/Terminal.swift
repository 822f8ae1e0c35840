import BluetoothLE
import BluetoothLoop
import Dispatch
import Foundation
import Synchronization

/// A user at the terminal: lines to standard error, and lines from standard input while a question is open.
final class Terminal: Sendable {
    fileprivate struct State {
        /// The callers that wait for a line, in order.
        var waiters = WaiterList<String?, Never>()
        /// The source of input events while it is resumed. Never recreated: after a new source for the same descriptor
        /// is created just as the old one is cancelled, events may be lost.
        var source: (any DispatchSourceRead)?
        var isReading = false
        /// Input that has not answered a question yet: excess lines, and the beginning of one.
        var unread: [UInt8] = []
    }

    private let input: Int32
    private let output: Int32
    private let queue = DispatchQueue(label: "terminal")
    private let state = Locked(State())

    /// - Parameters:
    ///   - input: the descriptor that lines are read from.
    ///   - output: the descriptor that lines are written to.
    init(input: Int32 = STDIN_FILENO, output: Int32 = STDERR_FILENO) {
        self.input = input
        self.output = output
    }

    func show(_ line: String) {
        FileHandle(fileDescriptor: output).write(Data((line + "\n").utf8))
    }

    /// Asks a question; returns nil at the end of the input, and when the task is cancelled.
    func ask(_ question: String) async -> String? {
        // Input typed while an earlier question is open answers that one.
        if state({ $0.waiters.isEmpty }) { discardTypedInput() }
        show(question)
        let waiter = Promise<String?, Never>()
        state { state in
            state.waiters.append(waiter)
            state.answerQuestions()
            guard !state.isReading, !state.waiters.isEmpty else { return }
            let source = state.source ?? makeSource()
            (state.source, state.isReading) = (source, true)
            source.resume()
        }
        let answer = await waiter.value(ifCancelled: nil)
        state { $0.stopIfIdle() }
        return answer
    }

    private func makeSource() -> any DispatchSourceRead {
        let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: queue)
        source.setEventHandler { [weak self] in self?.readMore() }
        return source
    }

    deinit {
        state { state in
            // A suspended source must not be released.
            if !state.isReading { state.source?.resume() }
            state.source?.cancel()
        }
    }

    /// Discards input typed at the terminal before there was a question; input from a pipe or a file was meant as an
    /// answer.
    private func discardTypedInput() {
        guard isatty(input) == 1 else { return }
        state { $0.unread = [] }
        // Reading would stop a program in the background of its terminal.
        let foreground = tcgetpgrp(input)
        if foreground < 0 || foreground == getpgrp() { tcflush(input, TCIFLUSH) }
    }

    private func readMore() {
        // An event of a suspended source may report input that was read already.
        var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 0) > 0 else { return }
        var block = [UInt8](repeating: 0, count: 256)
        let count = read(input, &block, block.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        state { state in
            guard count > 0 else {
                state.waiters.succeedAll(nil)
                return state.stopIfIdle()
            }
            state.unread += block[..<count]
            state.answerQuestions()
            state.stopIfIdle()
        }
    }
}

extension Terminal.State {
    /// Leaves the input to the program while no question is open.
    fileprivate mutating func stopIfIdle() {
        guard waiters.isEmpty, isReading else { return }
        isReading = false
        source?.suspend()
    }

    /// Answers the waiting questions with the lines read so far.
    fileprivate mutating func answerQuestions() {
        while !waiters.isEmpty, let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            // Cancelled callers are skipped.
            guard waiters.succeedFirst(String(decoding: unread[..<end].prefix(256), as: UTF8.self)) else { return }
            unread.removeSubrange(...end)
        }
        // No user types a line as long.
        if !unread.contains(UInt8(ascii: "\n")), unread.count > 256 { unread.removeSubrange(256...) }
    }
}

extension TextPairingAgent {
    /// An agent whose user sits at a terminal.
    init(on terminal: Terminal) {
        self.init(show: terminal.show, ask: terminal.ask)
    }
}
