import Testing

import BluetoothGATT

/// Every input of a bearer's core in every state of its channel, with and without outstanding transactions.
@Suite struct EveryInputTests {
    enum State: CaseIterable { case ready, full, ended, closed }

    /// The transactions at the beginning of the state.
    enum Work: CaseIterable { case nothing, ours, peers, held }

    enum Input: CaseIterable {
        case writable, full, channelEnded, read, command, commandAtOnce, notify, indicate, answer, unexpectedResponse
        case unexpectedResponses, malformedAnswer, confirmation, peersValue, peersIndication, peersRequest,
            peersDynamicRequest, peersCommand
        case programAnswer, giveUp, serviceChanged, held, late, close
    }

    @Test("the following state, one end for each operation, and no step after the end", arguments: State.allCases)
    func everyInput(state: State) throws {
        for work in Work.allCases {
            for input in Input.allCases {
                let fixture = try make(state, work)
                let before = fixture.core.sending
                let sentBefore = fixture.sent.count
                let callers = submissions(to: fixture)
                enter(state, fixture)
                apply(input, to: fixture)
                fixture.run()
                let text = "\(input) in \(state) with \(work) under way"
                #expect(fixture.core.sending == expected(input, in: state, work, before), "\(text)")
                let maySend = state == .ready || (input == .writable && state != .ended && state != .closed)
                if !maySend { #expect(fixture.sent.count == sentBefore, "\(text)") }
                _ = fixture.core.close()
                let afterwards = fixture.run().filter { !$0.contains("timer") }
                #expect(afterwards == [], "\(text)")
                for caller in callers { #expect(caller() != nil, "\(text)") }
            }
        }
    }

    private func make(_ state: State, _ work: Work) throws -> CoreFixture {
        let fixture = try CoreFixture()
        fixture.receive("12 0700 0300")
        fixture.receive("12 FFFF 0200")
        switch work {
        case .nothing: break
        case .ours:
            fixture.read(0x0003, "under way")
            fixture.indicate("01", "under way")
        case .peers: fixture.receive("0A 4000")
        case .held: fixture.core.channelHolds()
        }
        fixture.run()
        return fixture
    }

    /// Submits one operation of each kind; each closure returns how it ended.
    private func submissions(to fixture: CoreFixture) -> [() -> String?] {
        fixture.channel = .isFull
        let command = fixture.submitCommand("02", "waiting")
        let read = fixture.read(0x0005, "waiting")
        let indication = fixture.indicate("03", "waiting")
        return [{ command.ending }, { read.ending }, { indication.ending }]
    }

    private func enter(_ state: State, _ fixture: CoreFixture) {
        fixture.channel = .takes
        switch state {
        case .ready: break
        case .full: fixture.core.channelIsFull()
        case .ended: fixture.core.channelEnded()
        case .closed: _ = fixture.core.close()
        }
        fixture.run()
    }

    private func expected(
        _ input: Input, in state: State, _ work: Work, _ before: ATTBearerCore.SendState
    ) -> ATTBearerCore.SendState {
        // The end is final.
        if state == .ended || state == .closed { return .ended }
        switch input {
        case .channelEnded, .late, .close: return .ended
        // Too many count only while a request is outstanding. When the channel accepts packets, one of the new ones is
        // sent.
        case .unexpectedResponses where work == .ours || (state == .ready && work != .held): return .ended
        case .writable: return .ready
        case .full where state == .ready: return .full
        default: break
        }
        switch state {
        case .ready: return .ready
        case .full: return .full
        case .ended, .closed: return .ended
        }
    }

    private func apply(_ input: Input, to fixture: CoreFixture) {
        switch input {
        case .writable: fixture.core.channelIsWritable()
        case .full: fixture.core.channelIsFull()
        case .channelEnded: fixture.core.channelEnded()
        case .read: fixture.read(0x0007, "input")
        case .command: fixture.submitCommand("04", "input")
        case .commandAtOnce: _ = fixture.command([5])
        case .notify: fixture.notify("06", "input")
        case .indicate: fixture.indicate("07", "input")
        case .answer: fixture.receive("0B 01")
        case .unexpectedResponse: fixture.receive("13")
        case .unexpectedResponses: for _ in 0..<16 { fixture.receive("13") }
        case .malformedAnswer: fixture.receive("01 0A")
        case .confirmation: fixture.receive("1E")
        case .peersValue: fixture.receive("1B 0300 01")
        case .peersIndication: fixture.receive("1D 0300 01")
        case .peersRequest: fixture.receive("0A 0600")
        case .peersDynamicRequest: fixture.receive("0A 4000")
        case .peersCommand: fixture.receive("52 1500 01")
        case .programAnswer: fixture.answer([1])
        case .giveUp: fixture.giveUp()
        case .serviceChanged: fixture.change(1, 3)
        case .held: fixture.core.channelHolds()
        case .late: fixture.timeOut()
        case .close: _ = fixture.core.close()
        }
    }
}
