import BluetoothLE

extension UARTConnection {
    /// Finds a device, connects to it, discovers its UART service and subscribes: afterwards bytes flow in both
    /// directions.
    ///
    /// When a step fails, the link is ended and the procedure restarts with scanning, as LINBLE's manufacturer
    /// specifies, as often as the options allow and as long as a retry can help.
    /// - Parameters:
    ///   - device: the device to connect to.
    ///   - central: the adapter to use, which must be powered, or several as one, of which the one that suits makes the
    ///     link.
    ///   - options: profiles, times and limits.
    ///   - progress: called at every step; on any thread.
    /// - Throws: `notFound` when the device was not found in time; `unsupported`, with the list of services, when the
    ///   device has no UART service; otherwise the error of the failing step.
    public nonisolated(nonsending) static func open(
        _ device: UARTDevice, on central: some Central, options: UARTOptions = UARTOptions(),
        progress: (@Sendable (UARTProgress) -> Void)? = nil
    ) async throws(BluetoothError) -> UARTConnection {
        var attempt = 1
        var failure: BluetoothError?
        while true {
            do throws(BluetoothError) {
                return try await open(device, on: central, options: options, attempt: attempt, progress: progress)
            } catch {
                // The error of an earlier attempt is more informative than that the device is absent now.
                if let failure, error.code == .notFound { throw failure }
                guard attempt < options.attempts, error.isWorthRetrying else { throw error }
                failure = error
                attempt += 1
                progress?(.init(.startingOver(after: error)))
            }
        }
    }

    /// Makes one attempt.
    /// - Parameters:
    ///   - isPatient: whether an absent device is waited for without a time limit.
    ///   - waitsForSlot: whether the end of a link is waited for if the controller has no room for another.
    static func open(
        _ device: UARTDevice, on central: some Central, options: UARTOptions, attempt: Int, isPatient: Bool = false,
        waitsForSlot: Bool = false, progress: (@Sendable (UARTProgress) -> Void)?
    ) async throws(BluetoothError) -> UARTConnection {
        var connectionOptions = ConnectionOptions(
            timeout: options.connectTimeout, maximumTransmissionUnit: options.maximumTransmissionUnit, attempts: 1,
            security: options.security, phys: options.phys)
        if isPatient, case .address = device {
            connectionOptions.timeout = nil
            connectionOptions.attributeTimeout = options.connectTimeout
        }
        if waitsForSlot { connectionOptions.slotTimeout = nil }
        connectionOptions.searchLimit = .own(isPatient ? nil : options.scanTimeout)
        let connection = try await connect(
            to: device, on: central, connectionOptions, profiles: options.profiles, attempt: attempt, progress: progress
        )
        do throws(BluetoothError) {
            progress?(
                .init(.connected(connection.peer, maximumTransmissionUnit: await connection.maximumTransmissionUnit)))
            let uart = try await attach(to: connection, options: options, progress: progress)
            progress?(.init(.online(maximumChunkLength: await uart.maximumChunkLength)))
            return uart
        } catch {
            await connection.leave(timeout: .zero)
            throw error.namingPairing
        }
    }

    /// Connects to a device: without scanning if its address is given, otherwise at the address that it advertises with.
    private static func connect(
        to device: UARTDevice, on central: some Central, _ options: ConnectionOptions, profiles: [UARTProfile],
        attempt: Int, progress: (@Sendable (UARTProgress) -> Void)?
    ) async throws(BluetoothError) -> Connection {
        if case .address(let address) = device {
            progress?(.init(.connecting(address, attempt: attempt)))
            return try await central.connect(to: address, options: options)
        }
        progress?(.init(.scanning(device)))
        do throws(BluetoothError) {
            if case .identity(let identity) = device {
                return try await central.connect(to: identity, options: options) { address, advertisement in
                    if let advertisement { progress?(.init(.found(advertisement))) }
                    progress?(.init(.connecting(address, attempt: attempt)))
                }
            }
            let limit: Duration? = if case .own(let limit) = options.searchLimit { limit } else { options.timeout }
            let resolver = IdentityResolver(device.identities)
            let report = try await central.firstAdvertisement(timeout: limit, options: options.search()) {
                $0.hasConnectableAddress && device.matches($0, profiles: profiles, resolver)
            }
            let advertisement = report.advertisement
            progress?(.init(.found(advertisement)))
            guard let address = advertisement.address else { throw .deviceNotFound(device) }
            progress?(.init(.connecting(address, attempt: attempt)))
            return try await central.connect(to: report, options: options)
        } catch  where error.code == .notFound {
            throw .deviceNotFound(device)
        }
    }

    /// Discovers the UART service on an existing connection, and subscribes.
    ///
    /// Leaves the connection unchanged when it throws.
    /// - Throws: `unsupported` when the device has no service of the profiles, or one without the characteristics.
    public nonisolated(nonsending) static func attach(
        to connection: Connection, options: UARTOptions = UARTOptions(),
        progress: (@Sendable (UARTProgress) -> Void)? = nil
    ) async throws(BluetoothError) -> UARTConnection {
        // With one profile only its service is discovered; with several, all services, once.
        let only = options.profiles.count == 1 ? options.profiles.first?.service : nil
        let services = try await connection.discoverServices(only, isFirstOnly: true, timeout: options.stepTimeout)
        for profile in options.profiles {
            guard let service = services.first(where: { $0.uuid == profile.service }) else { continue }
            let characteristics = try await connection.discoverCharacteristics(
                of: service, timeout: options.stepTimeout)
            let candidates = characteristics.map {
                UARTProfile.Candidate(uuid: $0.uuid, properties: $0.properties)
            }
            guard let selection = profile.selection(among: candidates) else {
                throw .unsupportedDevice(connection.peer, incomplete: profile, candidates: candidates)
            }
            progress?(.init(.discovered(profile)))
            // The subscription delivers values that arrive before the response to its request, so none is lost.
            let subscription = try await connection.subscribe(
                to: characteristics[selection.fromDevice], timeout: options.stepTimeout)
            return UARTConnection(
                connection: connection, profile: profile, toDevice: characteristics[selection.toDevice],
                isWrittenByRequest: selection.isWrittenByRequest, subscription: subscription, options: options)
        }
        let all = only == nil ? services : try await connection.discoverServices(timeout: options.stepTimeout)
        throw .unsupportedDevice(connection.peer, services: all.map(\.uuid), profiles: options.profiles)
    }
}

extension BluetoothError {
    /// Whether restarting with scanning may help.
    fileprivate var isWorthRetrying: Bool {
        switch code {
        case .timedOut, .connectionFailed, .disconnected: true
        default: false
        }
    }

    fileprivate static func deviceNotFound(_ device: UARTDevice) -> BluetoothError {
        BluetoothError(
            .notFound, Operation("find"), "Did not find \(device).",
            remedy: "Check that it is on, in range and not connected elsewhere: a connected device does "
                + "not advertise.")
    }

    fileprivate static func unsupportedDevice(
        _ peer: BluetoothAddress, services: [BluetoothUUID], profiles: [UARTProfile]
    ) -> BluetoothError {
        let wanted = profiles.map(\.name).joined(separator: " or ")
        let known = UARTProfile.known.first { profile in services.contains(profile.service) }
        let list = services.isEmpty ? "none" : services.map(\.description).joined(separator: ", ")
        return BluetoothError(
            .unsupported, Operation("open the UART", peer: peer),
            "Connected, but the device has no \(wanted) service. Services: \(list).",
            remedy: known.map { "It has the \($0.name) service: use that profile." })
    }

    fileprivate static func unsupportedDevice(
        _ peer: BluetoothAddress, incomplete profile: UARTProfile, candidates: [UARTProfile.Candidate]
    ) -> BluetoothError {
        let list =
            candidates.isEmpty
            ? "none" : candidates.map { "\($0.uuid) \($0.properties)" }.joined(separator: ", ")
        return BluetoothError(
            .unsupported, Operation("open the UART", peer: peer),
            "The \(profile.name) service lacks a characteristic to write or one that notifies. It has: \(list).")
    }

    /// The same error, with a remedy if the device requires pairing.
    fileprivate var namingPairing: BluetoothError {
        guard remedy == nil, let status = cause?.attributeErrorCode,
            [ATTErrorCode(rawValue: 0x05), ATTErrorCode(rawValue: 0x08), ATTErrorCode(rawValue: 0x0F)].contains(status)
        else { return self }
        var error = self
        error.remedy =
            "The device requires pairing. A LINBLE does so when its command BTLA has turned pairing on: pair the "
            + "two (ble pair), or turn it off."
        return error
    }
}
