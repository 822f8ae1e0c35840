import ArgumentParser
import BluetoothLE
import CTerminal
import Glibc

extension CommonOptions {
    /// Runs the body of a program: prints its error, cause first and then the remedy, and exits with the number that
    /// belongs to it. Ctrl-C and SIGTERM cancel the body, which then disconnects and stops scanning as it unwinds.
    ///
    /// - Parameter isServer: whether the body goes on until it is ended, so that SIGTERM is its regular end: it exits
    ///   with 0, as a service manager expects.
    public func run(
        _ program: String, isServer: Bool = false, _ body: @escaping @Sendable (Console) async throws -> Void
    ) async throws {
        let console = Console(self)
        let interruption = Interruption()
        let task = Task { try await body(console) }
        console.results.onFailure { task.cancel() }
        interruption.watch { task.cancel() }
        let result = await task.result
        restoreTerminal()
        if let number = console.results.failure {
            // As by SIGPIPE, which another program may have switched off.
            if number == EPIPE { throw ExitCode(128 + SIGPIPE) }
            console.error(program, "Cannot write the results: \(systemMessage(number))", remedy: nil)
            throw ExitCode(ExitStatus.linkLost.rawValue)
        }
        // What became of the trace was said when it happened.
        let success: ExitStatus = console.results.hasLostTrace ? .linkLost : .success
        if let signal = interruption.signal {
            let isRegular = isServer && signal == SIGTERM
            // Over the ^C that a terminal shows.
            let start = console.messages.isTerminal ? "\r\u{1B}[K" : ""
            let word = signal == SIGINT ? "interrupted" : isRegular ? "stopped" : "terminated"
            console.message("\(start)\(program): \(word)")
            throw ExitCode(isRegular ? success.rawValue : 128 + signal)
        }
        guard case .failure(let error) = result else { throw ExitCode(success.rawValue) }
        let status: ExitStatus
        switch error {
        case let exit as ExitCode: throw exit
        case let error as BluetoothError:
            status = ExitStatus(error)
            console.error(program, error.withoutRemedy, remedy: error.remedy)
        case let error as ProgramError:
            status = error.status
            console.error(program, error.message, remedy: error.remedy)
        default:
            status = .failure
            console.error(program, "\(error)", remedy: nil)
        }
        throw ExitCode(status.rawValue)
    }
}

/// Begins a program: text that cannot be written to standard output, such as help, ends it with 74 as results do.
///
/// A standard stream that was closed stays unusable, where otherwise the first file or socket would take its number.
public func prepareStandardStreams() {
    for (number, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(number, F_GETFD) == -1 {
        // The lowest number that is free is this one.
        _ = open("/dev/null", flags)
    }
    atexit {
        let output = terminal_standard_output()
        var number: Int32 = 0
        // An error of an earlier write has no number any more.
        if fflush(output) != 0 { number = errno } else if ferror(output) != 0 { number = EIO }
        guard number != 0 else { return }
        if number == EPIPE { _exit(128 + SIGPIPE) }
        writeAll("Cannot write the output: \(systemMessage(number))\n", to: STDERR_FILENO)
        _exit(ExitStatus.linkLost.rawValue)
    }
}

extension BluetoothError {
    var withoutRemedy: String {
        var error = self
        error.remedy = nil
        return error.description
    }
}
