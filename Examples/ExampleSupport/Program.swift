import ArgumentParser
import BluetoothLE
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
        interruption.watch { task.cancel() }
        let result = await task.result
        restoreTerminal()
        if let signal = interruption.signal {
            let isRegular = isServer && signal == SIGTERM
            console.message("\(program): \(signal == SIGINT ? "interrupted" : isRegular ? "stopped" : "terminated")")
            guard !isRegular else { return }
            throw ExitCode(128 + signal)
        }
        guard case .failure(let error) = result else { return }
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

extension BluetoothError {
    fileprivate var withoutRemedy: String {
        var error = self
        error.remedy = nil
        return error.description
    }
}
