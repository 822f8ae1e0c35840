import Dispatch
import Glibc
import TestSupport
import Testing

@testable import ExampleSupport

/// A program of this package that runs until it is stopped; its output is read as it appears.
///
/// Its methods block: use it within ``onItsOwnThread(_:)``.
final class RunningProgram {
    private let process: pid_t
    private let output: Int32
    /// This end of the socket that it reads from; nil if it reads nothing.
    private let input: Int32?
    private var text = ""
    private var status: Int32?

    /// Starts the program, with its messages in the file `messages`, by another one that starts it if there is a `runner`.
    /// With `isTyped` it reads what ``type(_:)`` writes, otherwise nothing.
    init(
        _ program: String, _ arguments: [String], messages: String, environment: [(String, String)] = [],
        through runner: [String] = [], isTyped: Bool = false
    ) throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var typed: [Int32] = [-1, -1]
        if isTyped {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            try #require(socketpair(AF_UNIX, kind, 0, &typed) == 0)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isTyped {
            posix_spawn_file_actions_adddup2(&actions, typed[0], 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, messages, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        // As a shell starts it: a queue's thread blocks signals, and the program's main thread would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = environment.map { "\($0)=\($1)" }
        let words = (["/usr/bin/env"] + variables + runner + ["\(builtFolder)/\(program)"] + arguments).map {
            strdup($0)
        }
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/usr/bin/env", &actions, &attributes, words + [nil], environ)
        close(ends[1])
        if isTyped { close(typed[0]) }
        (self.process, output, input) = (process, ends[0], isTyped ? typed[1] : nil)
        try #require(failure == 0)
    }

    deinit {
        if status == nil {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        close(output)
        if let input { close(input) }
    }

    /// Writes a line to its standard input.
    func type(_ line: String) {
        guard let input else { return }
        let bytes = Array("\(line)\n".utf8)
        #expect(send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    /// Ends its standard input, as Ctrl-D does.
    func endInput() {
        if let input { shutdown(input, Int32(SHUT_WR)) }
    }

    /// Waits until `condition` holds for the complete lines; false if the output ends before.
    func reaches(_ condition: ([String]) -> Bool) -> Bool {
        while !condition(lines) {
            guard readMore() else { return false }
        }
        return true
    }

    /// The complete lines so far.
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }

    /// The first line that contains `word`; waits for it.
    func line(containing word: String) throws -> String {
        while true {
            if let line = lines.first(where: { $0.contains(word) }) { return line }
            guard readMore() else {
                Issue.record("no line with \(word) in \(text)")
                throw CancellationError()
            }
        }
    }

    /// Sends a signal, and returns the exit status; the lines are complete then.
    func stop(_ signal: Int32 = SIGTERM) -> Int32 {
        kill(process, signal)
        return join()
    }

    /// Waits for the end, and returns the exit status; the lines are complete then.
    func join() -> Int32 {
        while readMore() {}
        let status = exitStatus(of: process)
        self.status = status
        return status
    }

    /// Waits up to a minute for more output; false at its end.
    private func readMore() -> Bool {
        let bytes = readDescriptor(output, milliseconds: 60_000)
        text += String(decoding: bytes, as: UTF8.self)
        return !bytes.isEmpty
    }
}

/// Waits for the end of a process, and returns its exit status; one that is still running after a minute is killed.
func exitStatus(of process: pid_t) -> Int32 {
    let watchdog = DispatchWorkItem { kill(process, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: watchdog)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    watchdog.cancel()
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
}

/// Runs code that blocks its thread.
func onItsOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "blocking").async { continuation.resume(with: Result { try body() }) }
    }
}
