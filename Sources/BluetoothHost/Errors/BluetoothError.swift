import BluetoothATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

/// An error of a Bluetooth operation: the code, the operation and its peer, the underlying status, and for set-up
/// problems the exact fix.
public struct BluetoothError: Error, Hashable, Sendable {
    /// The kind of problem. An open set: switch with a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code by name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name of the code.
        public var description: String { rawValue }

        /// The kernel has no Bluetooth sockets.
        public static let noBluetooth = Code(rawValue: "noBluetooth")
        /// There is no adapter, the requested one is not present, or it was removed.
        public static let noAdapter = Code(rawValue: "noAdapter")
        /// The adapter is powered off.
        public static let adapterOff = Code(rawValue: "adapterOff")
        /// A radio switch blocks the adapter.
        public static let adapterBlocked = Code(rawValue: "adapterBlocked")
        /// A capability is missing.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// Another program, such as BlueZ's daemon, uses the resource.
        public static let busy = Code(rawValue: "busy")
        /// No matching device was found.
        public static let notFound = Code(rawValue: "notFound")
        /// The link could not be established.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// The controller has reached its limit of links.
        public static let linkLimitReached = Code(rawValue: "linkLimitReached")
        /// The link ended.
        public static let disconnected = Code(rawValue: "disconnected")
        /// Pairing, or encrypting the link with a stored key, failed; ``BluetoothError/pairingFailure`` has the reason.
        public static let pairingFailed = Code(rawValue: "pairingFailed")
        /// The time limit was reached.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The calling task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The peer refused an attribute request; ``BluetoothError/cause`` has its code.
        public static let attributeProtocol = Code(rawValue: "attributeProtocol")
        /// The peer refused a request of a protocol above the attribute protocol; ``BluetoothError/cause`` has its status.
        public static let refused = Code(rawValue: "refused")
        /// The peer's bytes have no meaning in the format of their characteristic; the message names the field.
        public static let malformedValue = Code(rawValue: "malformedValue")
        /// The peer's attributes have changed since they were discovered.
        public static let attributesChanged = Code(rawValue: "attributesChanged")
        /// The peer has not subscribed to the characteristic.
        public static let notSubscribed = Code(rawValue: "notSubscribed")
        /// The peer violated the protocol.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The peer or the adapter does not support the operation.
        public static let unsupported = Code(rawValue: "unsupported")
        /// An argument is invalid.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// A stream's buffer was full, or too many calls were waiting.
        public static let overflow = Code(rawValue: "overflow")
        /// Stored data cannot be read or written.
        public static let storageFailed = Code(rawValue: "storageFailed")
        /// The kernel or the controller failed in a way without a code of its own, or code of the program did, which a
        /// call runs: ``BluetoothError/underlyingError``.
        public static let failed = Code(rawValue: "failed")
    }

    /// The underlying status, with the layer that reported it. An open set: ask for the statuses that the program knows.
    public struct Cause: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            case kernel(KernelError)
            case attribute(ATTErrorCode)
            case controller(HCIStatus)
            case host(HostStatus)
        }

        package let kind: Kind

        /// A call to the kernel failed.
        public static func kernel(_ error: KernelError) -> Cause { Cause(kind: .kernel(error)) }
        /// The peer's attribute server answered with an error.
        public static func attribute(_ code: ATTErrorCode) -> Cause { Cause(kind: .attribute(code)) }
        /// The controller refused or ended something.
        public static func controller(_ status: HCIStatus) -> Cause { Cause(kind: .controller(status)) }
        /// The host refused: on Linux, the kernel's management interface.
        public static func host(_ status: HostStatus) -> Cause { Cause(kind: .host(status)) }

        /// The error of a failed call to the kernel; nil for other causes.
        public var kernelError: KernelError? { if case .kernel(let error) = kind { error } else { nil } }
        /// The code with which the peer's attribute server answered; nil for other causes.
        public var attributeErrorCode: ATTErrorCode? { if case .attribute(let code) = kind { code } else { nil } }
        /// The status of the controller; nil for other causes.
        public var controllerStatus: HCIStatus? { if case .controller(let status) = kind { status } else { nil } }
        /// The status of the host; nil for other causes.
        public var hostStatus: HostStatus? { if case .host(let status) = kind { status } else { nil } }
    }

    /// The status with which a host refuses a request.
    public struct HostStatus: Hashable, Sendable, CustomStringConvertible {
        /// The number of the status in the host's interface.
        public let code: Int
        /// The interface, and the name and the number of the status: `mgmt busy (0x0A)`.
        public let description: String

        package init(_ code: Int, _ description: String) { (self.code, self.description) = (code, description) }
    }

    /// The operation that failed, with its target.
    public struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// The verb: `connect`, `read`.
        public var name: String
        /// The target device.
        public var peer: BluetoothAddress?
        /// The target attribute.
        public var attribute: AttributeHandle?
        /// The adapter, such as `hci0`.
        public var adapter: String?

        /// Creates an operation from its parts.
        public init(
            _ name: String, peer: BluetoothAddress? = nil, attribute: AttributeHandle? = nil, adapter: String? = nil
        ) {
            self.name = name
            self.peer = peer
            self.attribute = attribute
            self.adapter = adapter
        }

        /// `read 0x0012 of C0:98:E5:12:34:56`.
        public var description: String {
            var text = name
            if let attribute { text += " \(attribute)" }
            if let peer { text += " of \(peer.digits)" }
            if let adapter { text += " on \(adapter)" }
            return text
        }
    }

    /// The kind of problem.
    public var code: Code
    /// The operation that failed.
    public var operation: Operation
    /// A description of the problem in one sentence.
    public var message: String
    /// The exact fix of a set-up problem.
    public var remedy: String?
    /// The underlying status, if there is one.
    public var cause: Cause?
    /// Whether the same call may succeed when it is tried again without changing anything.
    public var isRetryable: Bool
    /// The reason for the link's end, if the error is about that.
    public var disconnectReason: DisconnectReason?
    /// The reason why pairing failed, if the error is about that.
    public var pairingFailure: PairingFailure?
    /// The number of bytes that a write to a channel had sent before this error, so that the rest can follow.
    public var sentByteCount: Int?
    private var underlying: Underlying?

    /// Creates an error from its parts.
    public init(
        _ code: Code, _ operation: Operation, _ message: String, remedy: String? = nil, cause: Cause? = nil,
        isRetryable: Bool = false, disconnectReason: DisconnectReason? = nil
    ) {
        self.code = code
        self.operation = operation
        self.message = message
        self.remedy = remedy
        self.cause = cause
        self.isRetryable = isRetryable
        self.disconnectReason = disconnectReason
    }

    /// The device of the operation.
    public var peer: BluetoothAddress? { operation.peer }
    /// The attribute of the operation.
    public var attribute: AttributeHandle? { operation.attribute }

    /// The error of the program's own code that a call has run, such as a closure that it was given; nil if the error
    /// is one of this library.
    public var underlyingError: (any Error)? { underlying?.error }

    /// The exit status of a program that ends with this error: one of `sysexits.h`, or 130 when it was cancelled.
    ///
    /// | status | |
    /// |---|---|
    /// | 64 | `.invalidArgument` |
    /// | 68 | `.notFound` |
    /// | 69 | no usable adapter, or what is in use: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.busy`, `.pairingFailed` because BlueZ's daemon pairs |
    /// | 74 | the link or a file: `.connectionFailed`, `.linkLimitReached`, `.disconnected`, `.overflow`, `.storageFailed` |
    /// | 75 | `.timedOut` |
    /// | 76 | the device: `.attributeProtocol`, `.protocolViolation`, `.malformedValue`, `.refused`, `.unsupported`, `.pairingFailed` otherwise |
    /// | 77 | `.notPermitted` |
    /// | 130 | `.cancelled`, as after Ctrl-C |
    /// | 1 | anything else |
    public var exitStatus: Int32 {
        switch code {
        case .invalidArgument: 64
        case .notFound: 68
        case .noBluetooth, .noAdapter, .adapterOff, .adapterBlocked, .busy: 69
        case .pairingFailed where pairingFailure == .ownedByDaemon: 69
        case .connectionFailed, .linkLimitReached, .disconnected, .overflow, .storageFailed: 74
        case .timedOut: 75
        case .attributeProtocol, .protocolViolation, .malformedValue, .refused, .unsupported, .pairingFailed: 76
        case .notPermitted: 77
        case .cancelled: 130
        default: 1
        }
    }
}

extension BluetoothError {
    /// An error of the program's own; two are equal if their texts are.
    private struct Underlying: Hashable, Sendable {
        let error: any Error

        static func == (left: Self, right: Self) -> Bool { "\(left.error)" == "\(right.error)" }

        func hash(into hasher: inout Hasher) { hasher.combine("\(error)") }
    }
}

extension BluetoothError {
    /// A remedy for somebody who uses a program and did not write it: without the lines that begin with `In code`, and
    /// without remarks after three blanks, such as how to build.
    package static func forUsers(_ remedy: String?) -> String? {
        let lines = (remedy ?? "").split(separator: "\n").map { $0[..<($0.start(of: "   (") ?? $0.endIndex)] }
        let text = lines.filter { !$0.isEmpty && !$0.hasPrefix("In code") }.joined(separator: "\n")
        return text.isEmpty ? nil : text.hasPrefix("Or run:") ? "Run:" + text.dropFirst(7) : text
    }
}

extension StringProtocol {
    /// Where a text first occurs. The search of `_StringProcessing` is not used, which takes 1.3 MB of a static program.
    fileprivate func start(of text: String) -> Index? { indices.first { self[$0...].hasPrefix(text) } }
}

extension BluetoothError: CustomStringConvertible {
    /// The operation, the problem, the underlying status unless the problem names it, and the fix.
    public var description: String {
        var text = "\(operation): \(message)"
        let isNamed = cause?.attributeErrorCode.map { message.start(of: "\($0)") != nil } ?? false
        if let cause, !isNamed { text += " [\(cause)]" }
        if let remedy { text += "\n\(remedy)" }
        return text
    }
}

extension BluetoothError.Cause: CustomStringConvertible {
    /// The status with the layer that reported it.
    public var description: String {
        switch kind {
        case .kernel(let error): "\(error)"
        case .attribute(let code): "ATT \(code)"
        case .controller(let status): "HCI \(status)"
        case .host(let status): "\(status)"
        }
    }
}

// Errors that are made in several places.
extension BluetoothError {
    @usableFromInline package static func timedOut(_ operation: Operation, after duration: Duration) -> BluetoothError {
        BluetoothError(.timedOut, operation, "No response within \(duration.inSeconds).", isRetryable: true)
    }

    @usableFromInline package static func cancelled(_ operation: Operation) -> BluetoothError {
        BluetoothError(.cancelled, operation, "The task was cancelled.")
    }

    /// The error of code that the program has passed to a call: one of this library as it is, a `CancellationError` as
    /// `.cancelled`, and any other with it as ``underlyingError``.
    package init(_ error: any Error, _ operation: @autoclosure () -> Operation) {
        switch error {
        case let error as BluetoothError: self = error
        case is CancellationError: self = .cancelled(operation())
        default:
            self.init(.failed, operation(), "\(error)")
            underlying = Underlying(error: error)
        }
    }

    @usableFromInline package static func secondConsumer(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation, "Another task waits for the next element of this stream.",
            remedy: "In code, create a stream for each consumer.")
    }

    package static func overflow(_ operation: Operation, capacity: Int) -> BluetoothError {
        BluetoothError(
            .overflow, operation, "More than \(capacity) elements were waiting to be consumed.",
            remedy: "In code, consume elements faster, or use a larger buffer.")
    }

    /// The error of a link that the controller has refused because the link limit is reached.
    package static func linkLimitReached(_ operation: Operation, _ cause: Cause?) -> BluetoothError {
        BluetoothError(
            .linkLimitReached, operation, "The controller has reached its limit of links.",
            remedy: """
                End a link that is not needed, wait until one ends, or use a further adapter.
                In code: ConnectionOptions.slotTimeout, AdapterGroup.
                """,
            cause: cause, isRetryable: true)
    }

    package static func attributesChanged(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .attributesChanged, operation, "The peer's attributes have changed since they were discovered.",
            remedy: "In code, call discover() again, and use its result.")
    }

    package static func invalidArgument(_ operation: Operation, _ message: String) -> BluetoothError {
        BluetoothError(.invalidArgument, operation, message)
    }
}

extension Duration {
    /// `1.5 s`, with as many decimals as are needed: at most two, or three below 0.1 s.
    package var inSeconds: String {
        // The rest of a time limit, such as 1.999 s, is 2 s.
        let tenths = clampedNanoseconds / 100_000
        let milliseconds = tenths < 1000 ? (tenths + 5) / 10 : (tenths + 50) / 100 * 10
        let fraction = milliseconds % 1000
        guard fraction != 0 else { return "\(milliseconds / 1000) s" }
        var digits = String(1000 + abs(fraction)).dropFirst()
        while digits.last == "0" { digits = digits.dropLast() }
        return "\(milliseconds / 1000).\(digits) s"
    }
}
