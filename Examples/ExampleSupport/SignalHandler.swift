import CTerminal
import Dispatch
import Synchronization

/// What the second signal does before the process ends; a third one ends it immediately.
private let haste = Mutex<(@Sendable () async -> Void)?>(nil)

/// Sets what a second signal does before the process ends; nil for nothing. It must end soon.
public func onSecondSignal(_ body: (@Sendable () async -> Void)?) { haste.withLock { $0 = body } }

/// A handler for SIGINT, SIGTERM and SIGHUP: the first signal cancels, the second ends the process immediately, unless
/// ``onSecondSignal(_:)`` has something left to be done.
final class SignalHandler: Sendable {
    private struct State {
        var signal: Int32?
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// The first signal received.
    var signal: Int32? { state.withLock { $0.signal } }

    /// Sets what the first signal does, at once if it has come already.
    func onSignal(_ cancel: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            state.cancel = cancel
            return state.signal != nil
        }
        if isDue { cancel() }
    }

    /// Installs the handlers: before the program does anything that another one may answer with a signal.
    func watch() {
        let queue = DispatchQueue(label: "signals")
        // SIGHUP stays ignored in a program that nohup has started.
        for number in [SIGINT, SIGTERM, SIGHUP] where number != SIGHUP || terminal_ignores_signal(number) == 0 {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            let isInstalled = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { isInstalled.signal() }
            // The handler holds the source, which is never cancelled.
            source.setEventHandler { for _ in 0..<source.data { self.receive(number) } }
            source.activate()
            isInstalled.wait()
        }
    }

    private func receive(_ number: Int32) {
        let (isFirst, cancel) = state.withLock { state in
            defer { state.signal = state.signal ?? number }
            return (state.signal == nil, state.cancel)
        }
        if isFirst {
            cancel?()
        } else if let last = haste.withLock({ $0.take() }) {
            Task.detached {
                await last()
                restoreTerminal()
                _exit(128 + number)
            }
        } else {
            restoreTerminal()
            _exit(128 + number)
        }
    }
}

/// The descriptor of the terminal whose cursor is hidden.
private let hiddenCursor = Mutex<Int32?>(nil)

/// Hides the cursor of a terminal until it is shown again or the program ends.
func hideCursor(on descriptor: Int32) {
    hiddenCursor.withLock { hidden in
        guard hidden == nil else { return }
        writeAll("\u{1B}[?25l", to: descriptor)
        hidden = descriptor
    }
}

/// Shows the cursor again.
func showCursor() {
    hiddenCursor.withLock { hidden in
        guard let descriptor = hidden else { return }
        writeAll("\u{1B}[?25h", to: descriptor)
        hidden = nil
    }
}

/// The terminal settings to restore.
private let savedTerminal = Mutex<termios?>(nil)

/// Switches the terminal to raw mode, unbuffered and without echo; false if standard input is not a terminal.
public func makeTerminalRaw() -> Bool {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
    savedTerminal.withLock { if $0 == nil { $0 = settings } }
    settings.c_iflag &= ~tcflag_t(ICRNL | IXON | INLCR | IGNCR)
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) == 0
}

/// Restores the terminal's settings and its cursor.
public func restoreTerminal() {
    showCursor()
    savedTerminal.withLock { saved in
        guard var settings = saved else { return }
        _ = tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
        saved = nil
    }
}
