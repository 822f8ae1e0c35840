import BluetoothHCI
import Testing

@testable import BluetoothKernelHost

extension OrphanedLinks {
    fileprivate mutating func answered(_ command: some HCICommand, _ status: HCIStatus) throws -> Action? {
        answered(try AnyHCICommand(command), status)
    }
}

@Suite struct OrphanedLinksTests {
    private static let create = LECreateConnection(
        scanInterval: 0x60, scanWindow: 0x60, peer: LEPeerAddress(.zero),
        parameters: LEConnectionParameters(
            intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42))

    @Test func anAttemptThatIsCancelledInTimeLeadsToNoSearch() throws {
        var lost = OrphanedLinks()
        #expect(try lost.answered(Self.create, .success) == nil)
        #expect(!lost.isNone)
        #expect(try lost.answered(LECreateConnectionCancel(), .success) == nil)
        #expect(lost.attemptEnded(.unknownConnectionIdentifier, isFollowed: false) == .rest)
        #expect(lost.isNone)
    }

    @Test func aLinkOfAnAttemptThatIsFollowedLeadsToNoSearch() throws {
        var lost = OrphanedLinks()
        _ = try lost.answered(Self.create, .success)
        #expect(lost.attemptEnded(.success, isFollowed: true) == .rest)
    }

    @Test(arguments: [true, false]) func aRefusedCancellationLeadsToOneSearch(isFollowed: Bool) throws {
        var lost = OrphanedLinks()
        _ = try lost.answered(Self.create, .success)
        // The controller reports the link before or after it refuses.
        let link = lost.attemptEnded(.success, isFollowed: isFollowed)
        #expect(link == (isFollowed ? .rest : .search))
        #expect(try lost.answered(LECreateConnectionCancel(), .commandDisallowed) == (isFollowed ? .search : nil))
        #expect(!lost.isNone)
        lost.searched()
        #expect(lost.isNone)

        _ = try lost.answered(Self.create, .success)
        #expect(try lost.answered(LECreateConnectionCancel(), .commandDisallowed) == .search)
        #expect(lost.attemptEnded(.success, isFollowed: isFollowed) == nil)
    }

    @Test func anAttemptIsAwaitedForALimitedTime() throws {
        var lost = OrphanedLinks()
        #expect(!lost.awaitsAttempt)
        _ = try lost.answered(Self.create, .success)
        #expect(lost.awaitsAttempt)
        // The search has its own limit.
        #expect(try lost.answered(LECreateConnectionCancel(), .commandDisallowed) == .search)
        #expect(!lost.awaitsAttempt)
        lost.searched()
        #expect(lost.awaitsAttempt)
        lost.attemptExpired()
        #expect(lost.isNone)
        #expect(lost.attemptEnded(.success, isFollowed: false) == nil)
    }

    @Test func anAttemptThatIsRefusedIsNone() throws {
        var lost = OrphanedLinks()
        #expect(try lost.answered(Self.create, .commandDisallowed) == nil)
        #expect(lost.isNone)
        #expect(lost.attemptEnded(.success, isFollowed: false) == nil)
    }
}
