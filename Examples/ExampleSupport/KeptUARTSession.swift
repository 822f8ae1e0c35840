import BluetoothLE
import LINBLE
import Synchronization

extension CommonOptions {
    /// Opens the adapter, or several, runs `body` with a UART that outlives links, and disconnects in any case.
    ///
    /// An adapter that is absent, off or blocked is waited for; `absence` runs meanwhile, and is cancelled when it is
    /// there. The device is chosen when it is first found, as --pick demands; afterwards the UART stays with its address
    /// or, if that is private and thus changes, with its name.
    public func withKeptUART<Value: Sendable>(
        _ device: UARTDevice, _ options: KeptUARTOptions, _ console: Console,
        whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @escaping @Sendable (KeptUART, ChosenRadio) async throws -> Value
    ) async throws -> Value {
        try await withRadio(console, whileAbsent: absence) { radio in
            try await preparePairing(on: radio, console)
            let failure = Mutex<ProgramError?>(nil)
            let uart = keep(device, on: radio, options, console) { error in failure.withLock { $0 = error } }
            return try await finishing {
                do {
                    return try await body(uart, radio)
                } catch {
                    throw await namingPairing(failure.withLock { $0 } ?? error)
                }
            } then: {
                // Without waiting: the kernel ends the link, also after the program.
                await uart.disconnect(timeout: .zero)
            }
        }
    }

    /// - Parameter fail: called with an error that is the program's.
    private func keep<Radio: Central>(
        _ device: UARTDevice, on radio: Radio, _ options: KeptUARTOptions, _ console: Console,
        _ fail: @escaping @Sendable (ProgramError) -> Void
    ) -> KeptUART {
        let tell: @Sendable (UARTProgress) -> Void = { console.tell($0) }
        guard let query = searchQuery(for: device, options.uart) else {
            return UARTConnection.keep(device, on: radio, options: options, progress: tell)
        }
        @Sendable func choice(_ radio: Radio) async throws(BluetoothError) -> UARTDevice {
            try await choose(device, query, on: radio, console, fail)
        }
        return UARTConnection.keep(device, on: radio, options: options, choosing: choice, progress: tell)
    }

    /// The query of the search for the device; nil if its address or its key is given.
    private func searchQuery(for device: UARTDevice, _ options: UARTOptions) -> DeviceQuery? {
        if case .identity = device { return nil }
        return query(for: device, options.profiles.map(\.service))
    }

    /// Waits for the device, and returns how it is found again.
    private func choose(
        _ device: UARTDevice, _ query: DeviceQuery, on radio: ChosenRadio, _ console: Console,
        _ fail: @Sendable (ProgramError) -> Void
    ) async throws(BluetoothError) -> UARTDevice {
        let found: DeviceSearch.Sighting
        do {
            console.tell(.scanning(device))
            found = try await findPatiently(query, on: radio)
        } catch let error as BluetoothError {
            throw error
        } catch {
            if let error = error as? ProgramError { fail(error) }
            throw BluetoothError(.invalidArgument, .init("find"), "\(error)")
        }
        if let advertisement = found.advertisement { console.tell(.found(advertisement)) }
        return found.identity
    }
}

extension DeviceSearch.Sighting {
    /// How the device is found again.
    var identity: UARTDevice {
        // A private address changes every few minutes.
        if !address.isIdentity, let name { return .name(name) }
        return .address(address)
    }
}
