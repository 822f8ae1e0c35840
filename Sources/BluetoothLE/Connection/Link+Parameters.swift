import BluetoothKernel
import HCI

// The link beneath the attributes: its signal, its rhythm, its modulation. What is asked here goes to the controller by
// a raw HCI socket, beside the kernel, which follows the events. All but ``Connection/rssi(timeout:)`` needs
// CAP_NET_RAW. A connection that an adapter did not make has no controller, and throws `.unsupported`.
extension Link {
    nonisolated(nonsending) func rssi(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read RSSI", peer: peer)
        let link = try attachment(operation)
        guard
            case .rssi(_, let rssi?) = try await link.controller.value.ask(
                link.number, operation, timeout: timeout, { .readRSSI($0) })
        else { throw BluetoothError(.unsupported, operation, "The controller does not know the signal strength.") }
        return Int(rssi)
    }

    nonisolated(nonsending) func transmitPower(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read transmit power", peer: peer)
        let link = try attachment(operation)
        let answer = try await link.controller.value.ask(link.number, operation, timeout: timeout) {
            .readTransmitPowerLevel($0, maximum: false)
        }
        guard case .transmitPower(_, let power) = answer else { throw .unreadable(operation) }
        return Int(power)
    }

    // MARK: Parameters

    var parameters: ConnectionParameters? {
        guard let link = attachment else { return nil }
        let known = link.controller.value.parameters(of: link.number)
        return known.map { ConnectionParameters($0) }
    }

    var dataLength: LinkDataLength? {
        guard let link = attachment else { return nil }
        let known = link.controller.value.dataLength(of: link.number)
        return known.map { LinkDataLength($0) }
    }

    nonisolated(nonsending) func requestParameters(
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

    func setParameterPolicy(_ policy: ConnectionParameterPolicy) throws(BluetoothError) {
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

    nonisolated(nonsending) func phys(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> LinkPHYs {
        let operation = BluetoothError.Operation("read PHYs", peer: peer)
        let link = try attachment(operation)
        let answer = try await link.controller.value.ask(link.number, operation, timeout: timeout) { .leReadPHY($0) }
        guard case .phys(let phys) = answer else { throw .unreadable(operation) }
        return LinkPHYs(phys)
    }

    nonisolated(nonsending) func setPHYs(
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

    nonisolated(nonsending) func requestDataLength(
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

    func linkChanges(bufferCapacity: Int = 64) throws(BluetoothError) -> BoundedStream<LinkChange> {
        let operation = BluetoothError.Operation("follow the link", peer: peer)
        let link = try attachment(operation)
        return try link.controller.value.changes(
            of: link.number, operation, capacity: bufferCapacity, keeping: connection)
    }

    private func attachment(_ operation: BluetoothError.Operation) throws(BluetoothError) -> LinkAttachment {
        _ = try bearer(for: operation)
        guard let attachment = attachment else {
            throw BluetoothError(.unsupported, operation, "This connection was not made by an adapter.")
        }
        return attachment
    }
}
