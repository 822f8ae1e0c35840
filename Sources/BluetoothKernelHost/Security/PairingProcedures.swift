import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives

/// The pairings under way on one adapter: their courses, the links whose security this program raises, and the reasons of
/// their failures.
//
// Owned by the adapter's pairing; its channels use it.
final class PairingProcedures {
    private let loop: EventLoop
    let keys: KernelKeys
    private var courses = PairingCourses()
    private var raising: [WeakReference<KernelPairingProcedure>] = []
    /// The out-of-band data of devices.
    var outOfBandData: [BluetoothAddress: OutOfBandData] = [:]

    init(_ keys: KernelKeys, on loop: EventLoop) { (self.keys, self.loop) = (keys, loop) }

    /// Follows the raising of a link's security.
    func begins(_ procedure: KernelPairingProcedure) {
        raising.removeAll { $0.object == nil }
        raising.append(WeakReference(to: procedure))
    }

    /// Handles the beginning of a link, or the end of its pairing.
    func ends(_ peer: BluetoothAddress) { courses.ended(peer) }

    /// Handles a question.
    func asked(_ question: PairingQuestion, _ peer: BluetoothAddress) {
        courses.asked(question, peer, at: loop.now)
        for procedure in raising(peer) { procedure.progresses() }
    }

    /// Handles an answer.
    func answered(_ peer: BluetoothAddress) {
        courses.answered(peer, at: loop.now)
        for procedure in raising(peer) { procedure.progresses() }
    }

    /// Handles the keys of a pairing, which end it.
    func made(_ made: PeerKeys, isStored: Bool) {
        if isStored { keys.note(made.identity) }
        for peer in [made.identity, made.privateAddress].compactMap(\.self) { ends(peer) }
    }

    /// Handles the failure of a pairing, or of encryption, and returns the reason.
    func failed(_ peer: BluetoothAddress) -> PairingFailure {
        defer { ends(peer) }
        return failure([peer], since: raising(peer).last?.lastProgress)
    }

    private func raising(_ peer: BluetoothAddress) -> [KernelPairingProcedure] {
        raising.compactMap(\.object).filter { $0.peer == peer }
    }

    /// The reason why pairing has not protected a link as required.
    ///
    /// - Parameter since: the time of the last progress, for a pairing without questions.
    func failure(_ addresses: [BluetoothAddress], since: KernelInstant?) -> PairingFailure {
        let failure = courses.failure(addresses, since: since, hasKey: keys.exist(addresses), at: loop.now)
        let hasData = addresses.contains { outOfBandData[$0] != nil }
        return failure == .rejected && hasData ? .outOfBandDataRejected : failure
    }
}
