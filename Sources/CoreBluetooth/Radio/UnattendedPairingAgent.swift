import BluetoothLE
import Logging

/// Answers what pairing asks where the program has chosen nobody, and nobody sees or enters anything.
///
/// What this program has connected to may pair: a peripheral that it reads from could have that in any case, by refusing.
/// Who connects to this program is not known, and is refused.
struct UnattendedPairingAgent: PairingAgent {
    private weak let radio: Radio?

    init(_ radio: Radio) {
        self.radio = radio
    }

    func confirmPairing(_ request: PairingRequest) async -> Bool {
        guard let radio else { return false }
        if await radio.isConnectedFromHere(request.peer) { return true }
        radio.log.notice(
            "\(request.peer) may not pair. BLUETOOTH_PAIRING=accept lets everybody, CBLinux.use(pairingAgent:) has it decided."
        )
        return false
    }
}
