import TestSupport
import Testing

@testable import LINBLE

@Suite struct OutgoingBytesTests {
    private enum Input: Hashable {
        case append(Int)
        case open(OutgoingBytes.Confirmation)
        case offer, accepted, confirmed, notSent, requested, received, ended
    }

    /// A machine with what its surroundings know.
    private struct State: Hashable {
        var bytes = OutgoingBytes(
            capacity: 3, limits: .init(chunksPerConfirmation: 2, chunksInFlight: 3))
        /// The number of bytes that the buffer has taken.
        var appended = 0
        /// The number of bytes that links have reported as accepted or confirmed.
        var handedOver = 0
        /// The length of the chunk without an outcome.
        var offered = 0
        var isOnline = false
    }

    private static let inputs: [Input] = [
        .append(1), .append(2), .append(5), .open(.byResponse), .open(.byLaterRequest), .offer, .accepted, .confirmed,
        .notSent, .requested, .received, .ended,
    ]

    private static func perform(_ input: Input, on state: inout State) {
        let (before, former) = (state.bytes, state)
        switch input {
        case .append(let count):
            // Each byte is its number.
            let bytes = (state.appended..<state.appended + count).map { UInt8(truncatingIfNeeded: $0) }
            let taken = state.bytes.append(bytes[...])
            #expect(taken == min(count, 3 - before.buffered))
            state.appended += taken
        case .open(let confirmation):
            state.bytes.linkOpened(confirmation)
            state.isOnline = true
        case .offer:
            let chunk = state.bytes.offerChunk(limit: 2)
            #expect((chunk != nil) == before.hasChunk)
            #expect(chunk == nil || state.offered == 0 && state.isOnline)
            if let chunk {
                // The next bytes that no link has had, in order.
                #expect(chunk.first == UInt8(truncatingIfNeeded: state.handedOver))
                #expect(chunk == (0..<chunk.count).map { UInt8(truncatingIfNeeded: state.handedOver + $0) })
                state.offered = chunk.count
            }
        case .accepted: state.bytes.chunkAccepted()
        case .confirmed:
            state.bytes.chunkConfirmed()
            #expect(state.bytes.confirmed == before.confirmed + former.offered)
        case .notSent:
            state.bytes.chunkNotSent()
            state.offered = 0
            #expect(state.bytes.buffered == before.buffered && state.bytes.sent == before.sent)
        case .requested: state.bytes.confirmationRequested()
        case .received:
            state.bytes.confirmationReceived()
            #expect(state.bytes.confirmed >= before.confirmed)
        case .ended:
            let lost = state.bytes.linkEnded()
            state.isOnline = false
            #expect(lost == before.inFlight + former.offered)
            #expect(state.bytes.unconfirmed == before.unconfirmed + lost && state.bytes.inFlight == 0)
        }
        if [.accepted, .confirmed, .ended].contains(input) {
            state.handedOver += former.offered
            state.offered = 0
        }
    }

    private static func check(_ state: State, _ path: [Input]) {
        let bytes = state.bytes
        #expect(bytes.sent == state.handedOver, "\(path)")
        #expect(bytes.sent + bytes.buffered == state.appended, "\(path)")
        #expect(bytes.end == state.appended && bytes.settled <= bytes.sent, "\(path)")
        #expect(bytes.inFlight >= 0 && bytes.confirmed >= 0 && bytes.buffered <= 3, "\(path)")
        #expect(bytes.isOnline == state.isOnline, "\(path)")
        #expect(bytes.isOnline || !bytes.hasChunk && !bytes.needsConfirmation && bytes.inFlight == 0, "\(path)")
    }

    @Test func everyInputInEveryStateKeepsTheCounts() throws {
        let reached = try explore(from: State(), depth: 10, inputs: { _ in Self.inputs }) { state, input, path in
            Self.perform(input, on: &state)
            Self.check(state, path + [input])
        }
        #expect(reached.count > 1000)
        #expect(reached.contains { $0.state.bytes.needsConfirmation && $0.state.bytes.buffered > 0 })
    }

    @Test func aConfirmationIsRequestedWhenNothingWaitsOrEnoughIsInFlight() {
        var bytes = OutgoingBytes(capacity: 100, limits: .init(chunksPerConfirmation: 2, chunksInFlight: 3))
        bytes.linkOpened(.byLaterRequest)
        #expect(!bytes.needsConfirmation)
        #expect(bytes.append([1, 2, 3, 4, 5, 6]) == 6)
        for isNeeded in [false, true, false] {
            #expect(bytes.offerChunk(limit: 1)?.count == 1)
            bytes.chunkAccepted()
            #expect(bytes.needsConfirmation == isNeeded)
            if isNeeded { bytes.confirmationRequested() }
        }
        // Three are in flight, two of which the request covers.
        #expect(!bytes.hasChunk && bytes.offerChunk(limit: 1) == nil)
        bytes.confirmationReceived()
        #expect(bytes.confirmed == 2 && bytes.inFlight == 1 && bytes.hasChunk && !bytes.needsConfirmation)
        #expect(bytes.offerChunk(limit: 10) == [4, 5, 6])
        bytes.chunkAccepted()
        #expect(bytes.needsConfirmation)
        bytes.confirmationRequested()
        bytes.confirmationReceived()
        #expect(bytes.confirmed == 6 && bytes.settled == bytes.end)
    }

    @Test func whatALinkHasNotHadGoesToTheNext() {
        var bytes = OutgoingBytes(capacity: 10)
        #expect(bytes.append([1, 2, 3, 4]) == 4)
        bytes.linkOpened(.byResponse)
        #expect(bytes.offerChunk(limit: 2) == [1, 2])
        bytes.chunkConfirmed()
        #expect(bytes.offerChunk(limit: 1) == [3])
        bytes.chunkAccepted()
        #expect(bytes.offerChunk(limit: 1) == [4])
        bytes.chunkNotSent()
        #expect(bytes.linkEnded() == 1)
        #expect(bytes.offerChunk(limit: 1) == nil)
        bytes.linkOpened(.byLaterRequest)
        #expect(bytes.offerChunk(limit: 10) == [4])
        bytes.chunkAccepted()
        #expect(bytes.linkEnded() == 1)
        #expect((bytes.sent, bytes.confirmed, bytes.unconfirmed) == (4, 2, 2))
    }
}
