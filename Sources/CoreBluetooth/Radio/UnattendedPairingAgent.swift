import BluetoothLE
import Logging

/// The default pairing agent, for programs that set none and have no user who sees or enters a number.
///
/// Peripherals that this program has connected to may pair: one that it reads from could cause that in any case, by
/// refusing. Centrals that connect to this program are unknown, and refused.
struct UnattendedPairingAgent: PairingAgent {
    private weak let radio: Radio?

    init(_ radio: Radio) {
        self.radio = radio
    }

    func confirmPairing(_ request: PairingRequest) async -> Bool {
        guard let radio else { return false }
        if request.bond == nil, await radio.isConnectedFromHere(request.peer) { return true }
        coreBluetoothLog.notice(
            "\(request.peer.digits) may not pair. BLUETOOTH_PAIRING=accept accepts every device; CBLinux.use(pairingAgent:) sets an agent that decides."
        )
        return false
    }
}
