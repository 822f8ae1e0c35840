import BluetoothHost
import BluetoothHCI
import BluetoothManagement

/// Reads what a controller reports of itself, one command after the other.
//
// Lives on the loop, for one call.
struct ControllerReader {
    let commands: HCICommandQueue
    let management: ManagementClient

    nonisolated(nonsending) func read(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties {
        guard let version = try await answer(HCIReadLocalVersionInformation(), operation),
            let support = try await answer(HCIReadLocalSupportedCommands(), operation),
            let features = try await answer(LEReadLocalSupportedFeatures(), operation)
        else { throw .unreadable(operation) }
        var information = ControllerProperties(
            version, commands: support, features: features, linkCount: try await linkCount(operation))
        try await readLimits(&information, operation)
        // The kernel takes the answer for its own, and counts all buffers as free (hci_cc_le_read_buffer_size).
        if information.linkCount == 0, let buffers = try await answer(LEReadBufferSize(), operation) {
            information.buffers = .init(count: Int(buffers.count), packetLength: Int(buffers.packetLength))
        }
        return information
    }

    private nonisolated(nonsending) func readLimits(
        _ information: inout ControllerProperties, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let features = LEFeatures(rawValue: information.lowEnergyFeatures)
        information.supportedStates = try await answer(LEReadSupportedStates(), operation)
        information.filterAcceptListSize = try await answer(LEReadFilterAcceptListSize(), operation).map(Int.init)
        if features.contains(.linkLayerPrivacy) {
            information.resolvingListSize = try await answer(LEReadResolvingListSize(), operation).map(Int.init)
        }
        information.maximumDataLength = try await answer(LEReadMaximumDataLength(), operation).map {
            Int($0.transmitOctets)
        }
        // The extended commands are not for a controller on which the legacy ones are used.
        guard features.contains(.extendedAdvertising) else { return }
        let setCount = try await answer(LEReadNumberOfSupportedAdvertisingSets(), operation)
        information.advertisingSetCount = setCount.map(Int.init)
        let dataLength = try await answer(LEReadMaximumAdvertisingDataLength(), operation)
        information.maximumAdvertisingDataLength = dataLength.map(Int.init)
        if let powers = try await answer(LEReadTransmitPower(), operation), powers.minimum <= powers.maximum {
            information.transmitPowers = Int(powers.minimum)...Int(powers.maximum)
        }
    }

    /// The answer; nil if the controller refuses the command.
    private nonisolated(nonsending) func answer<Command: HCICommand>(
        _ command: Command, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Command.Return? {
        do throws(BluetoothError) {
            return try await commands.answer(to: command, operation)
        } catch {
            if error.cause?.controllerStatus != nil { return nil }
            throw error
        }
    }

    private nonisolated(nonsending) func linkCount(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int? {
        do {
            return try await management.send(ManagementGetConnections(), to: commands.index).elements.count
        } catch {
            if [.timedOut, .cancelled].contains(error.code) { throw error.about(operation) }
            return nil
        }
    }
}
