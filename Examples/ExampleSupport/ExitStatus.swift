import ArgumentParser
import BluetoothLE

/// What the programs exit with: the numbers of sysexits.h, and 128 + the signal.
public enum ExitStatus: Int32, Sendable {
    /// Done.
    case success = 0
    /// Failed for a reason that has no number here.
    case failure = 1
    /// Wrong arguments.
    case usage = 64
    /// A file or an answer has not the content it should have.
    case badData = 65
    /// No such file.
    case noInput = 66
    /// The device was not found.
    case notFound = 68
    /// No adapter that can be used: none there, off, blocked, or taken by another program.
    case noBluetooth = 69
    /// A file to be written cannot be created, or exists already; nothing was done.
    case cannotCreate = 73
    /// The link was lost or could not be established, or a file could not be read or written.
    case linkLost = 74
    /// The time allowed ran out.
    case timedOut = 75
    /// The device refused, broke the protocol, or is not of the right kind.
    case protocolError = 76
    /// A permission is missing.
    case notPermitted = 77
    /// Interrupted with Ctrl-C.
    case interrupted = 130
    /// Asked to end with SIGTERM; to a server that is ``success``.
    case terminated = 143

    /// The one place that says which error ends a program with which number.
    public init(_ error: BluetoothError) {
        self =
            switch error.code {
            case .noBluetooth, .noAdapter, .adapterOff, .adapterBlocked, .busy: .noBluetooth
            case .notPermitted: .notPermitted
            case .notFound: .notFound
            case .connectionFailed, .disconnected, .overflow, .storageFailed: .linkLost
            case .timedOut: .timedOut
            case .pairingFailed where error.pairingFailure == .ownedByDaemon: .noBluetooth
            case .attributeProtocol, .protocolViolation, .unsupported, .pairingFailed: .protocolError
            case .invalidArgument: .usage
            case .cancelled: .interrupted
            default: .failure
            }
    }

    /// What `--help` says about them.
    public static let help = """
        EXIT STATUS: 0 done; 1 other failure; 64 wrong arguments; 65 bad data; 66 no such file; 68 device not found; \
        69 no usable adapter; 73 output file cannot be created; 74 link lost or input/output error; 75 time-out; \
        76 protocol error or wrong kind of device; 77 permission missing; 130 interrupted; 143 terminated (serve \
        and advertise then exit with 0).
        """
}

/// Why a program ends that is no Bluetooth error.
public struct ProgramError: Error, CustomStringConvertible {
    /// What it exits with.
    public var status: ExitStatus
    /// What went wrong.
    public var message: String
    /// What helps.
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
