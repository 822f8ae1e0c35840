import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSockets

// Pairing with out-of-band data. The kernel has it for Secure Connections only: it refuses the values of legacy pairing.
extension KernelPairing {
    package nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData {
        let reply: ManagementReadLocalOutOfBandExtendedData.Reply
        do throws(BluetoothError) {
            reply = try await send(ManagementReadLocalOutOfBandExtendedData(.lowEnergy))
        } catch {
            if error.cause == .management(.notSupported) {
                // Although LE does not use it, and the values of other devices are accepted.
                throw BluetoothError(
                    .unsupported, operation,
                    "The kernel creates out-of-band data only for a controller with Secure Simple Pairing, which a controller without "
                        + "BR/EDR lacks.",
                    remedy: "Use a dual-mode adapter (ble adapters), or transfer data in the opposite direction, which "
                        + "suffices: ble pair --oob",
                    cause: error.cause)
            }
            guard error.cause == .management(.rejected) else { throw error.about(operation) }
            // The peer would have to know the private address in advance.
            throw BluetoothError(
                .unsupported, operation,
                "The kernel creates no out-of-band data while this adapter uses private addresses.",
                remedy: BluetoothError.remedy(inCode: "Adapter.open(privacy: .off).", orRun: "oob --privacy off"),
                cause: error.cause)
        }
        guard let data = try? OutOfBandData(reply.structures) else {
            throw BluetoothError(
                .unsupported, operation, "The kernel has no values for Secure Connections on this adapter.",
                remedy: "In code, out-of-band data needs Secure Connections: setPairingAgent(_:secureConnections: .on)."
            )
        }
        return data
    }
}
