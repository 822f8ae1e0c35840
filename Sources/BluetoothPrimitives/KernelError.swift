/// An error number of a Linux system call (`errno`), as on x86, ARM and RISC-V.
public struct ErrorNumber: RawRepresentable, Hashable, Sendable {
    /// The value.
    public let rawValue: Int32

    /// The error number with the value `rawValue`, named or not.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// EPERM: a capability is missing.
    public static let notPermitted = ErrorNumber(rawValue: 1)
    /// ENOENT.
    public static let noSuchFile = ErrorNumber(rawValue: 2)
    /// EIO.
    public static let inputOutput = ErrorNumber(rawValue: 5)
    /// ENXIO: no process has the pipe open for reading.
    public static let noSuchDeviceOrAddress = ErrorNumber(rawValue: 6)
    /// EBADF.
    public static let badFileDescriptor = ErrorNumber(rawValue: 9)
    /// EAGAIN: the call would block.
    public static let wouldBlock = ErrorNumber(rawValue: 11)
    /// ENOMEM.
    public static let outOfMemory = ErrorNumber(rawValue: 12)
    /// EACCES: refused by the security of the peer or of this host, or by the file system.
    public static let accessDenied = ErrorNumber(rawValue: 13)
    /// EBUSY: in use by another process.
    public static let busy = ErrorNumber(rawValue: 16)
    /// EEXIST.
    public static let fileExists = ErrorNumber(rawValue: 17)
    /// ENODEV: no such adapter.
    public static let noSuchDevice = ErrorNumber(rawValue: 19)
    /// EINVAL.
    public static let invalidArgument = ErrorNumber(rawValue: 22)
    /// ENOSPC: the disk is full.
    public static let noSpace = ErrorNumber(rawValue: 28)
    /// EROFS: the file system is read-only.
    public static let readOnlyFileSystem = ErrorNumber(rawValue: 30)
    /// EMLINK: the controller has no room for another link.
    public static let tooManyLinks = ErrorNumber(rawValue: 31)
    /// EPIPE: the adapter of a socket was removed.
    public static let brokenPipe = ErrorNumber(rawValue: 32)
    /// ELOOP: a symbolic link that is not followed, or too many of them.
    public static let symbolicLink = ErrorNumber(rawValue: 40)
    /// ENOSYS: the kernel's value for link-layer reasons that have no error number.
    public static let notImplemented = ErrorNumber(rawValue: 38)
    /// EMSGSIZE: the packet is longer than the channel's MTU.
    public static let messageTooLong = ErrorNumber(rawValue: 90)
    /// EPROTONOSUPPORT: the kernel lacks this Bluetooth protocol.
    public static let protocolNotSupported = ErrorNumber(rawValue: 93)
    /// EOPNOTSUPP.
    public static let operationNotSupported = ErrorNumber(rawValue: 95)
    /// EAFNOSUPPORT: the kernel has no Bluetooth.
    public static let addressFamilyNotSupported = ErrorNumber(rawValue: 97)
    /// ENOPROTOOPT: the kernel lacks the socket option.
    public static let protocolOptionNotAvailable = ErrorNumber(rawValue: 92)
    /// EADDRINUSE: the address is in use.
    public static let addressInUse = ErrorNumber(rawValue: 98)
    /// ENETDOWN: the adapter is powered off.
    public static let networkDown = ErrorNumber(rawValue: 100)
    /// ECONNABORTED: this host ended the link, as it does when the adapter is powered off or removed.
    public static let connectionAborted = ErrorNumber(rawValue: 103)
    /// ECONNRESET: the peer or another program on this host closed the link.
    public static let connectionReset = ErrorNumber(rawValue: 104)
    /// ENOTCONN.
    public static let notConnected = ErrorNumber(rawValue: 107)
    /// ETIMEDOUT: the supervision timeout expired.
    public static let timedOut = ErrorNumber(rawValue: 110)
    /// ECONNREFUSED.
    public static let connectionRefused = ErrorNumber(rawValue: 111)
    /// EHOSTDOWN.
    public static let hostDown = ErrorNumber(rawValue: 112)
    /// EHOSTUNREACH: no adapter is powered on.
    public static let hostUnreachable = ErrorNumber(rawValue: 113)
    /// EALREADY.
    public static let alreadyInProgress = ErrorNumber(rawValue: 114)
    /// EINPROGRESS.
    public static let inProgress = ErrorNumber(rawValue: 115)
    /// ERFKILL: blocked by a radio switch.
    public static let radioBlocked = ErrorNumber(rawValue: 132)

    private static let names: [Int32: String] = [
        1: "EPERM", 5: "EIO", 6: "ENXIO", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES", 16: "EBUSY",
        17: "EEXIST", 19: "ENODEV", 20: "ENOTDIR", 24: "EMFILE", 27: "EFBIG", 36: "ENAMETOOLONG", 40: "ELOOP",
        2: "ENOENT", 21: "EISDIR", 22: "EINVAL", 28: "ENOSPC", 30: "EROFS", 32: "EPIPE", 38: "ENOSYS", 90: "EMSGSIZE",
        92: "ENOPROTOOPT", 93: "EPROTONOSUPPORT", 95: "EOPNOTSUPP",
        97: "EAFNOSUPPORT", 98: "EADDRINUSE", 100: "ENETDOWN", 103: "ECONNABORTED", 104: "ECONNRESET", 107: "ENOTCONN",
        110: "ETIMEDOUT", 111: "ECONNREFUSED", 112: "EHOSTDOWN", 113: "EHOSTUNREACH", 114: "EALREADY",
        115: "EINPROGRESS", 132: "ERFKILL",
    ]
}

extension ErrorNumber: CustomStringConvertible {
    /// The name in `errno.h`, or the value of an unnamed number.
    public var description: String { Self.names[rawValue] ?? "errno \(rawValue)" }
}

/// A failed system call.
public struct KernelError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the call, such as `connect` or `HCIGETDEVINFO`.
    public var call: String
    /// The error number.
    public var number: ErrorNumber

    /// A failure of `call` with `number`.
    public init(_ call: String, _ number: ErrorNumber) {
        self.call = call
        self.number = number
    }

    /// The call and the error number: `connect: ECONNREFUSED`.
    public var description: String { "\(call): \(number)" }
}
