import BluetoothHost
import BluetoothPrimitives
import BluetoothSockets
import BluetoothHCI

// The parameters of the link layer: RSSI, transmit power, connection parameters, PHYs and data length, which the host
// requests from the controller. A connection without an adapter has none and throws `.unsupported`.
extension Link {
    nonisolated(nonsending) func rssi(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read RSSI", peer: peer)
        guard let rssi = try await hostLink(operation).rssi(operation, timeout: timeout) else {
            throw BluetoothError(.unsupported, operation, "The controller does not report the RSSI.")
        }
        return rssi
    }

    nonisolated(nonsending) func transmitPower(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        let operation = BluetoothError.Operation("read transmit power", peer: peer)
        return try await hostLink(operation).transmitPower(operation, timeout: timeout)
    }

    // MARK: Parameters

    var parameters: ConnectionParameters? { hostLink?.parameters }

    var dataLength: LinkDataLength? { hostLink?.dataLength }

    /// The length of a Write Command's or notification's value that carries most of a stream. With its headers of 7 bytes
    /// it fills packets: a controller may have a limit of packets for each event, and a short one counts as much as a long
    /// one. Values wait in the kernel until the data length has been extended, so they fill long packets before that.
    var streamLength: Int {
        let longest = maximumCommandLength
        let present = dataLength?.transmitOctets ?? 27
        let octets = present > 27 ? present : 251
        guard longest + 7 >= octets else { return longest }
        return (longest + 7) / octets * octets - 7
    }

    nonisolated(nonsending) func requestParameters(
        _ request: ConnectionParameterRequest, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> ConnectionParameters {
        let operation = BluetoothError.Operation("change connection parameters", peer: peer)
        let parameters = try request.parameters(operation)
        return try await hostLink(operation).setParameters(parameters, operation, timeout: timeout)
    }

    nonisolated(nonsending) func preferredParameters(
        timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameterRequest? {
        let values = try await readValues(of: .peripheralPreferredConnectionParameters, timeout: timeout)
        guard let value = values.first?.value else { return nil }
        return try ConnectionParameterRequest(
            preferred: value, BluetoothError.Operation("read the preferred connection parameters", peer: peer))
    }

    func setParameterPolicy(_ policy: ConnectionParameterPolicy) throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the parameter policy", peer: peer)
        let link = try hostLink(operation)
        let range: LEConnectionParameters? =
            switch policy {
            case .accept: nil
            case .keep(let request): try request.parameters(operation)
            }
        try link.keepParameters(range, isPolicy: true, operation)
    }

    // MARK: PHYs

    nonisolated(nonsending) func phys(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> LinkPHYs {
        let operation = BluetoothError.Operation("read PHYs", peer: peer)
        return try await hostLink(operation).phys(operation, timeout: timeout)
    }

    nonisolated(nonsending) func setPHYs(
        transmit: LEPHYSet?, receive: LEPHYSet?, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> LinkPHYs {
        let operation = BluetoothError.Operation("set PHYs", peer: peer)
        for phys in [transmit, receive] { if let phys { try LinkSettings.check(phys, operation) } }
        return try await hostLink(operation).setPHYs(
            LEPHYPreference(transmit: transmit, receive: receive), operation, timeout: timeout)
    }

    // MARK: Data length

    nonisolated(nonsending) func requestDataLength(
        _ octets: Int, time: Duration? = nil, timeout: Duration? = .seconds(10)
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the data length", peer: peer)
        try LinkSettings.check(octets, operation)
        // A packet has 14 bytes of overhead and takes 8 µs a byte (Core Vol 6 Part B §2.1).
        let microseconds = time.map { $0.clampedNanoseconds / 1000 } ?? Int64(clamping: octets) &* 8 &+ 112
        guard (328...17040).contains(microseconds) else {
            throw .invalidArgument(operation, "A packet takes 328 to 17040 µs.")
        }
        try await hostLink(operation).setDataLength(
            octets: UInt16(clamping: octets), time: UInt16(clamping: microseconds), operation, timeout: timeout)
    }

    // MARK: Changes

    func linkChanges(bufferCapacity: Int = 64) throws(BluetoothError) -> BoundedStream<LinkChange> {
        let operation = BluetoothError.Operation("follow the link", peer: peer)
        return try changes(of: hostLink(operation), capacity: bufferCapacity, operation)
    }

    private func hostLink(_ operation: BluetoothError.Operation) throws(BluetoothError) -> any HostLink {
        _ = try bearer(for: operation)
        guard let hostLink else {
            throw BluetoothError(.unsupported, operation, "This connection was not made by an adapter.")
        }
        return hostLink
    }
}
