import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

extension PairingEvent {
    /// The pairing event in an event of the management socket.
    package init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        if let event = try packet.as(ManagementNewLongTermKey.self) {
            let keys = PeerKeys(identity: event.key.address, longTermKeys: [event.key])
            self = .keys(keys, isStored: event.isStored)
            return
        }
        let device: ManagementAddress
        if let request = try packet.as(ManagementUserConfirmationRequest.self) {
            device = request.address
            if request.isSimple {
                self = .question(.confirm, device.address)
            } else {
                guard let number = Passkey(request.value) else { return nil }
                self = .question(.compare(number), device.address)
            }
        } else if let request = try packet.as(ManagementUserPasskeyRequest.self) {
            device = request.value
            self = .question(.enter, device.address)
        } else if let event = try packet.as(ManagementPasskeyNotify.self) {
            device = event.address
            guard let passkey = Passkey(event.passkey) else { return nil }
            self = .question(.show(passkey, enteredCount: Int(event.enteredCount)), device.address)
        } else if let event = try packet.as(ManagementAuthenticationFailed.self) {
            device = event.address
            self = .failed(device.address, .rejected)
        } else {
            return nil
        }
        guard device.isLowEnergy else { return nil }
    }
}

extension PairingQuestion {
    /// The kernel's command for an answer; nil if it expects none.
    package func command(_ answer: PairingAnswer, to peer: BluetoothAddress) -> (any ManagementCommand)? {
        let device = ManagementAddress(peer)
        return switch (self, answer) {
        case (.show, _): nil
        case (.enter, .passkey(let passkey)): ManagementUserPasskeyReply(device, passkey: passkey.value)
        case (.enter, _): ManagementUserPasskeyNegativeReply(device)
        case (_, .yes): ManagementUserConfirmationReply(device)
        case (_, _): ManagementUserConfirmationNegativeReply(device)
        }
    }
}
