import BluetoothLE
import LINBLE
import Synchronization

extension CommonOptions {
    /// Opens the adapter, runs `body` with a UART that outlives links, and disconnects in any case.
    ///
    /// An adapter that is absent, off or blocked is waited for; `absence` runs meanwhile, and is cancelled when it is
    /// there. The device is chosen when it is first found, as --pick demands; afterwards the UART stays with its address
    /// or, if that is private and thus changes, with its name.
    public func withKeptUART<Value: Sendable>(
        _ device: UARTDevice, _ options: KeptUARTOptions, _ console: Console,
        whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @Sendable (KeptUART, Adapter) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console, whileAbsent: absence) { adapter in
            try await preparePairing(on: adapter, console)
            let failure = Mutex<ProgramError?>(nil)
            let uart = UARTConnection.keep(
                device, on: adapter, options: options,
                choosing: choice(of: device, options.uart, console) { error in failure.withLock { $0 = error } }
            ) { console.tell($0) }
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(uart, adapter))
            } catch {
                result = .failure(await namingPairing(failure.withLock { $0 } ?? error))
            }
            // Without waiting: the kernel ends the link, also after the program.
            await uart.disconnect(timeout: .zero)
            return try result.get()
        }
    }

    /// The search for the device; nil if its address or its key is given. An error that is the program's is passed to `fail`.
    private func choice(
        of device: UARTDevice, _ options: UARTOptions, _ console: Console,
        _ fail: @escaping @Sendable (ProgramError) -> Void
    ) -> KeptUART.Choice? {
        if case .identity = device { return nil }
        guard let query = query(for: device, options.profiles.map(\.service)) else { return nil }
        return { adapter throws(BluetoothError) in
            let found: DeviceSearch.Sighting
            do {
                console.tell(.scanning(device))
                found = try await findPatiently(query, on: adapter)
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
}

extension DeviceSearch.Sighting {
    /// How the device is found again.
    var identity: UARTDevice {
        // A private address changes every few minutes.
        if !address.isIdentity, let name { return .name(name) }
        return .address(address)
    }
}
