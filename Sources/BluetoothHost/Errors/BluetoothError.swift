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
        /// The kernel or the controller failed in a way without a code of its own.
        public static let failed = Code(rawValue: "failed")
    }

    /// The underlying status.
    public enum Cause: Hashable, Sendable {
        /// A call to the kernel failed.
        case kernel(KernelError)
        /// The peer's attribute server answered with an error.
        case attribute(ATTErrorCode)
        /// The controller refused or ended something.
        case controller(HCIStatus)
        /// The host refused: on Linux, the kernel's management interface.
        case host(HostStatus)
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
            if let peer { text += " of \(peer)" }
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
}

extension BluetoothError {
    /// A remedy for somebody who uses a program and did not write it: without the lines that begin with `In code`, and
    /// without remarks after three blanks, such as how to build.
    package static func forUsers(_ remedy: String?) -> String? {
        let shown = (remedy ?? "").replacing(#/   \(.*/#, with: "").split(separator: "\n")
        let text = shown.filter { !$0.hasPrefix("In code") }.joined(separator: "\n")
        return text.isEmpty ? nil : text.hasPrefix("Or run:") ? "Run:" + text.dropFirst(7) : text
    }
}

extension BluetoothError: CustomStringConvertible {
    /// The operation, the problem, the underlying status unless the problem names it, and the fix.
    public var description: String {
        var text = "\(operation): \(message)"
        let isNamed = if case .attribute(let code)? = cause { message.contains("\(code)") } else { false }
        if let cause, !isNamed { text += " [\(cause)]" }
        if let remedy { text += "\n\(remedy)" }
        return text
    }
}

extension BluetoothError.Cause: CustomStringConvertible {
    /// The status with the layer that reported it.
    public var description: String {
        switch self {
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
