/// Asks a user in words, on a terminal or wherever lines of text can be shown and answered.
///
/// Everything can be seen and entered, so that a device is never paired with unseen unless it has nothing itself.
public struct TextPairingAgent: PairingAgent {
    private let show: @Sendable (String) -> Void
    private let ask: @Sendable (String) async -> String?

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
        await confirm("Pair with \(request.peer)?")
    }

    /// Asks whether the device shows the same number.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        await confirm("Does \(request.peer) show \(number.digits)?")
    }

    /// Asks for the number that the device shows.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        await answer(to: "The number that \(request.peer) shows:").flatMap { Passkey(digits: $0) }
    }

    /// Shows the number to be entered at the device.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        show("Enter \(passkey.digits) at \(request.peer).")
    }

    private func confirm(_ question: String) async -> Bool {
        await answer(to: question + " [y/N]").map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    /// What the user says, without what surrounds it.
    private func answer(to question: String) async -> String? {
        await ask(question).map { String(decoding: $0.utf8.filter { $0 > 0x20 }, as: UTF8.self) }
    }
}
