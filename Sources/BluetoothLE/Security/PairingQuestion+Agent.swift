import BluetoothHost

extension PairingQuestion {
    /// Has an agent answer.
    func answer(of agent: any PairingAgent, _ request: PairingRequest) async throws -> PairingAnswer {
        switch self {
        case .confirm: return try await agent.confirmPairing(request) ? .yes : .no
        case .compare(let number): return try await agent.compareNumber(number, request) ? .yes : .no
        case .enter: return try await agent.enterPasskey(request).map { .passkey($0) } ?? .no
        case .show(let passkey, let count):
            try await agent.showPasskey(passkey, enteredCount: count, request)
            return .yes
        }
    }
}
