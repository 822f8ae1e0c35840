import BluetoothHCI

/// The search for links that the kernel has lost.
///
/// A link may come up just as the kernel cancels its attempt. The controller then refuses the cancellation, and the kernel
/// forgets the attempt but does not end the link: its peer stays connected, although no socket owns the link, and no
/// longer advertises.
struct OrphanedLinks {
    /// What to do now.
    enum Action: Hashable {
        /// Compare the links with the kernel's, after ``patience``.
        case search
        /// Nothing more is expected.
        case rest
    }

    /// The time in which the kernel forgets the attempt, or takes the link for its own.
    static let patience = Duration.milliseconds(500)

    /// The time for which the end of an attempt is awaited when this program does not connect: the kernel cancels the attempts
    /// of this program at once, and those of others may last.
    static let attemptPatience = Duration.seconds(2)

    /// Whether the controller has an attempt, whose end is still to come.
    private var isAttempting = false
    private var isSearching = false

    /// Whether no event is expected.
    var isNone: Bool { !isAttempting && !isSearching }

    /// Whether only the end of an attempt is expected.
    var awaitsAttempt: Bool { isAttempting && !isSearching }

    /// Receives the answer to a command of the kernel or of another program.
    mutating func answered(_ command: AnyHCICommand, _ status: HCIStatus) -> Action? {
        switch command.opcode {
        case LECreateConnection.opcode, LEExtendedCreateConnection.opcode:
            isAttempting = isAttempting || status.isSuccess
            return nil
        case LECreateConnectionCancel.opcode where !status.isSuccess: return search()
        default: return nil
        }
    }

    /// Receives the end of an attempt.
    /// - Parameter isFollowed: whether this program is connecting.
    mutating func attemptEnded(_ status: HCIStatus, isFollowed: Bool) -> Action? {
        guard isAttempting else { return nil }
        isAttempting = false
        if status.isSuccess, !isFollowed { return search() }
        return isNone ? .rest : nil
    }

    private mutating func search() -> Action? {
        guard !isSearching else { return nil }
        isSearching = true
        return .search
    }

    /// The search has taken place.
    mutating func searched() { isSearching = false }

    /// The end of the attempt is no longer awaited.
    mutating func attemptExpired() { isAttempting = false }
}
