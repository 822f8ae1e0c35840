import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// A remote attribute with a value: a characteristic, a descriptor, or just a handle.
public protocol RemoteAttribute: Sendable {
    /// The handle of the value.
    var attributeHandle: AttributeHandle { get }
    /// The expected type, so that a change of the peer's attributes is detected; nil if unknown.
    var attributeType: BluetoothUUID? { get }
}

extension RemoteAttribute {
    /// Nil, as the type is unknown.
    public var attributeType: BluetoothUUID? { nil }
}

extension RemoteCharacteristic: RemoteAttribute {
    /// The handle of the characteristic's value.
    public var attributeHandle: AttributeHandle { valueHandle }
    /// The characteristic's UUID.
    public var attributeType: BluetoothUUID? { uuid }
}

extension RemoteDescriptor: RemoteAttribute {
    /// The handle of the descriptor.
    public var attributeHandle: AttributeHandle { handle }
    /// The descriptor's UUID.
    public var attributeType: BluetoothUUID? { uuid }
}

extension AttributeHandle: RemoteAttribute {
    /// The handle.
    public var attributeHandle: AttributeHandle { self }
}

// `timeout` is the longest time that the caller waits for all requests together; nil for no limit but the 30 s that the
// Attribute Protocol has for each. The request in flight keeps its place on the link until it is answered, so a late
// response never reaches another caller.
extension Link {
    nonisolated(nonsending) func perform<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ name: String, of attribute: AttributeHandle? = nil, requestLength: Int = 0,
        timeout: Duration?, _ report: RequestReport? = nil
    ) async throws(BluetoothError) -> Procedure.Output {
        let operation = BluetoothError.Operation(name, peer: peer, attribute: attribute)
        let limit = timeout.map { (duration: $0, end: loop.now.advanced(by: $0)) }
        let deadline = limit?.end
        var repetitions = Repetitions()
        while true {
            let bearer = try requestBearer(for: operation, fitting: requestLength)
            if Task.isCancelled { throw .cancelled(operation) }
            let change = securityChangeCount
            let transaction = ProcedureCall(procedure, operation, on: bearer, limit: limit, report)
            bearer.submit(transaction, reportsBeginning: report != nil)
            let isFirst = !repetitions.isSynchronized && repetitions.count == 0
            // The bearer's timer is enough for the first request, unless it waits for others or for the channel.
            let isSent = transaction.hasBegun && bearer.core.sending == .ready
            if !isFirst || !isSent || timeout.map({ $0 < AttributeProtocol.transactionTimeout }) == true {
                transaction.limitTime()
            }
            do throws(BluetoothError) {
                try await transaction.call.value(operation, timeout: nil, on: loop)
                warn(of: transaction.problems)
                // A successful call always has an output.
                guard let output = transaction.output else { throw .cancelled(operation) }
                return output
            } catch {
                try await recover(from: error, operation, since: change, until: deadline, &repetitions)
            }
        }
    }

    /// What a request was repeated after.
    private struct Repetitions {
        var isSynchronized = false
        var count = 0
    }

    /// Mends what failed a request, or throws. Never inlined: each kind of procedure has a `perform` of its own.
    @inline(never)
    private nonisolated(nonsending) func recover(
        from error: BluetoothError, _ operation: BluetoothError.Operation, since change: UInt64,
        until deadline: KernelInstant?, _ repetitions: inout Repetitions
    ) async throws(BluetoothError) {
        if error.cause == .attribute(.databaseOutOfSync), !repetitions.isSynchronized {
            repetitions.isSynchronized = true
            try await database.resynchronize(self, operation, until: deadline)
        } else if error.isAboutSecurity, repetitions.count < Self.repetitionLimit {
            repetitions.count += 1
            try await raiseSecurity(afterRefusal: error, since: change, until: deadline)
        } else if error.cause == .attribute(.invalidHandle), let databaseIfAny, databaseIfAny.isRemembered {
            databaseIfAny.servicesChanged(in: .all, self)
            throw .attributesChanged(operation)
        } else {
            throw error
        }
    }

    /// The time until a deadline; nil without one.
    func remaining(until deadline: KernelInstant?) -> Duration? { deadline?.remaining(at: loop.now) }

    /// Returns the handle of an attribute; throws if the attribute may have changed since its discovery.
    func current(_ attribute: some RemoteAttribute, _ name: String) throws(BluetoothError) -> AttributeHandle {
        let handle = attribute.attributeHandle
        if databaseIfAny?.isStale(handle, attribute.attributeType) == true {
            throw .attributesChanged(.init(name, peer: peer, attribute: handle))
        }
        return handle
    }

    /// Logs the inconsistencies of a peer's database, limited so that a hostile peer cannot fill the log.
    private func warn(of problems: [DatabaseProblem]) {
        for problem in problems.prefix(16) { log.warning("\(problem)", metadata: ["peer": "\(peer)"]) }
        if problems.count > 16 {
            log.warning("\(problems.count - 16) more problems of the database", metadata: ["peer": "\(peer)"])
        }
    }

    nonisolated(nonsending) func exchangeMTU(offering mtu: Int, timeout: Duration?)
        async throws(BluetoothError)
    {
        let agreed = try await perform(
            MTUExchange(offering: min(UInt16(clamping: mtu), configuration.receiveMTU)), "exchange MTU",
            requestLength: .max,
            timeout: timeout)
        try bearer(for: .init("exchange MTU", peer: peer)).mtu = agreed
    }

    // MARK: Values

    nonisolated(nonsending) func read(
        _ attribute: some RemoteAttribute, timeout: Duration?, _ report: RequestReport? = nil
    ) async throws(BluetoothError) -> [UInt8] {
        let handle = try current(attribute, "read")
        let value = try await perform(ValueRead(handle), "read", of: handle, timeout: timeout, report)
        if attribute.attributeType == .deviceName { bondedPeer.store(deviceName: value, self) }
        return value
    }

    nonisolated(nonsending) func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration?,
        _ report: RequestReport? = nil
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write")
        let longest = AttributeProtocol.maximumAttributeValueLength
        guard value.count <= longest else {
            throw .invalidArgument(
                .init("write", peer: peer, attribute: handle),
                "A value has at most \(longest) bytes, not \(value.count).")
        }
        let timeout =
            try await databaseIfAny?.confirm(handle, attribute.attributeType, self, "write", timeout: timeout)
            ?? timeout
        if value.count <= maximumCommandLength {
            try await perform(
                ValueWrite(value, to: handle), "write", of: handle, requestLength: value.count + 3, timeout: timeout,
                report)
        } else {
            try await perform(ReliableWrite(value, to: handle), "write", of: handle, timeout: timeout, report)
        }
    }

    /// Sends a Write Command without waiting, as most are sent; false when it must wait, or be refused.
    func commandAtOnce(_ value: [UInt8], to attribute: some RemoteAttribute) -> Bool {
        let handle = attribute.attributeHandle
        guard !Task.isCancelled, databaseIfAny?.isCertain(of: handle, attribute.attributeType) != false else {
            return false
        }
        return mainBearer?.sendAtOnce(value, to: handle) == true
    }

    nonisolated(nonsending) func writeCommand(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration?
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write command")
        let timeout =
            try await databaseIfAny?.confirm(handle, attribute.attributeType, self, "write command", timeout: timeout)
            ?? timeout
        if commandAtOnce(value, to: attribute) { return }
        let operation = BluetoothError.Operation("write command", peer: peer, attribute: handle)
        let bearer = try bearer(for: operation)
        guard value.count <= maximumCommandLength else {
            throw .invalidArgument(
                operation,
                "A Write Command has at most \(maximumCommandLength) bytes of value on this link, not \(value.count).")
        }
        if Task.isCancelled { throw .cancelled(operation) }
        let command = ValueCall(value, of: handle, operation, on: bearer)
        bearer.submit(command)
        try await command.call.value(operation, timeout: timeout, on: loop)
    }

    /// Handles a change of the peer's attributes.
    func servicesChanged(in range: AttributeHandleRange) {
        database.servicesChanged(in: range, self)
        eventsIfAny?.send(.servicesChanged(range))
    }
}
