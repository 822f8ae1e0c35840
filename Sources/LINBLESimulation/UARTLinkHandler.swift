import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization

/// One link of a simulated LINBLE: its attribute server, and the bridge between link and UART.
///
/// Everything is called on the radio's loop; the lock is never contended.
final class UARTLinkHandler: SimulatedLinkHandler {
    private struct State {
        /// Values that the host has written while the UART is bridged, to send on the UART.
        var written: [[UInt8]] = []
        /// Bytes from the UART that wait for room on the link.
        var bytes: [UInt8] = []
        /// Whether the host has subscribed, so that the UART is bridged.
        var isOnline = false
        var timer: LoopTimer?
    }

    private let device: Device
    private let link: SimulatedLink
    private let server: SimulatedGATTServer
    private let attributes: GATTLinkHandler
    private let state = Mutex(State())

    init(_ device: Device, _ link: SimulatedLink) {
        self.device = device
        self.link = link
        server = SimulatedGATTServer(
            device.database, limits: GATTServer.Limits(receiveMTU: UInt16(clamping: device.configuration.receiveMTU)))
        attributes = GATTLinkHandler(server, link)
        server.onWrite { [weak self] writes, _ in
            self?.written(writes)
            return .accept
        }
        server.onSubscription { [weak self] handle, configuration, _ in
            if handle == device.fromDevice { self?.setOnline(configuration.contains(.notification)) }
        }
    }

    // MARK: The link

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        attributes.received(packet, on: channel, of: link)
        let written = state.withLock { state in
            defer { state.written = [] }
            return state.written
        }
        for bytes in written { perform(device.attached.withLock { $0.receive(bytes) }) }
        pump()
    }

    func writable(_ link: SimulatedLink) {
        attributes.writable(link)
        pump()
    }

    func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {
        attributes.securityChanged(security, of: link)
    }

    func disconnected(_ link: SimulatedLink, reason: HCIStatus) {
        perform(device.attached.withLock { $0.disconnected() })
        setOnline(false)
        attributes.disconnected(link, reason: reason)
    }

    private func setOnline(_ isOnline: Bool) {
        state.withLock {
            $0.isOnline = isOnline
            if !isOnline { $0.bytes = [] }
        }
    }

    /// Queues the values for the UART; none while offline.
    private func written(_ writes: [AttributeWrite]) {
        let values = writes.filter { $0.handle == device.toDevice }.map(\.value)
        let count = values.reduce(0) { $0 + $1.count }
        state.withLock { state in
            if state.isOnline { state.written += values }
            device.statistics.withLock {
                if state.isOnline { $0.bytesFromHosts += count } else { $0.bytesIgnoredOffline += count }
            }
        }
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
                perform(device.attached.withLock { $0.timerExpired() })
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

    /// Sends one notification; false when there is none or no room.
    private func send(_ state: inout State) -> Bool {
        guard state.isOnline, !state.bytes.isEmpty, let characteristic = device.fromDevice,
            let mtu = server.mtu(of: link)
        else { return false }
        let length = device.pieceLength(of: state.bytes.count, limit: ATTValueLimits(mtu: mtu).notification)
        let outcome = server.send([(characteristic, Array(state.bytes.prefix(length)))], to: link).outcome
        switch outcome {
        case .sent: state.bytes.removeFirst(length)
        case .wouldBlock: link.notifyWhenWritable()
        // The link's security may no longer allow notifications.
        case .failed: state.bytes = []
        }
        return outcome == .sent
    }
}
