import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

extension Link {
    /// Begins to send a value to the peer; nil when it has not subscribed.
    func beginSending(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) -> Promise<Void, BluetoothError>? {
        let operation = BluetoothError.Operation(sending: kind, to: peer, of: characteristic)
        guard let bearer = try? bearer(for: operation),
            bearer.client.configurations[characteristic]?.isSuperset(of: kind) == true
        else { return nil }
        let message = ValueCall(value, of: characteristic, operation, on: bearer)
        if kind == .notification {
            if isBehind, bearer.core.isCongested {
                message.call.fail(
                    BluetoothError(
                        .busy, operation, "The link has not taken an earlier value yet, so this one is not sent.",
                        isRetryable: true))
                return message.call
            }
            isBehind = false
        }
        bearer.submit(message, as: kind)
        return message.call
    }

    /// The link did not take a value in time.
    func fallsBehind() {
        isBehind = (try? bearer(for: .init("notify", peer: peer)))?.core.isCongested ?? false
    }
}

extension BluetoothError.Operation {
    /// Sending a value of ours as a notification or an indication.
    init(sending kind: ClientCharacteristicConfiguration, to peer: BluetoothAddress, of handle: AttributeHandle) {
        self.init(kind == .notification ? "notify" : "indicate", peer: peer, attribute: handle)
    }
}
