import BluetoothLE

extension CommonOptions {
    /// The name of the device that --simulate selects if none is given.
    public static let simulatedDevice = SimulatedSensor.name

    /// Connects to the device that -n or -a selects, runs `body`, and disconnects in any case.
    ///
    /// With --security or --passkey the link is protected first. Otherwise, if the device refuses an unprotected request,
    /// a user at a terminal is asked whether to pair; without a terminal the error names the command that pairs.
    public func withConnection<Value: Sendable>(
        _ console: Console, link settings: RequestedSettings = RequestedSettings(), isPairing: Bool = false,
        isOnLoop: Bool = false, _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        // Pairing stays with an adapter.
        guard !isPairing else {
            return try await withAdapter(console) { adapter in
                try await withConnection(
                    on: adapter, console, link: settings, isPairing: true, isOnLoop: isOnLoop, body)
            }
        }
        return try await withRadio(console) { radio in
            try await withConnection(on: radio, console, link: settings, isOnLoop: isOnLoop, body)
        }
    }

    /// As ``withConnection(_:link:isPairing:isOnLoop:_:)``, on open adapters.
    public func withConnection<Value: Sendable>(
        on radio: ChosenRadio, _ console: Console, link settings: RequestedSettings = RequestedSettings(),
        isPairing: Bool = false, isOnLoop: Bool = false, _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        let connection = try await openConnection(on: radio, console, link: settings, isPairing: isPairing).connection
        return try await use(connection) { connection in
            isOnLoop ? try await radio.run { try await body(connection) } : try await body(connection)
        }
    }

    /// Runs `body`, and disconnects in any case.
    private func use<Value: Sendable>(
        _ connection: Connection, _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(connection))
        } catch {
            result = .failure(await namingPairing(error, on: connection))
        }
        // Without waiting: the kernel ends the link, also after the program.
        await connection.disconnect(timeout: .zero)
        return try result.get()
    }

    /// Connects as ``withConnection(_:link:isPairing:isOnLoop:_:)`` does, and again whenever a link is lost, until `body`
    /// returns or fails otherwise. The device and the adapters are waited for. Once found, the device stays the same if its
    /// address does.
    public func keepingConnection(
        _ console: Console, link settings: RequestedSettings,
        _ body: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        try await withRadio(console, whileAbsent: { console.message("waiting for the adapter: \($0.message)") }) {
            radio in
            var (device, last) = (self, "")
            while true {
                do {
                    let connection = try await device.openConnection(on: radio, console, link: settings).connection
                    if connection.peer.isIdentity, device.identified.irk == nil { device.setDevice(connection.peer) }
                    last = ""
                    return try await device.use(connection, body)
                } catch {
                    guard !Task.isCancelled, let reason = Self.transientReason(of: error) else { throw error }
                    // The same failure of several attempts is told once.
                    if reason != last { console.message(console.messages.yellow("\(reason) Trying again.")) }
                    last = reason
                    try await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// The message of an error that may be over at the next attempt; nil for others.
    private static func transientReason(of error: any Error) -> String? {
        if let error = error as? ProgramError { return error.status == .notFound ? error.message : nil }
        guard let error = error as? BluetoothError else { return nil }
        return error.isRetryable || error.isAdapterAbsent || error.code == .disconnected ? error.message : nil
    }

    /// Finds the device that -n or -a selects, and connects to it with these settings. The caller disconnects.
    /// - Returns: the link, and the device's name if it was found by it.
    public func openConnection(
        on radio: ChosenRadio, _ console: Console, link settings: RequestedSettings = RequestedSettings(),
        isPairing: Bool = false
    ) async throws -> (connection: Connection, name: String?) {
        if coded, let phys = settings.phys, !phys.contains(.leCoded) {
            throw ProgramError(.usage, "--coded and --phy select different PHYs for the link: give only one of them.")
        }
        var options = connectionOptions(isPairing: isPairing)
        settings.apply(to: &options)
        let (connection, name): (Connection, String?)
        do {
            (connection, name) = try await findAndConnect(on: radio, console, options, isPairing: isPairing)
        } catch {
            throw await namingPairing(error)
        }
        let (adapter, mtu) = await (connection.adapterName, connection.maximumTransmissionUnit)
        console.detail("connected by \(adapter), ATT_MTU \(mtu)")
        return (connection, name)
    }

    private func findAndConnect(
        on radio: ChosenRadio, _ console: Console, _ options: ConnectionOptions, isPairing: Bool
    ) async throws -> (connection: Connection, name: String?) {
        if let identity = try await identity() {
            let query = DeviceQuery.identity(identity)
            console.detail("looking for a device \(query.description)")
            let found = try await find(query, on: radio, console)
            console.detail("found \(found.summary)")
            try await preparePairing(on: radio, console, always: isPairing)
            // By its key again, since the address may have changed.
            return (try await radio.connect(to: identity, options: options), identity.name)
        }
        let (address, name) = try await findDevice(on: radio, console)
        console.detail("connecting to \(address) (\(address.kind))")
        try await preparePairing(on: radio, console, always: isPairing)
        return (try await connect(to: address, on: radio, options), name)
    }

    private func connectionOptions(isPairing: Bool) -> ConnectionOptions {
        var options = ConnectionOptions(timeout: timeout(or: .seconds(30)), phys: coded ? .leCoded : nil)
        options.security.policy = .ask
        options.security.minimumKeySize = minimumKeySize
        if !isPairing { options.security.level = requiredLevel }
        return options
    }

    private func connect(
        to address: BluetoothAddress, on radio: ChosenRadio, _ options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        do {
            return try await radio.connect(to: address, options: options)
        } catch {
            // A device that does not answer the exchange of the ATT_MTU has the right address.
            guard error.code == .timedOut, error.operation.name == "connect", addressType != .auto else { throw error }
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

    /// The address of the device, and its name if that was received; a scan finds it unless address and address type
    /// are both given.
    private func findDevice(
        on radio: ChosenRadio, _ console: Console
    ) async throws -> (address: BluetoothAddress, name: String?) {
        let wanted = address.flatMap { BluetoothAddress($0, kind: addressType.kind ?? .random) }
        if let wanted, let own = radio as? Adapter, wanted.value == own.information.address.value {
            throw ProgramError(
                .usage, "\(wanted) is the address of this machine's own adapter, \(own.information.name).",
                remedy: "Give the address of the other device; list the devices with: ble scan")
        }
        if let wanted, addressType != .auto { return (wanted, nil) }
        do {
            let query =
                try wanted.map { DeviceQuery.address($0) } ?? .name(name ?? defaultDevice() ?? Self.simulatedDevice)
            console.detail("looking for a device \(query.description)")
            let found = try await find(query, on: radio, console)
            console.detail("found \(found.summary)")
            return (found.address, found.name)
        } catch var error as BluetoothError {
            guard error.code == .notPermitted, wanted != nil else { throw error }
            error.remedy =
                "To connect without scanning, give --address-type random or public. "
                + (error.remedy.map { "To scan: \($0)" } ?? "")
            throw error
        }
    }

    /// Rejects a command line with no device, or with both a name and an address.
    public func validateDevice() throws {
        if identified.irk != nil { return }
        switch (name, address) {
        case (nil, nil) where try defaultDevice() == nil:
            throw ProgramError(
                .usage, "Name the device: -n NAME or -a ADDRESS.", remedy: "List the devices with: ble scan")
        case (_?, _?): throw ProgramError(.usage, "Give either a name (-n) or an address (-a), not both.")
        default: break
        }
    }
}
