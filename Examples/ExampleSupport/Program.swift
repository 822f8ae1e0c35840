import ArgumentParser
import BluetoothLE
import CTerminal

extension CommonOptions {
    /// Runs the body of a program: prints its error, the cause first and then the remedy, and exits with the error's
    /// status. Ctrl-C, SIGTERM and SIGHUP cancel the body, which disconnects and stops scanning as it unwinds.
    ///
    /// - Parameters:
    ///   - isServer: whether the body runs until it is stopped, so that SIGTERM is its regular end: it then exits
    ///     with 0, as a service manager expects.
    ///   - inputs: the files that the command reads, besides those of the common options.
    ///   - outputs: the files that it writes, besides those of the common options.
    public func run(
        _ program: String, isServer: Bool = false, reading inputs: [String?] = [], writing outputs: [String?] = [],
        _ body: @escaping @Sendable (Console) async throws -> Void
    ) async throws {
        let console = Console(self)
        let interruption = SignalHandler()
        interruption.watch()
        reportIgnored { console.message($0) }
        let task = Task {
            try checkFiles(reading: inputs, writing: outputs)
            // A passkey that cannot be used is an error before a device is looked for.
            _ = try await pairingPasskey()
            try await body(console)
        }
        console.results.onFailure { task.cancel() }
        interruption.onSignal { task.cancel() }
        let result = await task.result
        restoreTerminal()
        if let number = console.results.failure {
            // As SIGPIPE would, which the parent process may have ignored.
            if number == EPIPE { throw ExitCode(128 + SIGPIPE) }
            console.error(program, "Cannot write the results: \(systemMessage(number))", remedy: nil)
            throw ExitCode(ExitStatus.linkLost.rawValue)
        }
        // The failure of the trace was printed when it happened.
        let success: ExitStatus = console.results.hasLostTrace ? .linkLost : .success
        if let signal = interruption.signal {
            let isRegular = isServer && signal == SIGTERM
            // Overwrites the ^C that a terminal echoes.
            let start = console.messages.isTerminal ? "\r\u{1B}[K" : ""
            let word =
                isRegular ? "stopped" : signal == SIGINT ? "interrupted" : signal == SIGHUP ? "hung up" : "terminated"
            console.message("\(start)\(program): \(word)")
            throw ExitCode(isRegular ? success.rawValue : 128 + signal)
        }
        guard case .failure(let error) = result else { throw ExitCode(success.rawValue) }
        throw console.report(error, of: program)
    }
}

extension CommonOptions {
    /// Rejects a file to write that is read as well, or written twice, whatever its names are.
    public func checkFiles(reading inputs: [String?], writing outputs: [String?] = []) throws {
        let read = Set(
            (inputs + [world, passkey, identified.irk]).compactMap { $0.flatMap { FileIdentity($0, isRead: true) } })
        var written: Set<FileIdentity> = []
        for output in outputs + [trace] {
            guard let output, let identity = FileIdentity(output, isRead: false) else { continue }
            let isRead = read.contains(identity)
            guard isRead || !written.insert(identity).inserted else { continue }
            throw ProgramError(
                .cannotCreate, "\(printable(output)) is \(isRead ? "a file that is read" : "written twice").",
                remedy: "Choose another name.")
        }
    }
}

/// What tells a regular file, or a name that has none yet, from all others.
private struct FileIdentity: Hashable {
    private let device: UInt64
    private let node: UInt64
    /// The name in the folder with that device and node; nil for a file that exists.
    private let name: String?

    /// Nil for what is not a regular file, such as a pipe, and if there is no folder; `-` is standard input.
    init?(_ path: String, isRead: Bool) {
        var status = stat()
        if path == "-" {
            guard isRead, fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            name = nil
        } else if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { return nil }
            name = nil
        } else {
            let slash = path.lastIndex(of: "/")
            guard stat(slash.map { "\(path[..<$0])/" } ?? ".", &status) == 0 else { return nil }
            name = String(path[(slash.map(path.index(after:)) ?? path.startIndex)...])
        }
        (device, node) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}

extension Console {
    /// Prints an error, the cause first and then the remedy, and returns its exit status.
    public func report(_ error: any Error, of program: String) -> ExitCode {
        let status: ExitStatus
        switch (error as? BluetoothError)?.underlyingError ?? error {
        case let exit as ExitCode: return exit
        case let bluetooth as BluetoothError:
            status = ExitStatus(bluetooth)
            self.error(program, bluetooth.withoutRemedy, remedy: BluetoothError.forUsers(bluetooth.remedy))
        case let own as ProgramError:
            status = own.status
            self.error(program, own.message, remedy: own.remedy)
        default:
            status = .failure
            self.error(program, "\(error)", remedy: nil)
        }
        return ExitCode(status.rawValue)
    }
}

/// Prepares the standard streams: a program exits with 74 if text such as help cannot be written to standard output.
///
/// A closed standard stream is redirected to `/dev/null`, so that no file or socket gets its descriptor.
public func prepareStandardStreams() {
    for (number, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(number, F_GETFD) == -1 {
        // It gets the lowest free descriptor, which is this one.
        _ = open("/dev/null", flags)
    }
    atexit {
        let output = terminal_standard_output()
        var number: Int32 = 0
        // The errno of an earlier write is lost.
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
        // The message says it in words.
        if code == .noBluetooth { error.cause = nil }
        return error.description
    }
}

extension DisconnectReason {
    /// The reason in words for people, such as `adapter removed`.
    public var words: String {
        rawValue.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : "\($1)" }
    }
}
