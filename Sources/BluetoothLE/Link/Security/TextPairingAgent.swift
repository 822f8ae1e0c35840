import Synchronization

/// An agent that asks a user in words, on a terminal or wherever lines of text can be shown and answered.
///
/// Its capability is keyboard and display, so pairing is authenticated unless the device has neither.
///
/// Only one question is open at a time, so that an answer never reaches another device's pairing. A device that asks
/// meanwhile is refused, and the user notified.
public struct TextPairingAgent: PairingAgent {
    private let show: @Sendable (String) -> Void
    private let ask: @Sendable (String) async -> String?
    private let turn = Turn()

    /// Creates an agent for a user.
    /// - Parameters:
    ///   - show: shows a line of text.
    ///   - ask: shows a line of text and returns the answer; nil means no. The task is cancelled when the answer is no
    ///     longer needed.
    public init(
        show: @escaping @Sendable (String) -> Void, ask: @escaping @Sendable (String) async -> String?
    ) {
        self.show = show
        self.ask = ask
    }

    /// Keyboard and display.
    public var ioCapability: IOCapability { .keyboardDisplay }

    /// Asks the user to confirm the pairing.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        await confirm("Pair with \(request.peer.digits)\(request.replacement)?", request)
    }

    /// Asks the user whether the device shows the same number.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        await confirm("Does \(request.peer.digits)\(request.replacement) show \(number.digits)?", request)
    }

    /// Asks the user for the number that the device shows.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        await answer(to: "The number that \(request.peer.digits)\(request.replacement) shows:", request).flatMap {
            Passkey(digits: $0)
        }
    }

    /// Shows the number to enter at the device.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        show("Enter \(passkey.digits) at \(request.peer.digits)\(request.replacement).")
    }

    private func confirm(_ question: String, _ request: PairingRequest) async -> Bool {
        await answer(to: question + " [y/N]", request).map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    /// The user's answer without white space.
    private func answer(to question: String, _ request: PairingRequest) async -> String? {
        guard let number = turn.begin() else {
            show("\(request.peer.digits) was refused, as another question was open.")
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

extension PairingRequest {
    /// The consequence of the pairing for a bond.
    fileprivate var replacement: String {
        bond == nil ? "" : " (bonded, but without its key: it was reset, or is another device)"
    }
}

/// A lock for the one open question.
private final class Turn: Sendable {
    private struct State {
        var count: UInt64 = 0
        var current: UInt64?
    }

    private let state = Mutex(State())

    /// Locks and returns a key; nil while another question is open.
    func begin() -> UInt64? {
        state.withLock { state -> UInt64? in
            guard state.current == nil else { return nil }
            state.count += 1
            state.current = state.count
            return state.count
        }
    }

    /// Unlocks, unless that was done already.
    func end(_ number: UInt64) {
        state.withLock { state in
            if state.current == number { state.current = nil }
        }
    }
}
