import Synchronization

/// Asks a user in words, on a terminal or wherever lines of text can be shown and answered.
///
/// Everything can be seen and entered, so that a device is never paired with unseen unless it has nothing itself.
///
/// One question is open at a time, so that an answer that is meant for one device never goes to another. A device that
/// asks meanwhile is refused, which the user is shown.
public struct TextPairingAgent: PairingAgent {
    private let show: @Sendable (String) -> Void
    private let ask: @Sendable (String) async -> String?
    private let turn = Turn()

    /// An agent with a user behind it.
    /// - Parameters:
    ///   - show: tells the user something.
    ///   - ask: tells the user something, and returns the answer; nil when there is none, which means no. The task is
    ///     cancelled when the answer is not wanted any more.
    public init(
        show: @escaping @Sendable (String) -> Void, ask: @escaping @Sendable (String) async -> String?
    ) {
        self.show = show
        self.ask = ask
    }

    /// Everything can be seen and entered.
    public var ioCapability: IOCapability { .keyboardDisplay }

    /// Asks whether to pair at all.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        await confirm("Pair with \(request.peer)?", request)
    }

    /// Asks whether the device shows the same number.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        await confirm("Does \(request.peer) show \(number.digits)?", request)
    }

    /// Asks for the number that the device shows.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        await answer(to: "The number that \(request.peer) shows:", request).flatMap { Passkey(digits: $0) }
    }

    /// Shows the number to be entered at the device.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        show("Enter \(passkey.digits) at \(request.peer).")
    }

    private func confirm(_ question: String, _ request: PairingRequest) async -> Bool {
        await answer(to: question + " [y/N]", request).map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    /// What the user says, without what surrounds it.
    private func answer(to question: String, _ request: PairingRequest) async -> String? {
        guard let number = turn.begin() else {
            show("\(request.peer) was refused, as another question was open.")
            return nil
        }
        defer { turn.end(number) }
        let answer = await withTaskCancellationHandler {
            await ask(question)
        } onCancel: {
            turn.end(number)
        }
        guard let answer, !Task.isCancelled else { return nil }
        return String(decoding: answer.utf8.filter { $0 > 0x20 }, as: UTF8.self)
    }
}

/// Whose question is open.
private final class Turn: Sendable {
    private struct State {
        var count: UInt64 = 0
        var current: UInt64?
    }

    private let state = Mutex(State())

    /// Takes the turn; nil while another has it.
    func begin() -> UInt64? {
        state.withLock { state -> UInt64? in
            guard state.current == nil else { return nil }
            state.count += 1
            state.current = state.count
            return state.count
        }
    }

    /// Gives up a turn, unless that was done already.
    func end(_ number: UInt64) {
        state.withLock { state in
            if state.current == number { state.current = nil }
        }
    }
}
