import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives

/// The courses of the pairings under way, by the peers' addresses. The kernel reports one status for all failures, so the
/// reason follows from the time, the questions and the keys.
struct PairingCourses: Equatable {
    private struct Course: Equatable {
        /// Whether the pairing uses numbers, so that a failure may be due to a wrong one.
        var isNumbered = false
        var lastProgress: KernelInstant
    }

    private var courses: [BluetoothAddress: Course] = [:]

    /// The lifetime of a course without progress, since nothing may report its end.
    private static let silenceLimit = Duration.seconds(35)
    private static let countLimit = 64

    /// Records a question.
    mutating func asked(_ question: PairingQuestion, _ peer: BluetoothAddress, at now: KernelInstant) {
        courses = courses.filter { $0.value.lastProgress.duration(to: now) < Self.silenceLimit }
        guard courses.count < Self.countLimit || courses[peer] != nil else { return }
        courses[peer, default: Course(lastProgress: now)].lastProgress = now
        if question.isAboutNumber { courses[peer]?.isNumbered = true }
    }

    /// Records an answer.
    mutating func answered(_ peer: BluetoothAddress, at now: KernelInstant) { courses[peer]?.lastProgress = now }

    /// Removes the course of a pairing that has ended.
    mutating func ended(_ peer: BluetoothAddress) { courses[peer] = nil }

    /// The reason why pairing has not protected a link as required.
    ///
    /// - Parameters:
    ///   - addresses: the peer's, that of the link's beginning first.
    ///   - since: the time of the last progress, for a pairing without questions.
    ///   - hasKey: whether there is a key from an earlier pairing.
    func failure(
        _ addresses: [BluetoothAddress], since: KernelInstant?, hasKey: Bool, at now: KernelInstant
    ) -> PairingFailure {
        let course = addresses.lazy.compactMap { courses[$0] }
            .first { $0.lastProgress.duration(to: now) < Self.silenceLimit }
        if let since = course?.lastProgress ?? since, since.duration(to: now) >= .seconds(29) { return .timedOut }
        if course?.isNumbered == true { return .authenticationFailed }
        return course == nil && hasKey ? .keyMissing : .rejected
    }
}
