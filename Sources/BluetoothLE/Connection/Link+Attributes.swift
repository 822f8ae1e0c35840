import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

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
extension Link {
    nonisolated(nonsending) func perform<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ name: String, of attribute: AttributeHandle? = nil, requestLength: Int = 0,
        timeout: Duration?, _ report: RequestReport? = nil
    ) async throws(BluetoothError) -> Procedure.Output {
        let operation = BluetoothError.Operation(name, peer: peer, attribute: attribute)
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        var isSynchronized = false
        var repetitions = 0
        while true {
            let bearer = try requestBearer(for: operation, fitting: requestLength)
            if Task.isCancelled { throw .cancelled(operation) }
            let change = securityChangeCount
            let transaction = ProcedureCall(procedure, operation, on: bearer, report)
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
                    try await database.resynchronize(self, operation, until: deadline)
                } else if error.isAboutSecurity, repetitions < Self.repetitionLimit {
                    repetitions += 1
                    try await satisfy(error, since: change, until: deadline)
                } else {
                    throw error
                }
            }
        }
    }

    /// The handle of an attribute that is still what the caller takes it for.
    func current(_ attribute: some RemoteAttribute, _ name: String) throws(BluetoothError) -> AttributeHandle {
        let handle = attribute.attributeHandle
        if databaseIfAny?.isStale(handle, attribute.attributeType) == true {
            throw .attributesChanged(.init(name, peer: peer, attribute: handle))
        }
        return handle
    }

    /// Says in the log what of a peer's database cannot be true; a hostile one does not fill it.
    private func warn(of problems: [DatabaseProblem]) {
        for problem in problems.prefix(16) { log.warning("\(problem)", metadata: ["peer": "\(peer)"]) }
        if problems.count > 16 {
            log.warning("\(problems.count - 16) more problems of the database", metadata: ["peer": "\(peer)"])
        }
    }

    nonisolated(nonsending) func exchangeMTU(offering mtu: UInt16, timeout: Duration? = nil)
        async throws(BluetoothError)
    {
        let agreed = try await perform(
            MTUExchange(offering: min(mtu, configuration.receiveMTU)), "exchange MTU", requestLength: .max,
            timeout: timeout)
        try bearer(for: .init("exchange MTU", peer: peer)).mtu = agreed
    }

    // MARK: Values

    nonisolated(nonsending) func read(
        _ attribute: some RemoteAttribute, timeout: Duration? = nil, _ report: RequestReport? = nil
    ) async throws(BluetoothError) -> [UInt8] {
        let handle = try current(attribute, "read")
        let value = try await perform(ValueRead(handle), "read", of: handle, timeout: timeout, report)
        if attribute.attributeType == .deviceName { bondedPeer.take(deviceName: value, self) }
        return value
    }

    nonisolated(nonsending) func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil,
        _ report: RequestReport? = nil
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
                report)
        } else {
            try await perform(ReliableWrite(value, to: handle), "write", of: handle, timeout: timeout, report)
        }
    }

    nonisolated(nonsending) func writeCommand(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write command")
        // Most find room, so what is needed to wait or to refuse comes after.
        if !Task.isCancelled, let mainBearer, mainBearer.sendAtOnce(value, to: handle) { return }
        let operation = BluetoothError.Operation("write command", peer: peer, attribute: handle)
        let bearer = try bearer(for: operation)
        guard value.count <= maximumCommandLength else {
            throw .invalidArgument(
                operation, "A Write Command takes at most \(maximumCommandLength) bytes here, not \(value.count).")
        }
        if Task.isCancelled { throw .cancelled(operation) }
        let command = CommandCall(value, to: handle, operation, on: bearer)
        bearer.submit(command)
        try await command.call.value(operation, timeout: timeout, on: loop)
    }
}
