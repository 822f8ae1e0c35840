import BluetoothHost
import BluetoothLoop
import BluetoothHCI
import BluetoothManagement

/// Reads what a controller reports of itself, one command after the other.
//
// Lives on the loop, for one call.
struct ControllerReader {
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let loop: EventLoop

    init(_ commands: HCICommandQueue, _ management: ManagementClient, on loop: EventLoop) {
        (self.commands, self.management, self.loop) = (commands, management, loop)
    }

    nonisolated(nonsending) func read(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties {
        guard case .versionInformation(let version)? = try await answer(.readLocalVersionInformation, operation),
            case .supportedCommands(let support)? = try await answer(.readLocalSupportedCommands, operation),
            case .leFeatures(let features)? = try await answer(.leReadLocalSupportedFeatures, operation)
        else { throw .unreadable(operation) }
        var information = ControllerProperties(
            version, commands: support, features: features, linkCount: try await linkCount(operation))
        try await readLimits(&information, operation)
        // The kernel takes the answer for its own, and counts all buffers as free (hci_cc_le_read_buffer_size).
        if information.linkCount == 0,
            case .leBuffers(let length, let count)? = try await answer(plain(.leReadBufferSize), operation)
        {
            information.buffers = .init(count: Int(count), packetLength: Int(length))
        }
        return information
    }

    private nonisolated(nonsending) func readLimits(
        _ information: inout ControllerProperties, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        if case .supportedStates(let states)? = try await answer(plain(.leReadSupportedStates), operation) {
            information.supportedStates = states
        }
        if case .listSize(let size)? = try await answer(plain(.leReadFilterAcceptListSize), operation) {
            information.filterAcceptListSize = Int(size)
        }
        if LEFeatures(rawValue: information.lowEnergyFeatures).contains(.linkLayerPrivacy),
            case .listSize(let size)? = try await answer(plain(.leReadResolvingListSize), operation)
        {
            information.resolvingListSize = Int(size)
        }
        if case .maximumDataLength(let octets)? = try await answer(plain(.leReadMaximumDataLength), operation) {
            information.maximumDataLength = Int(octets)
        }
        // The extended commands are not for a controller on which the legacy ones are used.
        guard LEFeatures(rawValue: information.lowEnergyFeatures).contains(.extendedAdvertising) else { return }
        if case .numberOfSupportedAdvertisingSets(let count)? = try await answer(
            .leReadNumberOfSupportedAdvertisingSets, operation)
        {
            information.advertisingSetCount = Int(count)
        }
        if case .maximumAdvertisingDataLength(let length)? = try await answer(
            .leReadMaximumAdvertisingDataLength, operation)
        {
            information.maximumAdvertisingDataLength = Int(length)
        }
        if case .transmitPowers(let least, let greatest)? = try await answer(plain(.leReadTransmitPower), operation),
            least <= greatest
        {
            information.transmitPowers = Int(least)...Int(greatest)
        }
    }

    private func plain(_ opcode: HCIOpcode) -> HCICommand { .unknown(opcode, parameters: []) }

    /// The answer; nil if the controller refuses the command.
    private nonisolated(nonsending) func answer(
        _ command: HCICommand, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> HCIReturnParameters? {
        let call = Promise<HCIReturnParameters, BluetoothError>()
        commands.send(command) { call.resolve($0.mapError { $0.about(operation) }) }
        do throws(BluetoothError) {
            return try await call.value(operation, timeout: .seconds(10), on: loop)
        } catch {
            if case .controller = error.cause { return nil }
            throw error
        }
    }

    private nonisolated(nonsending) func linkCount(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int? {
        let call = Promise<Int?, BluetoothError>()
        management.post(.getConnections, to: commands.index) { answer in
            guard case .success(.connections(let all)) = answer else {
                call.succeed(nil)
                return
            }
            call.succeed(all.count)
        }
        return try await call.value(operation, timeout: .seconds(10), on: loop)
    }
}
