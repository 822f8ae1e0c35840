import BluetoothKernel
import BluetoothPrimitives
import Management

/// What the management socket tells of a pairing. It has no keys, only what they are worth.
enum PairingNotice: Sendable {
    case question(PairingQuestion, BluetoothAddress)
    /// Pairing failed, or a link could not be encrypted.
    case failed(BluetoothAddress)
    case keyMade(BluetoothAddress, MadeKey)

    init?(_ event: borrowing ManagementEvent) {
        switch event {
        case .userConfirmationRequest(let device, let isSimple, let value) where device.isLowEnergy:
            guard !isSimple else {
                self = .question(.confirm, device.address)
                return
            }
            guard let number = Passkey(value) else { return nil }
            self = .question(.compare(number), device.address)
        case .userPasskeyRequest(let device) where device.isLowEnergy:
            self = .question(.enter, device.address)
        case .passkeyNotify(let device, let value, let count) where device.isLowEnergy:
            guard let passkey = Passkey(value) else { return nil }
            self = .question(.show(passkey, enteredCount: Int(count)), device.address)
        case .authenticationFailed(let device, _) where device.isLowEnergy: self = .failed(device.address)
        case .newLongTermKey(let key, let isStored):
            self = .keyMade(key.address, MadeKey(kind: key.kind, isStored: isStored))
        default: return nil
        }
    }
}

/// What is known of a key that pairing made.
struct MadeKey: Sendable {
    var kind: LongTermKey.Kind
    /// Whether it is to be kept: both sides bond.
    var isStored: Bool
}

/// What pairing asks of this side.
enum PairingQuestion: Hashable, Sendable {
    case confirm
    case compare(Passkey)
    case enter
    case show(Passkey, enteredCount: Int)

    /// Whether numbers are in play, so that they may be wrong.
    var isAboutNumber: Bool { if case .confirm = self { false } else { true } }
    /// Whether the kernel waits for an answer.
    var wantsAnswer: Bool { if case .show = self { false } else { true } }

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

    /// The kernel's command for an answer; nil where it takes none.
    func command(_ answer: PairingAnswer, to peer: BluetoothAddress) -> ManagementCommand? {
        let device = ManagementAddress(peer)
        return switch (self, answer) {
        case (.show, _): nil
        case (.enter, .passkey(let passkey)): .userPasskeyReply(device, passkey: passkey.value)
        case (.enter, _): .userPasskeyNegativeReply(device)
        case (_, .yes): .userConfirmationReply(device)
        case (_, _): .userConfirmationNegativeReply(device)
        }
    }
}

/// What this side answers.
enum PairingAnswer: Hashable, Sendable {
    case yes
    case no
    case passkey(Passkey)
}
