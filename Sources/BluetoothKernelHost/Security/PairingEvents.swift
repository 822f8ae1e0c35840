import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

extension PairingEvent {
    /// The pairing event in an event of the management socket.
    package init?(_ event: borrowing ManagementEvent) {
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

extension PairingQuestion {
    /// The kernel's command for an answer; nil if it expects none.
    package func command(_ answer: PairingAnswer, to peer: BluetoothAddress) -> ManagementCommand? {
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
