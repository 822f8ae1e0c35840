import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives

/// The stream of the pairings on one adapter: joins what the kernel's management, the controller and the links' sockets
/// report into one order of events, with the reasons of failures.
//
// Owned by the adapter's pairing; its channels use it.
final class PairingStream {
    private let loop: EventLoop
    let keys: KernelKeys
    private var courses = PairingCourses()
    /// The links whose security this program raises.
    private var raising: [WeakReference<SecurityRaise>] = []
    /// The out-of-band data of devices.
    var outOfBandData: [BluetoothAddress: OutOfBandData] = [:]
    /// The events of stored keys that had no receiver yet.
    private var early: [PairingEvent] = []

    weak var receiver: (any PairingReceiver)? {
        didSet {
            let events = early
            early = []
            for event in events { receiver?.receive(event) }
        }
    }

    init(_ keys: KernelKeys, on loop: EventLoop) { (self.keys, self.loop) = (keys, loop) }

    /// Passes an event on.
    func report(_ event: PairingEvent) {
        if let receiver { return receiver.receive(event) }
        switch event {
        case .keys(_, isStored: true), .keysForgotten: if early.count < 64 { early.append(event) }
        default: break
        }
    }

    // MARK: Courses

    /// Follows the course of a pairing by an event of management, and passes it on.
    func handle(_ event: PairingEvent) {
        switch event {
        case .question(let question, let peer):
            courses.asked(question, peer, at: loop.now)
            for raise in raising(peer) { raise.progresses() }
            report(event)
        case .keys(var made, let isStored):
            if isStored {
                made = keys.complete(made)
                keys.note(made.identity)
            }
            for peer in [made.identity, made.privateAddress].compactMap(\.self) { ends(peer) }
            report(.keys(made, isStored: isStored))
        case .failed(let peer, _):
            let failure = failure([peer], since: raising(peer).last?.lastProgress)
            ends(peer)
            report(.failed(peer, failure))
        case .keysForgotten(let peer):
            keys.forget(peer)
            report(event)
        case .security, .linkEnded: report(event)
        }
    }

    /// Handles an answer.
    func answered(_ peer: BluetoothAddress) {
        courses.answered(peer, at: loop.now)
        for raise in raising(peer) { raise.progresses() }
    }

    /// Handles the beginning of a link, or the end of its pairing.
    func ends(_ peer: BluetoothAddress) { courses.ended(peer) }

    /// Follows the raising of a link's security.
    func begins(_ raise: SecurityRaise) {
        raising.removeAll { $0.object == nil }
        raising.append(WeakReference(to: raise))
    }

    private func raising(_ peer: BluetoothAddress) -> [SecurityRaise] {
        raising.compactMap(\.object).filter { $0.peer == peer }
    }

    /// The reason why pairing has not protected a link as required.
    ///
    /// - Parameters:
    ///   - addresses: the peer's, that of the link's beginning first.
    ///   - since: the time of the last progress, for a pairing without questions.
    func failure(_ addresses: [BluetoothAddress], since: KernelInstant?) -> PairingFailure {
        let failure = courses.failure(addresses, since: since, hasKey: keys.exist(addresses), at: loop.now)
        let hasData = addresses.contains { outOfBandData[$0] != nil }
        return failure == .rejected && hasData ? .outOfBandDataRejected : failure
    }
}

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

extension PairingEvent {
    /// The pairing event in an event of the management socket.
    package init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        if let event = try packet.as(ManagementNewLongTermKey.self) {
            let keys = PeerKeys(identity: event.key.address, longTermKeys: [event.key])
            self = .keys(keys, isStored: event.isStored)
        } else if let event = try packet.as(ManagementDeviceUnpaired.self) {
            self = .keysForgotten(event.value.address)
        } else if let request = try packet.as(ManagementUserConfirmationRequest.self) {
            let comparison = Passkey(request.value).map { PairingQuestion.compare($0) }
            self.init(request.isSimple ? .confirm : comparison, request.address)
        } else if let request = try packet.as(ManagementUserPasskeyRequest.self) {
            self.init(.enter, request.value)
        } else if let event = try packet.as(ManagementPasskeyNotify.self) {
            let count = Int(event.enteredCount)
            self.init(Passkey(event.passkey).map { .show($0, enteredCount: count) }, event.address)
        } else if let event = try packet.as(ManagementAuthenticationFailed.self), event.address.isLowEnergy {
            self = .failed(event.address.address, .rejected)
        } else {
            return nil
        }
    }

    private init?(_ question: PairingQuestion?, _ device: ManagementAddress) {
        guard let question, device.isLowEnergy else { return nil }
        self = .question(question, device.address)
    }
}

extension PairingQuestion {
    /// The kernel's command for an answer; nil if it expects none.
    package func command(_ answer: PairingAnswer, to peer: BluetoothAddress) -> (any ManagementCommand)? {
        let device = ManagementAddress(peer)
        return switch (self, answer) {
        case (.show, _): nil
        case (.enter, .passkey(let passkey)): ManagementUserPasskeyReply(device, passkey: passkey.value)
        case (.enter, _): ManagementUserPasskeyNegativeReply(device)
        case (_, .yes): ManagementUserConfirmationReply(device)
        case (_, _): ManagementUserConfirmationNegativeReply(device)
        }
    }
}
