import BluetoothLE

extension CommonOptions {
    /// The name of the device that --simulate selects if none is given.
    public static var simulatedDevice: String { SimulatedSensor.name }

    /// Connects to the device that -n or -a selects, runs `body`, and disconnects in any case.
    ///
    /// With --security or --passkey the link is protected first. Otherwise, if the device refuses an unprotected request,
    /// a user at a terminal is asked whether to pair; without a terminal the error names the command that pairs.
    public func withConnection<Value: Sendable>(
        _ console: Console, link settings: RequestedSettings = RequestedSettings(), isPairing: Bool = false,
        isOnLoop: Bool = false, _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        // Pairing stays with an adapter.
        if isPairing, usesSeveralAdapters { throw ProgramError(.usage, Self.oneAdapter) }
        return try await withRadio(console) {
            try await withConnection(on: $0, console, link: settings, isPairing: isPairing, isOnLoop: isOnLoop, body)
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
        try await finishing {
            try await namingPairing(on: connection) { try await body(connection) }
        } then: {
            // Without waiting: the kernel ends the link, also after the program.
            await connection.disconnect(timeout: .zero)
        }
    }

    /// Keeps the device that -n, -a or --irk selects connected, and runs `body` on each link, until it returns or fails
    /// otherwise than by the link's end. The device and the adapters are waited for. The device stays the same if its address
    /// does; one with a private address is looked for again after each link.
    public func keepingConnection(
        _ console: Console, link settings: RequestedSettings,
        _ body: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        let options = try connectionOptions(settings)
        try await withRadio(console, whileAbsent: { console.waiting($0) }) { radio in
            try await preparePairing(on: radio, console)
            do {
                try await keep(on: radio, options, console, body)
            } catch let error as BluetoothError where error.pairingFailure != nil {
                throw await namingPairing(error)
            }
        }
    }

    private func keep(
        on radio: ChosenRadio, _ options: ConnectionOptions, _ console: Console,
        _ body: @Sendable (Connection) async throws -> Void
    ) async throws {
        var (device, last) = (self, "")
        // The same failure of several attempts is reported once.
        func report(_ reason: String) {
            if reason != last { console.message(console.messages.yellow("\(reason) Trying again.")) }
            last = reason
        }
        search: while true {
            let found: FoundDevice
            do {
                found = try await device.findDevice(on: radio, console).device
            } catch let error as ProgramError where error.status == .notFound {
                report(error.message)
                continue
            } catch let error as BluetoothError where error.isAdapterAbsent {
                console.waiting(error)
                try await radio.ready(timeout: nil)
                continue
            }
            let kept = radio.keepConnected(to: found, options: options)
            defer { withExtendedLifetime(kept) {} }
            for try await event in await kept.events() {
                if let (error, _) = event.failed { report(error.message) }
                if let error = event.waitingForAdapter { console.waiting(error) }
                if let connection = event.connected {
                    last = ""
                    do {
                        return try await use(connection, body)
                    } catch let error as BluetoothError
                        where !Task.isCancelled
                        && (error.isRetryable || error.isAdapterAbsent || error.code == .disconnected)
                    {
                        report(error.message)
                    }
                    guard case .address(let address) = found, !address.isIdentity else { continue }
                    if connection.peer.isIdentity { device.setDevice(connection.peer) }
                    continue search
                }
            }
        }
    }

    /// Finds the device that -n, -a or --irk selects, and connects to it with these settings. The caller disconnects.
    /// - Returns: the link, and the device's name if it was found by it.
    public func openConnection(
        on radio: ChosenRadio, _ console: Console, link settings: RequestedSettings = RequestedSettings(),
        isPairing: Bool = false
    ) async throws -> (connection: Connection, name: String?) {
        let options = try connectionOptions(settings, isPairing: isPairing)
        return try await namingPairing {
            let (device, name) = try await findDevice(on: radio, console)
            if case .address(let address) = device {
                console.detail("connecting to \(address.digits) (\(address.kind))")
            }
            try await preparePairing(on: radio, console, always: isPairing)
            let connection = try await connect(to: device, on: radio, options)
            let (adapter, mtu) = await (connection.adapterName, connection.maximumTransmissionUnit)
            console.detail("connected by \(adapter), ATT_MTU \(mtu)")
            return (connection, name)
        }
    }

    private func connectionOptions(
        _ settings: RequestedSettings, isPairing: Bool = false
    ) throws -> ConnectionOptions {
        if coded, let phys = settings.phys, !phys.contains(.leCoded) {
            throw ProgramError(.usage, "--coded and --phy select different PHYs for the link: give only one of them.")
        }
        var options = ConnectionOptions(timeout: timeout(or: .seconds(30)), phys: coded ? .leCoded : nil)
        options.security.policy = .ask
        options.security.minimumKeySize = minimumKeySize
        if !isPairing { options.security.level = requiredLevel }
        settings.apply(to: &options)
        return options
    }

    private func connect(
        to device: FoundDevice, on radio: ChosenRadio, _ options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        do {
            return try await radio.connect(to: device, options: options)
        } catch {
            // A device that does not answer the exchange of the ATT_MTU has the right address.
            guard case .address(let address) = device, error.code == .timedOut, error.operation.name == "connect",
                addressType != .auto
            else { throw error }
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

    /// The device that is selected, and its name if that was received; a scan finds it unless address and address type
    /// are both given.
    private func findDevice(
        on radio: ChosenRadio, _ console: Console
    ) async throws -> (device: FoundDevice, name: String?) {
        let identity = try await identity()
        let wanted = address.flatMap { BluetoothAddress($0, kind: addressType.kind ?? .random) }
        if let wanted, let own = radio as? Adapter, wanted.value == own.information.address.value {
            throw ProgramError(
                .usage, "\(wanted.digits) is the address of this machine's own adapter, \(own.information.name).",
                remedy: "Give the address of the other device; list the devices with: ble scan")
        }
        if let wanted, addressType != .auto { return (.address(wanted), nil) }
        do {
            let query =
                try identity.map { DeviceQuery.identity($0) } ?? wanted.map { .address($0) }
                ?? .name(name ?? defaultDevice() ?? Self.simulatedDevice)
            console.detail("looking for a device \(query.description)")
            let found = try await find(query, on: radio, console)
            console.detail("found \(found.summary)")
            // By its key again, since the address may have changed.
            return identity.map { (.identity($0), $0.name) } ?? (.address(found.address), found.name)
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

extension Console {
    fileprivate func waiting(_ error: BluetoothError) { message("waiting for the adapter: \(error.message)") }
}
