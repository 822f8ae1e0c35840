/// Who may open a pseudo terminal or a UNIX socket: by default this user, and root.
public struct PortAccess: Hashable, Sendable {
    /// The permissions, as of `chmod`; nil for the system's, or for 0660 with a group.
    public var mode: UInt32?
    /// The number of the group; nil for the system's.
    public var group: UInt32?

    /// Access by the parameters given.
    public init(mode: UInt32? = nil, group: UInt32? = nil) {
        self.mode = mode
        self.group = group
    }

    /// Parses permissions in octal digits, `0` to `0777`; nil if they are invalid.
    public static func mode(_ text: String) -> UInt32? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mode = UInt32(text, radix: 8), mode <= 0o777
        else { return nil }
        return mode
    }

    /// The number of a group, by its name or by its number; nil if there is none of that name.
    public static func group(_ text: String) -> UInt32? {
        if let number = systemGroup(named: text) { return number }
        // The highest number means that the group stays as it is.
        return UInt32(text).flatMap { $0 == .max ? nil : $0 }
    }

    /// Sets the access of an open terminal.
    /// - Throws: ``ProgramError`` with ``ExitStatus/notPermitted``, or ``ExitStatus/linkLost`` for any other reason.
    func apply(to descriptor: Int32, named path: String) throws {
        try apply(to: path, { fchown(descriptor, .max, $0) }, { fchmod(descriptor, $0) })
    }

    /// Sets the access of a file, without following a symbolic link.
    /// - Throws: as ``apply(to:named:)``.
    func apply(toFile path: String) throws {
        try apply(
            to: path, { fchownat(AT_FDCWD, path, .max, $0, AT_SYMLINK_NOFOLLOW) },
            { fchmodat(AT_FDCWD, path, $0, AT_SYMLINK_NOFOLLOW) })
    }

    private func apply(to path: String, _ chown: (gid_t) -> CInt, _ chmod: (mode_t) -> CInt) throws {
        let path = printable(path)
        if let group, chown(group) != 0 { throw Self.failure("Cannot give \(path) to its group") }
        if let mode = mode ?? group.map({ _ in 0o660 }), chmod(mode) != 0 {
            throw Self.failure("Cannot change the permissions of \(path)")
        }
    }

    private static func failure(_ text: String) -> ProgramError {
        let number = errno
        guard number == EPERM || number == EACCES else {
            return ProgramError(.linkLost, "\(text): \(systemMessage(number))")
        }
        return ProgramError(
            .notPermitted, "\(text): \(systemMessage(number))",
            remedy: "Run it as root or as a member of that group. To join it: sudo usermod -aG GROUP \"$USER\", then "
                + "log in again.")
    }
}
