import BluetoothATT
import BluetoothGATT
import BluetoothHCI
import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import LINBLE
import Synchronization

/// One link of a simulated LINBLE: its attribute server, and the bridge between link and UART.
///
/// Everything is called on the radio's loop; the lock is never contended.
final class UARTLinkHandler: SimulatedLinkHandler {
    private struct State {
        var server: GATTServer
        var database: AttributeDatabase
        var writer: ByteWriter
        /// Responses that wait for room on the link; at most one, unless a client violates the protocol.
        var responses: [[UInt8]] = []
        /// Bytes from the UART that wait for room on the link.
        var bytes: [UInt8] = []
        /// Whether the host has subscribed, so that the UART is bridged.
        var isOnline = false
        var timer: LoopTimer?
    }

    private let device: Device
    private let link: SimulatedLink
    private let state: Mutex<State>
    /// The limit of queued responses for a client that sends requests without reading responses.
    private static let mostResponses = 16

    init(_ device: Device, _ link: SimulatedLink) {
        self.device = device
        self.link = link
        let limits = GATTServer.Limits(receiveMTU: device.configuration.receiveMTU)
        state = Mutex(
            State(
                server: GATTServer(limits: limits), database: device.database,
                writer: ByteWriter(capacity: Int(limits.receiveMTU))))
    }

    // MARK: The link

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        guard channel == .attribute else { return }
        let pdu = [UInt8](packet)
        let written = state.withLock { state -> [[UInt8]] in
            let events = state.server.receive(pdu.span.bytes, database: &state.database, into: &state.writer)
            respond(&state)
            return events.flatMap { handle($0, &state) }
        }
        for bytes in written { perform(device.transmit(bytes)) }
        pump()
    }

    func writable(_ link: SimulatedLink) {
        pump()
    }

    func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {
        state.withLock {
            $0.server.security.isEncrypted = security.level >= .medium
            $0.server.security.isAuthenticated = security.level >= .high
            $0.server.security.encryptionKeySize = Int(security.keySize)
        }
    }

    func disconnected(_ link: SimulatedLink, reason: HCIStatus) {
        perform(device.disconnected())
        state.withLock {
            $0.isOnline = false
            $0.bytes = []
            $0.responses = []
        }
    }

    /// Queues the server's output.
    private func respond(_ state: inout State) {
        guard state.writer.count > 0, state.responses.count < Self.mostResponses else { return }
        state.responses.append(state.writer.bytes)
        state.writer.removeAll()
    }

    /// Answers the events that the server leaves to its program; returns the bytes to send on the UART.
    private func handle(_ event: GATTServerEvent, _ state: inout State) -> [[UInt8]] {
        switch event {
        case .writeCommandReceived(let write): return bridged([write], state)
        case .writeRequested(let writes, _):
            answer(event, .success([]), &state)
            return bridged(writes, state)
        case .readRequested:
            answer(event, .failure(.readNotPermitted), &state)
            return []
        case .configurationChanged(device.fromDevice, let configuration):
            state.isOnline = configuration.contains(.notification)
            if !state.isOnline { state.bytes = [] }
            return []
        default: return []
        }
    }

    private func answer(_ event: GATTServerEvent, _ result: Result<[UInt8], ATTErrorCode>, _ state: inout State) {
        _ = state.server.answer(event, with: result, database: &state.database, into: &state.writer)
        respond(&state)
    }

    /// The bytes of these writes to send on the UART; none while offline.
    private func bridged(_ writes: [AttributeWrite], _ state: State) -> [[UInt8]] {
        let values = writes.filter { $0.handle == device.toDevice }.map(\.value)
        let count = values.reduce(0) { $0 + $1.count }
        device.statistics.withLock {
            if state.isOnline { $0.bytesFromHosts += count } else { $0.bytesIgnoredOffline += count }
        }
        return state.isOnline ? values : []
    }

    // MARK: The UART

    private func perform(_ actions: [AttachedDeviceAction]) {
        for action in actions {
            switch action {
            case .send(let bytes): receive(bytes)
            case .setTimer(let duration): setTimer(duration)
            }
        }
    }

    /// Receives bytes from the UART; those without room are lost.
    private func receive(_ bytes: [UInt8]) {
        state.withLock { state in
            guard state.isOnline else { return }
            let room = max(0, device.configuration.bufferCapacity - state.bytes.count)
            state.bytes += bytes.prefix(room)
            device.statistics.withLock {
                $0.bytesForHosts += bytes.count
                $0.bytesLost += max(0, bytes.count - room)
            }
        }
    }

    private func setTimer(_ duration: Duration?) {
        let timer = state.withLock { state -> LoopTimer in
            if let timer = state.timer { return timer }
            let timer = link.radio.loop.makeTimer { [weak self] in
                guard let self else { return }
                perform(device.timerExpired())
                pump()
            }
            state.timer = timer
            return timer
        }
        if let duration { timer.set(after: duration) } else { timer.cancel() }
    }

    /// Sends queued bytes until the link is congested.
    private func pump() {
        state.withLock { state in
            while send(&state) {}
        }
    }

    /// Sends one packet; false when there is none or no room.
    private func send(_ state: inout State) -> Bool {
        if let response = state.responses.first {
            guard accepts(response) else { return false }
            state.responses.removeFirst()
            return true
        }
        guard state.isOnline, !state.bytes.isEmpty, let characteristic = device.fromDevice else { return false }
        let limit = ATTValueLimits(mtu: state.server.mtu).notification
        let length = device.pieceLength(of: state.bytes.count, limit: limit)
        let value = Array(state.bytes.prefix(length))
        do throws(GATTServerError) {
            try state.server.encodeNotification(
                of: characteristic, value: value.span.bytes, database: state.database, into: &state.writer)
        } catch {
            // The link's security may no longer allow notifications.
            state.bytes = []
            return false
        }
        defer { state.writer.removeAll() }
        guard accepts(state.writer.bytes) else { return false }
        state.bytes.removeFirst(length)
        return true
    }

    private func accepts(_ packet: [UInt8]) -> Bool {
        switch link.send(packet) {
        case .sent: return true
        case .wouldBlock:
            link.notifyWhenWritable()
            return false
        case .failed: return false
        }
    }
}
