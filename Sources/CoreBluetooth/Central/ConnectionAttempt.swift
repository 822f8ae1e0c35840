import BluetoothLE
import Foundation

/// A program's request for a connection to a peripheral, until the connection, or the last of them with automatic
/// reconnection, has ended.
struct ConnectionAttempt: Sendable {
    /// The number of attempts at a link that fails to be established.
    private static let connectAttempts = 8

    let handle: PeripheralHandle
    let number: Int
    let options: PeripheralConnectOptions

    /// Whether the program has not cancelled the request.
    var isWanted: Bool { handle.shared { $0.connectionRequest.attempt == number && !$0.connectionRequest.isCancelled } }

    private var central: CentralHandle { handle.central }

    func run(on radio: isolated Radio) async {
        if let delay = options.startDelay, await !radio.loop.sleep(for: delay) { return ended(nil) }
        repeat {
            let hold: LinkHold
            do throws(BluetoothError) {
                hold = try await radio.join(
                    handle.address, ObjectIdentifier(handle),
                    ConnectionOptions(
                        timeout: nil, attempts: Self.connectAttempts, sendBuffer: central.configuration.sendBuffer)
                ) { [weak handle, number] event in handle?.receive(event, number) }
            } catch {
                radio.settle()
                return error.code == .cancelled ? ended(nil) : failed(error)
            }
            let reason = await serve(hold, on: radio)
            await radio.release(hold)
            radio.settle()
            let isReconnecting = options.reconnects && reason != nil && !Task.isCancelled
            ended(reason, isReconnecting: isReconnecting)
            guard isReconnecting else { return }
            // The connections of a device that comes and goes are reported at the program's pace.
            await central.callbacks.drain(.device(handle.address))
            // If the program has cancelled before the report, that was the end.
            guard handle.shared({ $0.connectionRequest.attempt == number && $0.connectionRequest.isReconnecting })
            else { return }
        } while true
    }

    /// Performs the program's requests over a connection until it ends; returns the reason, nil when the program ended
    /// it.
    private func serve(_ hold: LinkHold, on radio: isolated Radio) async -> BluetoothError? {
        let connection = hold.connection
        let requests = PeripheralRequestQueue()
        let length = await connection.maximumCommandLength
        let advertised = handle.shared { shared in
            shared.traffic.changes = []
            return shared.information.advertisedServices
        }
        radio.devices.withLock { $0.connected[handle.address]?.formUnion(advertised) }
        handle.post { [number] peripheral, manager in
            let handle = peripheral.handle
            let isWanted = handle.shared { shared -> Bool in
                let request = shared.connectionRequest
                guard request.attempt == number, !request.isCancelled, request.state == .connecting else {
                    return false
                }
                shared.connectionRequest.state = .connected
                shared.connectionRequest.isReconnecting = false
                shared.traffic.requests = requests
                shared.traffic.requestCount = 0
                shared.traffic.valueCount = 0
                shared.traffic.commandLength = length
                shared.traffic.flow.reset()
                return true
            }
            guard isWanted else { return }
            manager.delegate?.centralManager(manager, didConnect: peripheral)
            handle.central.reportConnectionEvent(.peerConnected, peripheral)
        }
        let session = PeripheralSession(handle: handle, hold: hold, attempt: number)
        let reason = await withTaskGroup(of: Void.self) { group in
            group.addTask { await session.readName() }
            group.addTask { await session.work(requests, .requests, on: radio) }
            group.addTask { await session.work(requests, .commands, on: radio) }
            var reason = await connection.disconnected()
            if reason.code == .cancelled { reason.disconnectReason = .local }
            requests.finish()
            group.cancelAll()
            return reason
        }
        let channels = handle.shared { shared in
            defer { shared.traffic.channels = [] }
            return shared.traffic.channels.compactMap(\.object)
        }
        guard reason.disconnectReason == .local else { return reason }
        // Open channels would keep the link. Each waits for the credits of what was written.
        for channel in channels { channel.closeSoon() }
        for channel in channels { await channel.close() }
        return nil
    }

    // MARK: Reports to the program

    private func failed(_ error: BluetoothError) {
        handle.post { [number] peripheral, manager in
            guard peripheral.handle.recordEnd(number, state: .disconnected) else { return }
            manager.delegate?.centralManager(manager, didFailToConnect: peripheral, error: error.coreBluetooth)
        }
    }

    private func ended(_ reason: BluetoothError?, isReconnecting: Bool = false) {
        let time = Date().timeIntervalSinceReferenceDate
        handle.post { [number] peripheral, manager in
            let handle = peripheral.handle
            let (isCancelled, isCurrent) = handle.shared {
                ($0.connectionRequest.isCancelled, $0.connectionRequest.attempt == number)
            }
            let isReconnecting = isReconnecting && !isCancelled && isCurrent
            guard handle.recordEnd(number, state: isReconnecting ? .connecting : .disconnected) else { return }
            manager.delegate?.centralManager(
                manager, didDisconnectPeripheral: peripheral, timestamp: time, isReconnecting: isReconnecting,
                error: isCancelled ? nil : reason?.coreBluetooth)
            handle.central.reportConnectionEvent(.peerDisconnected, peripheral)
        }
    }
}
