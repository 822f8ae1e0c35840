import BluetoothLE
import BluetoothLoop
import Dispatch
import Foundation
import Synchronization

/// The user at the terminal: lines to standard error, and from standard input while somebody waits for one.
final class Terminal: Sendable {
    fileprivate struct State {
        /// Whoever waits for a line, one after the other.
        var waiters = WaiterList<String?, Never>()
        /// Tells of input while it is resumed. One for good: where another is made for the same descriptor just as one is
        /// cancelled, nothing may be told any more.
        var source: (any DispatchSourceRead)?
        var isReading = false
        /// What was read and has not been anybody's answer yet: more lines than were waited for, and the beginning of one.
        var unread: [UInt8] = []
    }

    private let input: Int32
    private let output: Int32
    private let queue = DispatchQueue(label: "terminal")
    private let state = Locked(State())

    /// - Parameters:
    ///   - input: where lines are read from.
    ///   - output: where lines are shown.
    init(input: Int32 = STDIN_FILENO, output: Int32 = STDERR_FILENO) {
        self.input = input
        self.output = output
    }

    func show(_ line: String) {
        FileHandle(fileDescriptor: output).write(Data((line + "\n").utf8))
    }

    /// The user's answer; nil at the end of the input, and when the task is cancelled.
    func ask(_ question: String) async -> String? {
        // What is typed while an earlier question waits is that one's answer.
        if state({ $0.waiters.isEmpty }) { forgetWhatWasTyped() }
        show(question)
        let waiter = Promise<String?, Never>()
        state { state in
            state.waiters.append(waiter)
            state.handOut()
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
            // One that is suspended may not be released.
            if !state.isReading { state.source?.resume() }
            state.source?.cancel()
        }
    }

    /// Drops what the user has typed before there was a question; what comes from a pipe or a file was meant as an answer.
    private func forgetWhatWasTyped() {
        guard isatty(input) == 1 else { return }
        state { $0.unread = [] }
        // It would stop a program that is in the background of its terminal.
        let foreground = tcgetpgrp(input)
        if foreground < 0 || foreground == getpgrp() { tcflush(input, TCIFLUSH) }
    }

    private func readMore() {
        // What a source told of that was given up may have been read already.
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
            state.handOut()
            state.stopIfIdle()
        }
    }
}

extension Terminal.State {
    /// Leaves the input to the program while nobody waits for a line.
    fileprivate mutating func stopIfIdle() {
        guard waiters.isEmpty, isReading else { return }
        isReading = false
        source?.suspend()
    }

    /// Gives lines to those who wait, as far as there are both.
    fileprivate mutating func handOut() {
        while !waiters.isEmpty, let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            // Those that were cancelled meanwhile are passed over.
            guard waiters.succeedFirst(String(decoding: unread[..<end].prefix(256), as: UTF8.self)) else { return }
            unread.removeSubrange(...end)
        }
        // Nobody types a line as long.
        if !unread.contains(UInt8(ascii: "\n")), unread.count > 256 { unread.removeSubrange(256...) }
    }
}

extension TextPairingAgent {
    /// An agent whose user sits at a terminal.
    init(on terminal: Terminal) {
        self.init(show: terminal.show, ask: terminal.ask)
    }
}
