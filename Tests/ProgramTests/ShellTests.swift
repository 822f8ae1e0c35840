import Glibc
import TestSupport
import Testing

/// `ble shell` on a terminal and in a pipe, on the simulated radio.
@Suite(.serialized) struct ShellTests {
    /// A shell on a terminal of its own. Its methods block: use it within ``onItsOwnThread(_:)``.
    private final class TerminalShell {
        private let process: pid_t
        private let master: Int32
        private var terminal: Int32
        private let modes: termios
        private var text = ""
        /// The end of what was awaited so far.
        private var seen = 0

        init(_ arguments: [String], folder: String) throws {
            var (master, slave): (Int32, Int32) = (-1, -1)
            var size = winsize(ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
            let status = openpty(&master, &slave, nil, nil, &size)
            try #require(status == 0)
            for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (self.master, terminal) = (master, slave)
            modes = try Self.modes(of: slave)
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            for number in 0...2 { posix_spawn_file_actions_adddup2(&actions, slave, Int32(number)) }
            let words = [
                "/usr/bin/env", "-u", "NO_COLOR", "TERM=xterm", "\(builtFolder)/ble", "shell", "--simulate",
                "--history", "\(folder)/history",
            ]
            let strings = (words + arguments).map { strdup($0) }
            defer { for string in strings { free(string) } }
            var process: pid_t = 0
            let failure = posix_spawn(&process, "/usr/bin/env", &actions, nil, strings + [nil], environ)
            self.process = process
            try #require(failure == 0)
        }

        deinit {
            kill(process, SIGKILL)
            for end in [master, terminal] where end >= 0 { close(end) }
        }

        private static func modes(of terminal: Int32) throws -> termios {
            var modes = termios()
            try #require(tcgetattr(terminal, &modes) == 0)
            return modes
        }

        func type(_ keys: String) {
            var keys = Array(keys.utf8)
            _ = write(master, &keys, keys.count)
        }

        /// Waits for output after that awaited last, and returns it.
        @discardableResult
        func await(_ word: String) throws -> String {
            while true {
                let new = text.dropFirst(seen)
                if let range = new.firstRange(of: word) {
                    defer { seen = text.distance(from: text.startIndex, to: range.upperBound) }
                    return String(new[..<range.upperBound])
                }
                let bytes = readDescriptor(master, milliseconds: 60_000)
                guard !bytes.isEmpty else {
                    Issue.record("no \(word) in \(text)")
                    throw CancellationError()
                }
                text += String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
            }
        }

        func send(_ signal: Int32) { kill(process, signal) }

        /// The exit status, and whether the terminal has its modes again.
        func join() throws -> (status: Int32, isRestored: Bool) {
            // A full terminal would hold the program.
            close(terminal)
            terminal = -1
            while !readDescriptor(master, milliseconds: 60_000).isEmpty {}
            let status = exitStatus(of: process)
            let now = try Self.modes(of: master)
            let isRestored = (now.c_iflag, now.c_lflag, now.c_oflag) == (modes.c_iflag, modes.c_lflag, modes.c_oflag)
            return (status, isRestored)
        }
    }

    /// Cells of the row and what is on them: `\r`, then the prompt in bold.
    private static let prompt = "ble> \u{1B}[0m"
    private static let connectedPrompt = "Pulse-Z1> \u{1B}[0m"

    @Test func stepsAreTypedOnOneLink() async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let shell = try TerminalShell([], folder: folder)
                try shell.await(Self.prompt)
                // The name of a step, and of a device in range.
                shell.type("conn\tPul\t\r")
                try shell.await("connect Pulse-Z1 \n")
                try shell.await("connected to Pulse-Z1")
                try shell.await(Self.connectedPrompt)
                // An attribute of the device.
                shell.type("read batt\t")
                try shell.await("read battery-level ")
                shell.type("\r")
                try shell.await("61  97 %")
                // Several candidates are listed after a second Tab.
                shell.type("rea")
                shell.type("d 2A\t\t")
                try shell.await("2A00")
                shell.type("\u{15}subscribe 2A37\r")
                try shell.await("beats/min")
                // Values appear above what is being typed.
                shell.type("sleep 60")
                try shell.await("sleep 60")
                try shell.await("beats/min\n\r\u{1B}[1m\(Self.connectedPrompt)sleep 60")
                shell.type("\r")
                try shell.await("beats/min")
                shell.type("\u{03}")
                try shell.await("cancelled: sleep 60")
                try shell.await(Self.connectedPrompt)
                shell.type("exit\r")
                let end = try shell.join()
                #expect(end.status == 0)
                #expect(end.isRestored)
                // The next shell has the lines.
                let next = try TerminalShell([], folder: folder)
                try next.await(Self.prompt)
                next.type("\u{1B}[A\u{1B}[A\u{1B}[A\u{1B}[A")
                try next.await("read battery-level")
                next.type("\u{03}")
                try next.await("^C")
                next.type("\u{04}")
                let nextEnd = try next.join()
                #expect(nextEnd.status == 0)
                #expect(nextEnd.isRestored)
            }
        }
    }

    @Test func aStepConnectsAgain() async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let shell = try TerminalShell(["Pulse-Z1"], folder: folder)
                try shell.await("connected to Pulse-Z1")
                try shell.await(Self.connectedPrompt)
                shell.type("disconnect\rread 2A19\r")
                try shell.await("disconnected from Pulse-Z1")
                // The device is that of the command line.
                try shell.await("connected to Pulse-Z1")
                try shell.await("97 %")
                shell.type("\u{04}")
                let end = try shell.join()
                #expect(end.status == 0)
            }
        }
    }

    @Test(arguments: [(SIGTERM, 143), (SIGINT, 130), (SIGHUP, 129)] as [(Int32, Int32)])
    func aSignalRestoresTheTerminal(_ signal: Int32, _ status: Int32) async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let shell = try TerminalShell([], folder: folder)
                try shell.await(Self.prompt)
                shell.type("read")
                try shell.await("read")
                shell.send(signal)
                let end = try shell.join()
                #expect(end.status == status)
                #expect(end.isRestored)
            }
        }
    }
}

/// `ble shell` whose steps come from a pipe.
@Suite struct PipedShellTests {
    @Test(
        arguments: [
            ("read 2A19", 0, "2A19 Battery Level", ""), ("", 0, "", ""), ("sleep 0 # all\n\n;", 0, "", ""),
            ("raed 2A19\nread 2A19", 64, "2A19 Battery Level", "ble shell: 'raed' is not a step. Did you mean read?"),
            ("read 2AFF; read 2A00\nread 2A19\n", 76, "2A19 Battery Level", "read 2AFF: The device has no attribute"),
            ("help", 0, "subscribe", ""), ("help read", 0, "battery-level", ""), ("exit\nread 2A19", 0, "", ""),
            ("read 'x", 64, "", "A quote in line 1 is not closed."),
        ] as [(String, Int32, String, String)])
    func linesFromAPipeAreSteps(_ input: String, _ status: Int32, _ output: String, _ messages: String) async throws {
        let ended = try await run("ble", ["shell", "--simulate"], input: input)
        #expect(ended.status == status)
        #expect(output.isEmpty ? ended.output.isEmpty : ended.output.contains(output), "\(ended.output)")
        #expect(ended.messages.contains(messages), "\(ended.messages)")
    }
}
