import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSockets

// Pairing with out-of-band data. The kernel has it for Secure Connections only: it refuses the values of legacy pairing.
extension KernelPairing {
    package var outOfBandMethods: OutOfBandMethods { .secureConnections }

    /// The kernel refuses a higher level for which the capabilities do not suffice, before it looks at the data.
    package var outOfBandLevel: SecurityLevel { settings.ioCapability == .noInputNoOutput ? .medium : .high }

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

    package nonisolated(nonsending) func setOutOfBandData(
        _ data: OutOfBandData, of peer: BluetoothAddress, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        do throws(BluetoothError) {
            _ = try await send(
                ManagementAddRemoteOutOfBandData(
                    ManagementAddress(peer), confirmation: data.confirmation, random: data.random))
        } catch {
            throw error.about(operation)
        }
    }

    package func restoreOutOfBandData(_ data: OutOfBandData, of peer: BluetoothAddress) {
        post(
            ManagementAddRemoteOutOfBandData(
                ManagementAddress(peer), confirmation: data.confirmation, random: data.random))
    }

    package func removeOutOfBandData(of peer: BluetoothAddress) {
        // Remove Remote OOB Data is for BR/EDR only; values of zero count as none.
        post(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), confirmation: .zero, random: .zero))
    }
}
