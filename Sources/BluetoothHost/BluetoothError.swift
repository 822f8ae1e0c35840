import BluetoothATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

/// Why something could not be done: what, to whom, the status beneath, and for set-up problems the exact fix.
public struct BluetoothError: Error, Hashable, Sendable {
    /// What kind of problem it is. An open set: switch with a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// A code by name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name.
        public var description: String { rawValue }

        /// The kernel has no Bluetooth sockets.
        public static let noBluetooth = Code(rawValue: "noBluetooth")
        /// There is no adapter, or not the one asked for, or it went away.
        public static let noAdapter = Code(rawValue: "noAdapter")
        /// The adapter is powered off.
        public static let adapterOff = Code(rawValue: "adapterOff")
        /// A radio switch blocks the adapter.
        public static let adapterBlocked = Code(rawValue: "adapterBlocked")
        /// A capability is missing.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// Somebody else, such as BlueZ's daemon, uses what this needs.
        public static let busy = Code(rawValue: "busy")
        /// No device that matches was seen.
        public static let notFound = Code(rawValue: "notFound")
        /// The link could not be established.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// The link ended.
        public static let disconnected = Code(rawValue: "disconnected")
        /// Pairing, or encrypting the link with a key, came to nothing; ``BluetoothError/pairingFailure`` says how.
        public static let pairingFailed = Code(rawValue: "pairingFailed")
        /// The time allowed ran out.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The calling task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The peer refused an attribute request; ``BluetoothError/cause`` has its code.
        public static let attributeProtocol = Code(rawValue: "attributeProtocol")
        /// The peer's attributes are not those that were discovered.
        public static let attributesChanged = Code(rawValue: "attributesChanged")
        /// The peer has not asked for what it was to be sent.
        public static let notSubscribed = Code(rawValue: "notSubscribed")
        /// The peer broke the protocol.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The peer or the adapter lacks what this needs.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The caller asked for something impossible.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// A stream's buffer was full, or too many calls were waiting.
        public static let overflow = Code(rawValue: "overflow")
        /// The kernel or the controller failed in a way that has no code of its own.
        public static let failed = Code(rawValue: "failed")
    }

    /// The status beneath.
    public enum Cause: Hashable, Sendable {
        /// A call to the kernel failed.
        case kernel(KernelError)
        /// The peer's attribute server refused.
        case attribute(ATTErrorCode)
        /// The controller refused or ended something.
        case controller(HCIStatus)
        /// The kernel's management interface refused.
        case management(ManagementStatus)
    }

    /// What was being done, to whom.
    public struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// What, as a verb: `connect`, `read`.
        public var name: String
        /// To which device.
        public var peer: BluetoothAddress?
        /// To which attribute.
        public var attribute: AttributeHandle?
        /// On which adapter, such as `hci0`.
        public var adapter: String?

        /// An operation from its parts.
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

    /// What kind of problem it is.
    public var code: Code
    /// What was being done.
    public var operation: Operation
    /// What went wrong, in one sentence.
    public var message: String
    /// The exact fix, for a problem of set-up.
    public var remedy: String?
    /// The status beneath, where there is one.
    public var cause: Cause?
    /// Whether the same call may succeed when it is tried again without changing anything.
    public var isRetryable: Bool
    /// Who or what ended the link, where that is what this is about.
    public var disconnectReason: DisconnectReason?
    /// Why a pairing came to nothing, where that is what this is about.
    public var pairingFailure: PairingFailure?

    /// An error from its parts.
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

    /// The device concerned.
    public var peer: BluetoothAddress? { operation.peer }
    /// The attribute concerned.
    public var attribute: AttributeHandle? { operation.attribute }
}

extension BluetoothError: CustomStringConvertible {
    /// What was being done, what went wrong, the status beneath and the fix.
    public var description: String {
        var text = "\(operation): \(message)"
        if let cause { text += " [\(cause)]" }
        if let remedy { text += "\n\(remedy)" }
        return text
    }
}

extension BluetoothError.Cause: CustomStringConvertible {
    /// The status with the layer it comes from.
    public var description: String {
        switch self {
        case .kernel(let error): "\(error)"
        case .attribute(let code): "ATT \(code)"
        case .controller(let status): "HCI \(status)"
        case .management(let status): "mgmt \(status)"
        }
    }
}

// The errors that several places make.
extension BluetoothError {
    @usableFromInline package static func timedOut(_ operation: Operation, after duration: Duration) -> BluetoothError {
        BluetoothError(.timedOut, operation, "No answer within \(duration.inSeconds).", isRetryable: true)
    }

    @usableFromInline package static func cancelled(_ operation: Operation) -> BluetoothError {
        BluetoothError(.cancelled, operation, "The task was cancelled.")
    }

    @usableFromInline package static func secondConsumer(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation, "Another task waits for the next element of this stream.",
            remedy: "A stream has one consumer; make a stream for each.")
    }

    package static func overflow(_ operation: Operation, capacity: Int) -> BluetoothError {
        BluetoothError(
            .overflow, operation, "More than \(capacity) elements were waiting and nobody took them.",
            remedy: "Take elements faster, or ask for a larger buffer.")
    }

    package static func attributesChanged(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .attributesChanged, operation, "The peer's attributes have changed since they were discovered.",
            remedy: "Call discover() again and use what it returns.")
    }

    package static func invalidArgument(_ operation: Operation, _ message: String) -> BluetoothError {
        BluetoothError(.invalidArgument, operation, message)
    }
}

extension Duration {
    /// `1.5 s`, with as many decimals as are needed down to milliseconds.
    package var inSeconds: String {
        let milliseconds = clampedNanoseconds / 1_000_000
        let fraction = milliseconds % 1000
        guard fraction != 0 else { return "\(milliseconds / 1000) s" }
        var digits = String(1000 + abs(fraction)).dropFirst()
        while digits.last == "0" { digits = digits.dropLast() }
        return "\(milliseconds / 1000).\(digits) s"
    }
}
