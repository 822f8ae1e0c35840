import BluetoothLE

extension CommonOptions {
    /// The name of the device that is meant with --simulate when none is named.
    public static let simulatedDevice = SimulatedSensor.name

    /// Connects to the device that -n or -a names, runs `body` and disconnects, whatever happens.
    ///
    /// With --security or --passkey the link is protected first. Otherwise a user at a terminal is asked when the device
    /// refuses what is not protected; without one the error names the command that pairs.
    public func withConnection<Value: Sendable>(
        _ console: Console, isPairing: Bool = false, _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console) { adapter in
            let address = try await findDevice(on: adapter, console)
            console.detail("connecting to \(address) (\(address.kind))")
            try await preparePairing(on: adapter, console, always: isPairing)
            let connection = try await connect(to: address, on: adapter, isPairing: isPairing)
            let mtu = await connection.maximumTransmissionUnit
            console.detail("connected, ATT_MTU \(mtu)")
            let result: Result<Value, any Error>
            do { result = .success(try await body(connection)) } catch {
                result = .failure(await namingPairing(error, on: connection))
            }
            await connection.disconnect()
            return try result.get()
        }
    }

    private func connect(
        to address: BluetoothAddress, on adapter: Adapter, isPairing: Bool
    ) async throws(BluetoothError) -> Connection {
        var options = ConnectionOptions(timeout: timeout(or: .seconds(30)))
        options.securityPolicy = .ask
        if !isPairing { options.security = security?.level ?? (passkey == nil ? nil : .high) }
        do {
            return try await adapter.connect(to: address, options: options)
        } catch {
            guard error.code == .timedOut, addressType != .auto else { throw error }
            var error = error
            error.remedy =
                "Is it on and near? Is its address really \(address.kind)? Without --address-type that is taken from "
                + "its advertisements."
            throw error
        }
    }

    /// The address of the device; a scan finds it unless address and kind are both given.
    private func findDevice(on adapter: Adapter, _ console: Console) async throws -> BluetoothAddress {
        let wanted = address.flatMap { BluetoothAddress($0, kind: addressType.kind ?? .random) }
        if let wanted, addressType != .auto { return wanted }
        let name = self.name ?? (wanted == nil ? Self.simulatedDevice : nil)
        let device = wanted.map { "\($0)" } ?? name.map { "a device named \(printable($0))" } ?? "a device"
        console.detail("looking for \(device)")
        do throws(BluetoothError) {
            let found = try await adapter.first(timeout: timeout(or: .seconds(10))) { advertisement in
                guard advertisement.isConnectable, let address = advertisement.address else { return false }
                return wanted.map { $0.value == address.value } ?? (advertisement.data.localName == name)
            }
            console.detail("found \(found.summary)")
            if let address = found.address { return address }
            throw BluetoothError(.notFound, .init("find"), "Did not see \(device).")
        } catch {
            var error = error
            switch error.code {
            case .notFound:
                error.message = "Did not see \(device) that accepts connections."
                error.remedy =
                    "Is it switched on, near, and not connected to something else? Many devices do not advertise while "
                    + "they are connected, and beacons accept no connections: ble scan shows what advertises."
            case .notPermitted where wanted != nil:
                error.remedy =
                    "To connect without scanning, say --address-type random or public. "
                    + (error.remedy.map { "To scan: \($0)" } ?? "")
            default: break
            }
            throw error
        }
    }

    /// Refuses a command line that names no device, or two.
    public func validateDevice() throws {
        switch (name, address) {
        case (nil, nil) where !simulate:
            throw ProgramError(
                .usage, "Name the device: -n NAME or -a ADDRESS.", remedy: "ble scan shows what is there.")
        case (_?, _?): throw ProgramError(.usage, "Give either a name (-n) or an address (-a).")
        default: break
        }
    }
}
