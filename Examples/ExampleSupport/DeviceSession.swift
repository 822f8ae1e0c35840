import BluetoothLE
import Synchronization

extension CommonOptions {
    /// The name of the device that --simulate selects if none is given.
    public static let simulatedDevice = SimulatedSensor.name

    /// Connects to the device that -n or -a selects, runs `body`, and disconnects in any case.
    ///
    /// With --security or --passkey the link is protected first. Otherwise, if the device refuses an unprotected request,
    /// a user at a terminal is asked whether to pair; without a terminal the error names the command that pairs.
    public func withConnection<Value: Sendable>(
        _ console: Console, isPairing: Bool = false, isOnLoop: Bool = false,
        _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console) { adapter in
            try await withConnection(on: adapter, console, isPairing: isPairing, isOnLoop: isOnLoop, body)
        }
    }

    /// As ``withConnection(_:isPairing:isOnLoop:_:)``, on an open adapter.
    public func withConnection<Value: Sendable>(
        on adapter: Adapter, _ console: Console, isPairing: Bool = false, isOnLoop: Bool = false,
        _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        let address = try await findDevice(on: adapter, console)
        console.detail("connecting to \(address) (\(address.kind))")
        try await preparePairing(on: adapter, console, always: isPairing)
        let connection = try await connect(to: address, on: adapter, isPairing: isPairing)
        let mtu = await connection.maximumTransmissionUnit
        console.detail("connected, ATT_MTU \(mtu)")
        let result: Result<Value, any Error>
        do {
            result = .success(
                isOnLoop ? try await adapter.run { try await body(connection) } : try await body(connection))
        } catch {
            result = .failure(await namingPairing(error, on: connection))
        }
        // Without waiting: the kernel ends the link, also after the program.
        await connection.disconnect(timeout: .zero)
        return try result.get()
    }

    private func connect(
        to address: BluetoothAddress, on adapter: Adapter, isPairing: Bool
    ) async throws(BluetoothError) -> Connection {
        var options = ConnectionOptions(timeout: timeout(or: .seconds(30)))
        options.security.policy = .ask
        if !isPairing { options.security.level = security?.level ?? (passkey == nil ? nil : .high) }
        do {
            return try await adapter.connect(to: address, options: options)
        } catch {
            guard error.code == .timedOut, addressType != .auto else { throw error }
            var error = error
            error.remedy = Self.addressTypeHint(address)
            throw error
        }
    }

    /// The remedy for a connection attempt that timed out with an address type from the command line.
    static func addressTypeHint(_ address: BluetoothAddress) -> String {
        "Is it on, in range, and is its address really \(address.kind)? Without --address-type, the type is taken from its "
            + "advertisements."
    }

    /// The address of the device; a scan finds it unless address and address type are both given.
    private func findDevice(on adapter: Adapter, _ console: Console) async throws -> BluetoothAddress {
        let wanted = address.flatMap { BluetoothAddress($0, kind: addressType.kind ?? .random) }
        if let wanted, addressType != .auto { return wanted }
        let name = self.name ?? (wanted == nil ? Self.simulatedDevice : nil)
        let device = wanted.map { "with the address \($0)" } ?? name.map { "named '\(printable($0))'" } ?? ""
        console.detail("looking for a device \(device)")
        let (limit, seen) = (timeout(or: .seconds(10)), SeenDevices())
        let found: Advertisement
        do throws(BluetoothError) {
            found = try await adapter.firstAdvertisement(timeout: limit) { advertisement in
                guard let address = advertisement.address else { return false }
                let isMatch = wanted.map { $0.value == address.value } ?? (advertisement.localName == name)
                seen.record(advertisement, isMatch: isMatch)
                return isMatch && advertisement.isConnectable
            }
        } catch {
            guard error.code != .notFound else { throw seen.notFound(device, within: limit) }
            guard error.code == .notPermitted, wanted != nil else { throw error }
            var error = error
            error.remedy =
                "To connect without scanning, give --address-type random or public. "
                + (error.remedy.map { "To scan: \($0)" } ?? "")
            throw error
        }
        console.detail("found \(found.summary)")
        guard let address = found.address else { throw seen.notFound(device, within: limit) }
        return address
    }

    /// Rejects a command line with no device, or with both a name and an address.
    public func validateDevice() throws {
        switch (name, address) {
        case (nil, nil) where !simulate:
            throw ProgramError(
                .usage, "Name the device: -n NAME or -a ADDRESS.", remedy: "List the devices with: ble scan")
        case (_?, _?): throw ProgramError(.usage, "Give either a name (-n) or an address (-a), not both.")
        default: break
        }
    }
}

/// The devices that a search has seen, for the error if it fails.
private final class SeenDevices: Sendable {
    private struct State {
        var names: Set<String> = []
        /// The addresses of those without a name.
        var addresses: Set<BluetoothAddress> = []
        var hasMatch = false
    }

    private static let limit = 8

    private let state = Mutex(State())

    /// Records the advertiser by its name, and by its address until a name is received.
    func record(_ advertisement: Advertisement, isMatch: Bool) {
        guard let address = advertisement.address else { return }
        state.withLock { state in
            if let name = advertisement.localName {
                state.addresses.remove(address)
                state.names.insert(name)
            } else if state.addresses.count <= Self.limit {
                state.addresses.insert(address)
            }
            if isMatch { state.hasMatch = true }
        }
    }

    /// The error of a search without result.
    func notFound(_ device: String, within limit: Duration) -> ProgramError {
        let (names, hasMatch) = state.withLock { state in
            (state.names.sorted() + state.addresses.map { "\($0)" }.sorted(), state.hasMatch)
        }
        if hasMatch {
            return ProgramError(
                .notFound, "The device \(device) advertises, but does not accept connections.",
                remedy: "Beacons never do, and other devices may not while they are connected. See: ble scan")
        }
        let seen = names.prefix(Self.limit).map { printable($0) } + (names.count > Self.limit ? ["…"] : [])
        let seconds = limit / .seconds(1)
        let time = formatDecimal(seconds, digits: seconds == seconds.rounded() ? 0 : 1)
        return ProgramError(
            .notFound, "No device \(device) advertised within \(time) s.",
            remedy: seen.isEmpty
                ? "No device was seen. Is it on, in range, and not connected to another central?"
                : "Seen: \(seen.joined(separator: ", ")) (ble scan shows all)\n"
                    + "Is it on, in range, and not connected to another central? Many devices stop advertising then.")
    }
}
