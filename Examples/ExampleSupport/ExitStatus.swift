import ArgumentParser
import BluetoothLE

/// The exit statuses of the programs: those of sysexits.h, and 128 + the signal.
public enum ExitStatus: Int32, Sendable {
    /// Success.
    case success = 0
    /// A failure without a status of its own.
    case failure = 1
    /// Invalid arguments.
    case usage = 64
    /// Invalid content of a file or a response.
    case badData = 65
    /// An input file that does not exist, or is a folder.
    case noInput = 66
    /// The device was not found.
    case notFound = 68
    /// No usable adapter: missing, off, blocked, or in use by another program.
    case noBluetooth = 69
    /// The output file, link or socket cannot be created or exists already; nothing was done.
    case cannotCreate = 73
    /// The link was lost or could not be established, or a file could not be read or written.
    case linkLost = 74
    /// The time allowed ran out.
    case timedOut = 75
    /// The device refused a request, violated the protocol, or lacks what the command needs.
    case protocolError = 76
    /// A permission is missing.
    case notPermitted = 77
    /// Interrupted with Ctrl-C.
    case interrupted = 130
    /// Terminated by SIGTERM, which for a server is ``success``.
    case terminated = 143

    /// The status for an error of the library.
    public init(_ error: BluetoothError) {
        self =
            switch error.code {
            case .noBluetooth, .noAdapter, .adapterOff, .adapterBlocked, .busy: .noBluetooth
            case .notPermitted: .notPermitted
            case .notFound: .notFound
            case .connectionFailed, .linkLimitReached, .disconnected, .overflow, .storageFailed: .linkLost
            case .timedOut: .timedOut
            case .pairingFailed where error.pairingFailure == .ownedByDaemon: .noBluetooth
            case .attributeProtocol, .protocolViolation, .refused, .unsupported, .pairingFailed: .protocolError
            case .invalidArgument: .usage
            case .cancelled: .interrupted
            default: .failure
            }
    }

    /// The `--help` text on exit statuses.
    public static let help = """
        EXIT STATUS: 0 success; 1 other failure; 64 invalid arguments; 65 bad data; 66 no such file; 68 device not \
        found; 69 no usable adapter; 73 output file cannot be created; 74 link lost or input/output error; 75 timeout; \
        76 protocol error or unsuitable device; 77 permission missing; 130 interrupted; 143 terminated (serve, \
        advertise, bridge, doctor --watch and notify --keep then exit with 0).
        """
}

/// An error of a program itself, not of the library.
public struct ProgramError: Error, CustomStringConvertible {
    /// The exit status.
    public var status: ExitStatus
    /// What went wrong.
    public var message: String
    /// What fixes it.
    public var remedy: String?

    /// An error from its parts.
    public init(_ status: ExitStatus, _ message: String, remedy: String? = nil) {
        self.status = status
        self.message = message
        self.remedy = remedy
    }

    /// The message and the remedy.
    public var description: String { remedy.map { "\(message)\n\($0)" } ?? message }
}
