import BluetoothKernel
import HCI

// The link beneath the attributes: its signal, its rhythm, its modulation. What is asked here goes to the controller by
// a raw HCI socket, beside the kernel, which follows the events. All but ``Connection/rssi(timeout:)`` needs
// CAP_NET_RAW. A connection that an adapter did not make has no controller, and throws `.unsupported`.
extension Connection {
    /// How strongly the peer is received, in dBm (HCI Read RSSI, Core Vol 4 Part E §7.5.4). Needs no privilege.
    /// - Throws: `.unsupported` when the controller cannot tell, `.disconnected`, `.timedOut`, `.cancelled`.
    public func rssi(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read RSSI", peer: peer)
        let link = try attachment(operation)
        guard
            case .rssi(_, let rssi?) = try await link.controller.value.ask(
                link.number, operation, timeout: timeout, { .readRSSI($0) })
        else { throw BluetoothError(.unsupported, operation, "The controller does not know the signal strength.") }
        return Int(rssi)
    }

    /// How strongly this side sends, in dBm (HCI Read Transmit Power Level, §7.3.35). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public func transmitPower(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read transmit power", peer: peer)
        let link = try attachment(operation)
        let answer = try await link.controller.value.ask(link.number, operation, timeout: timeout) {
            .readTransmitPowerLevel($0, maximum: false)
        }
        guard case .transmitPower(_, let power) = answer else { throw .unreadable(operation) }
        return Int(power)
    }

    // MARK: Parameters

    /// The parameters the link runs with; nil where this is not known: without CAP_NET_RAW the kernel shows nobody the
    /// events that tell.
    public var parameters: ConnectionParameters? {
        guard let link = attachment else { return nil }
        let known = link.controller.value.parameters(of: link.number)
        return known.map { ConnectionParameters($0) }
    }

    /// How large the link's packets may be; nil until the controller has told, and without CAP_NET_RAW.
    public var dataLength: LinkDataLength? {
        guard let link = attachment else { return nil }
        let known = link.controller.value.dataLength(of: link.number)
        return known.map { LinkDataLength($0) }
    }

    /// Changes the link's parameters and returns those it runs with then (LE Connection Update, §7.8.18).
    ///
    /// Takes some ten connection intervals of the old length. The peer may refuse; whether it asks for others later is
    /// its own affair, see ``setParameterPolicy(_:)``. Needs CAP_NET_RAW.
    /// - Throws: `.invalidArgument` for what the specification does not allow, `.notPermitted`, `.unsupported` or
    ///   `.failed` when the peer refuses, `.busy` while another change is under way, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public func requestParameters(
        _ request: ConnectionParameterRequest, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> ConnectionParameters {
        let operation = BluetoothError.Operation("change connection parameters", peer: peer)
        let parameters = try request.parameters(operation)
        let link = try attachment(operation)
        let change = try await link.controller.value.change(
            link.number, operation, timeout: timeout, .parameters(parameters)
        ) { .leConnectionUpdate($0, parameters, LEConnectionEventLength()) }
        guard case .parameters(let now) = change else { throw .unreadable(operation) }
        return now
    }

    /// Says what shall happen when the peer has the link's parameters changed; at first its wishes are granted.
    ///
    /// In force until it is said anew, or the link ends. Needs CAP_NET_RAW, without which no change is ever noticed.
    /// - Throws: `.invalidArgument` for what the specification does not allow, `.disconnected`, `.unsupported`.
    public func setParameterPolicy(_ policy: ConnectionParameterPolicy) throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the parameter policy", peer: peer)
        let link = try attachment(operation)
        let range: LEConnectionParameters? =
            switch policy {
            case .accept: nil
            case .keep(let request): try request.parameters(operation)
            }
        try link.controller.value.insist(link.number, on: range, operation)
    }

    // MARK: PHYs

    /// The PHYs the link uses (LE Read PHY, §7.8.47). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported` by a controller before Bluetooth 5, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public func phys(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> LinkPHYs {
        let operation = BluetoothError.Operation("read PHYs", peer: peer)
        let link = try attachment(operation)
        let answer = try await link.controller.value.ask(link.number, operation, timeout: timeout) { .leReadPHY($0) }
        guard case .phys(let phys) = answer else { throw .unreadable(operation) }
        return LinkPHYs(phys)
    }

    /// Asks for other PHYs and returns those the link uses then (LE Set PHY, §7.8.49). Needs CAP_NET_RAW.
    ///
    /// A peer that cannot do what is asked for is no error: the link keeps the PHYs it has, and they are returned.
    /// - Parameters:
    ///   - transmit: the PHYs this side would like to send on; nil leaves it to the controllers.
    ///   - receive: those it would like to receive on.
    ///   - timeout: the most time to wait.
    /// - Throws: `.notPermitted`, `.unsupported`, `.busy` while another change is under way, `.disconnected`,
    ///   `.timedOut`, `.cancelled`.
    public func setPHYs(
        transmit: LEPHYSet?, receive: LEPHYSet?, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> LinkPHYs {
        let operation = BluetoothError.Operation("set PHYs", peer: peer)
        let link = try attachment(operation)
        let change = try await link.controller.value.change(link.number, operation, timeout: timeout, .phys) {
            .leSetPHY($0, LEPHYPreference(transmit: transmit, receive: receive))
        }
        guard case .phys(let phys) = change else { throw .unreadable(operation) }
        return phys
    }

    // MARK: Data length

    /// Suggests how large the packets may be that this side sends (LE Set Data Length, §7.8.33). Needs CAP_NET_RAW.
    ///
    /// Returns when the controller has taken it. What the two devices agree on is told by ``linkChanges(bufferCapacity:)``
    /// and ``dataLength``, and only if it is another size than before.
    /// - Parameters:
    ///   - octets: the most bytes in a packet: 27 to 251.
    ///   - time: the most time a packet takes, 328 to 17 040 µs; nil is what `octets` take on LE 1M.
    ///   - timeout: the most time to wait.
    /// - Throws: `.invalidArgument`, `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public func requestDataLength(
        _ octets: Int, time: Duration? = nil, timeout: Duration? = .seconds(10)
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the data length", peer: peer)
        // 14 bytes around the data, 8 µs a byte (Core Vol 6 Part B §2.1).
        let microseconds = time.map { $0.clampedNanoseconds / 1000 } ?? Int64(clamping: octets) &* 8 &+ 112
        guard (27...251).contains(octets), (328...17040).contains(microseconds) else {
            throw .invalidArgument(operation, "A packet has 27 to 251 bytes and takes 328 to 17040 µs.")
        }
        let link = try attachment(operation)
        _ = try await link.controller.value.ask(link.number, operation, timeout: timeout) {
            .leSetDataLength($0, octets: UInt16(clamping: octets), time: UInt16(clamping: microseconds))
        }
    }

    // MARK: Changes

    /// What happens to the link's parameters, PHYs and packet size from now on, whoever wants it so.
    ///
    /// The stream lives until its loop is left or the link ends, which it throws. When nobody takes the changes the
    /// oldest make room. Needs CAP_NET_RAW, without which nothing is ever told.
    /// - Throws: `.disconnected`, `.unsupported`.
    public func linkChanges(bufferCapacity: Int = 64) throws(BluetoothError) -> BoundedStream<LinkChange> {
        let operation = BluetoothError.Operation("follow the link", peer: peer)
        let link = try attachment(operation)
        return try link.controller.value.changes(
            of: link.number, operation, capacity: bufferCapacity, keeping: self)
    }

    private func attachment(_ operation: BluetoothError.Operation) throws(BluetoothError) -> LinkAttachment {
        _ = try bearer(for: operation)
        guard let attachment = attachment else {
            throw BluetoothError(.unsupported, operation, "This connection was not made by an adapter.")
        }
        return attachment
    }
}
