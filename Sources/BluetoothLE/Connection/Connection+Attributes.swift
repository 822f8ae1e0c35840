import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// Something of the peer's that has a value: a characteristic, a descriptor, or just a handle.
public protocol RemoteAttribute: Sendable {
    /// Where the value is.
    var attributeHandle: AttributeHandle { get }
    /// What it is taken to be, so that it is noticed when the peer's attributes have changed; nil when that is not known.
    var attributeType: BluetoothUUID? { get }
}

extension RemoteAttribute {
    /// Nothing is known.
    public var attributeType: BluetoothUUID? { nil }
}

extension RemoteCharacteristic: RemoteAttribute {
    /// Where the characteristic's value is.
    public var attributeHandle: AttributeHandle { valueHandle }
    /// The characteristic's UUID.
    public var attributeType: BluetoothUUID? { uuid }
}

extension RemoteDescriptor: RemoteAttribute {
    /// Where the descriptor is.
    public var attributeHandle: AttributeHandle { handle }
    /// The descriptor's UUID.
    public var attributeType: BluetoothUUID? { uuid }
}

extension AttributeHandle: RemoteAttribute {
    /// The handle itself.
    public var attributeHandle: AttributeHandle { self }
}

// A `timeout` is the most time the caller waits; nil leaves the 30 s that the Attribute Protocol gives each request. The
// request in flight keeps its place on the link until it is answered, so a late answer never reaches another caller.
extension Connection {
    func perform<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ name: String, of attribute: AttributeHandle? = nil, requestLength: Int = 0,
        timeout: Duration?, departure: (@Sendable () -> Void)? = nil,
        arrival: (@Sendable (Procedure.Output) -> Void)? = nil
    ) async throws(BluetoothError) -> Procedure.Output {
        let operation = BluetoothError.Operation(name, peer: peer, attribute: attribute)
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        var isSynchronized = false
        var repetitions = 0
        while true {
            let bearer = try requestBearer(for: operation, fitting: requestLength)
            if Task.isCancelled { throw .cancelled(operation) }
            let change = securityChangeCount
            let transaction = ProcedureCall(procedure, operation, on: bearer, departure: departure, arrival: arrival)
            bearer.submit(transaction)
            do throws(BluetoothError) {
                let isFirst = !isSynchronized && repetitions == 0
                let remaining = isFirst ? timeout : deadline.map { loop.now.duration(to: $0) }
                try await transaction.call.value(operation, timeout: remaining, on: loop)
                warn(of: transaction.problems)
                // It succeeds with an output alone.
                guard let output = transaction.output else { throw .cancelled(operation) }
                return output
            } catch {
                if error.cause == .attribute(.databaseOutOfSync), !isSynchronized {
                    isSynchronized = true
                    try await resynchronize(operation, until: deadline)
                } else if error.isAboutSecurity, repetitions < Self.repetitionLimit {
                    repetitions += 1
                    try await satisfy(error, since: change, until: deadline)
                } else {
                    throw error
                }
            }
        }
    }

    /// Says in the log what of a peer's database cannot be true; a hostile one does not fill it.
    private func warn(of problems: [DatabaseProblem]) {
        for problem in problems.prefix(16) { log.warning("\(problem)", metadata: ["peer": "\(peer)"]) }
        if problems.count > 16 {
            log.warning("\(problems.count - 16) more problems of the database", metadata: ["peer": "\(peer)"])
        }
    }

    /// Agrees on the largest PDU with the peer (Core Vol 3 Part G §4.3.1).
    ///
    /// Done once, when the link has come up; an adapter that connects has done so. `mtu` is 23 to 517 bytes, and not more
    /// than the connection was made for; what is not counts as the nearest that is.
    public func exchangeMTU(offering mtu: UInt16, timeout: Duration? = nil) async throws(BluetoothError) {
        let agreed = try await perform(
            MTUExchange(offering: min(mtu, receiveMTU)), "exchange MTU", requestLength: .max, timeout: timeout)
        try bearer(for: .init("exchange MTU", peer: peer)).mtu = agreed
    }

    // MARK: Values

    /// Reads a whole value, up to 512 bytes, in as many requests as it takes (Core Vol 3 Part G §4.8.1, §4.8.3).
    public func read(
        _ attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [UInt8] {
        try await read(attribute, timeout: timeout, arrival: nil)
    }

    /// As ``read(_:timeout:)``; `arrival` is told the value when it arrives, in order with what
    /// ``observeValues(_:)`` tells. It is called on the loop and may not call the connection.
    package func read(
        _ attribute: some RemoteAttribute, timeout: Duration? = nil, arrival: (@Sendable ([UInt8]) -> Void)?
    ) async throws(BluetoothError) -> [UInt8] {
        let handle = try current(attribute, "read")
        let value = try await perform(ValueRead(handle), "read", of: handle, timeout: timeout, arrival: arrival)
        if attribute.attributeType == .deviceName { take(deviceName: value) }
        return value
    }

    /// Writes a value and waits until the peer has taken it.
    ///
    /// Up to ``maximumCommandLength`` bytes go in one Write Request (Core Vol 3 Part G §4.9.3), up to 512 bytes in
    /// prepared parts whose echo is compared and that the peer writes all at once (§4.9.4).
    /// - Throws: `.invalidArgument` for more than 512 bytes, besides what every call throws.
    public func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await write(value, to: attribute, timeout: timeout, arrival: nil)
    }

    /// As ``write(_:to:timeout:)``; `departure` is called when a request is about to be sent, so that a command made
    /// then follows it, and `arrival` when the peer's answer arrives, in order with what ``observeValues(_:)`` tells.
    /// They are called on the loop and may not call the connection.
    package func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil,
        departure: (@Sendable () -> Void)? = nil, arrival: (@Sendable (()) -> Void)?
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write")
        let longest = AttributeProtocol.maximumAttributeValueLength
        guard value.count <= longest else {
            throw .invalidArgument(
                .init("write", peer: peer, attribute: handle),
                "\(value.count) bytes do not fit into a value; it has at most \(longest).")
        }
        if value.count <= maximumCommandLength {
            try await perform(
                ValueWrite(value, to: handle), "write", of: handle, requestLength: value.count + 3, timeout: timeout,
                departure: departure, arrival: arrival)
        } else {
            try await perform(
                ReliableWrite(value, to: handle), "write", of: handle, timeout: timeout, departure: departure,
                arrival: arrival)
        }
    }

    /// Orders the peer to write a value, without an answer (Core Vol 3 Part G §4.9.1).
    ///
    /// Returns as soon as the kernel has the command, and waits for that while its buffer is full: commands are neither
    /// lost nor reordered on this side, and a fast sender is slowed down to the link's pace.
    /// - Throws: `.invalidArgument` for more than ``maximumCommandLength`` bytes, besides what every call throws.
    public func writeCommand(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write command")
        let operation = BluetoothError.Operation("write command", peer: peer, attribute: handle)
        let bearer = try bearer(for: operation)
        guard value.count <= maximumCommandLength else {
            throw .invalidArgument(
                operation, "A Write Command takes at most \(maximumCommandLength) bytes here, not \(value.count).")
        }
        if Task.isCancelled { throw .cancelled(operation) }
        if bearer.sendAtOnce(value, to: handle) { return }
        let command = CommandCall(value, to: handle, operation, on: bearer)
        bearer.submit(command)
        try await command.call.value(operation, timeout: timeout, on: loop)
    }
}
