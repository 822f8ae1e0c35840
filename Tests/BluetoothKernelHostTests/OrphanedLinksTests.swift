import BluetoothHCI
import Testing

@testable import BluetoothKernelHost

@Suite struct OrphanedLinksTests {
    private static let create = HCICommand.leCreateConnection(
        LECreateConnectionParameters(
            scanInterval: 0x60, scanWindow: 0x60, peer: LEPeerAddress(.zero),
            parameters: LEConnectionParameters(
                intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42)))

    @Test func anAttemptThatIsCancelledInTimeLeadsToNoSearch() {
        var lost = OrphanedLinks()
        #expect(lost.answered(Self.create, .success) == nil)
        #expect(!lost.isNone)
        #expect(lost.answered(.leCreateConnectionCancel, .success) == nil)
        #expect(lost.attemptEnded(.unknownConnectionIdentifier, isFollowed: false) == .rest)
        #expect(lost.isNone)
    }

    @Test func aLinkOfAnAttemptThatIsFollowedLeadsToNoSearch() {
        var lost = OrphanedLinks()
        _ = lost.answered(Self.create, .success)
        #expect(lost.attemptEnded(.success, isFollowed: true) == .rest)
    }

    @Test(arguments: [true, false]) func aRefusedCancellationLeadsToOneSearch(isFollowed: Bool) {
        var lost = OrphanedLinks()
        _ = lost.answered(Self.create, .success)
        // The controller reports the link before or after it refuses.
        let link = lost.attemptEnded(.success, isFollowed: isFollowed)
        #expect(link == (isFollowed ? .rest : .search))
        #expect(lost.answered(.leCreateConnectionCancel, .commandDisallowed) == (isFollowed ? .search : nil))
        #expect(!lost.isNone)
        lost.searched()
        #expect(lost.isNone)

        _ = lost.answered(Self.create, .success)
        #expect(lost.answered(.leCreateConnectionCancel, .commandDisallowed) == .search)
        #expect(lost.attemptEnded(.success, isFollowed: isFollowed) == nil)
    }

    @Test func anAttemptIsAwaitedForALimitedTime() {
        var lost = OrphanedLinks()
        #expect(!lost.awaitsAttempt)
        _ = lost.answered(Self.create, .success)
        #expect(lost.awaitsAttempt)
        // The search has its own limit.
        #expect(lost.answered(.leCreateConnectionCancel, .commandDisallowed) == .search)
        #expect(!lost.awaitsAttempt)
        lost.searched()
        #expect(lost.awaitsAttempt)
        lost.attemptExpired()
        #expect(lost.isNone)
        #expect(lost.attemptEnded(.success, isFollowed: false) == nil)
    }

    @Test func anAttemptThatIsRefusedIsNone() {
        var lost = OrphanedLinks()
        #expect(lost.answered(Self.create, .commandDisallowed) == nil)
        #expect(lost.isNone)
        #expect(lost.attemptEnded(.success, isFollowed: false) == nil)
    }
}
