import BluetoothLE

extension SampleMicrocontroller {
    /// Stands behind the UART that a central uses: answers its commands and sends what it samples, until the central ends
    /// its subscription.
    ///
    /// Throws why the link ended, `cancelled` when the task was cancelled. Afterwards this has the registers and the name
    /// that the central has left.
    public mutating func serve(
        _ central: UARTCentral, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) {
        defer { _ = disconnected() }
        let loop = central.connection.loop
        var deadline: KernelInstant?
        while true {
            let actions: [Action]
            do throws(BluetoothError) {
                let timeout = deadline.map { max(.zero, loop.now.duration(to: $0)) }
                guard let bytes = try await central.read(timeout: timeout) else { return }
                actions = receive(bytes)
            } catch {
                guard error.code == .timedOut, deadline != nil else { throw error }
                deadline = nil
                actions = timerExpired()
            }
            for action in actions {
                switch action {
                case .send(let bytes): try await central.send(bytes)
                case .setTimer(let duration): deadline = duration.map { loop.now.advanced(by: $0) }
                }
            }
        }
    }
}
