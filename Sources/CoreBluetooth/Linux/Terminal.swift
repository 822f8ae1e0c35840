import BluetoothLE
import Dispatch
import Foundation
import Synchronization

/// The user at the terminal: lines to standard error, and from standard input while somebody waits for one.
final class Terminal: Sendable {
    fileprivate struct State {
        /// Whoever waits for a line, one after the other.
        var waiters = WaiterList<String?, Never>()
        var source: (any DispatchSourceRead)?
        var line: [UInt8] = []
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
            guard state.source == nil else { return }
            let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: queue)
            source.setEventHandler { [weak self] in self?.readMore() }
            state.source = source
            source.resume()
        }
        let answer = await waiter.value(ifCancelled: nil)
        state { $0.stopIfIdle() }
        return answer
    }

    /// Drops what the user has typed before there was a question; what comes from a pipe or a file was meant as an answer.
    private func forgetWhatWasTyped() {
        guard isatty(input) == 1 else { return }
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
            for byte in block[..<count] {
                guard byte == UInt8(ascii: "\n") else {
                    // Nobody types as much.
                    if state.line.count < 256 { state.line.append(byte) }
                    continue
                }
                let line = String(decoding: state.line, as: UTF8.self)
                state.line = []
                // Those that were cancelled meanwhile are passed over.
                _ = state.waiters.succeedFirst(line)
            }
            state.stopIfIdle()
        }
    }
}

extension Terminal.State {
    /// Leaves the input to the program while nobody waits for a line.
    fileprivate mutating func stopIfIdle() {
        guard waiters.isEmpty else { return }
        source?.cancel()
        source = nil
        line = []
    }
}

extension TextPairingAgent {
    /// An agent whose user sits at a terminal.
    init(on terminal: Terminal) {
        self.init(show: terminal.show, ask: terminal.ask)
    }
}
