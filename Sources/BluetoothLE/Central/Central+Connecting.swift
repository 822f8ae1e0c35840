import BluetoothPrimitives

extension Central {
    /// Connects to a device with the default options, as ``connect(to:options:)-(BluetoothAddress,_)``.
    public nonisolated(nonsending) func connect(
        to peer: BluetoothAddress
    ) async throws(BluetoothError) -> Connection {
        try await connect(to: peer, options: ConnectionOptions())
    }

    /// Connects to the device of an advertisement, as ``connect(to:options:)-(BluetoothAddress,_)`` does.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public nonisolated(nonsending) func connect(
        to report: Report, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await connect(
            to: report.advertisement.connectableAddress(for: .init("connect")),
            options: options.hearing(report.advertisement))
    }

    /// Scans, and connects to the first connectable device that fulfils a condition.
    ///
    /// The scan ends with the call at the latest. The time limit is for both together. Needs CAP_NET_RAW for the scan.
    /// - Parameters:
    ///   - options: the options of the connection.
    ///   - scan: the options of the scan.
    ///   - condition: called on the central's loop for each advertisement of a connectable device.
    /// - Throws: `.notFound` when the time is over without such a device, besides what scanning and connecting throw.
    public nonisolated(nonsending) func connect(
        options: ConnectionOptions = ConnectionOptions(), scan: ScanOptions = ScanOptions(),
        firstMatching condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Connection {
        let start = loop.now
        let found = try await firstAdvertisement(timeout: options.timeout, options: scan) { advertisement in
            advertisement.hasConnectableAddress && condition(advertisement)
        }
        return try await connect(to: found, options: options.afterSearch(since: start, now: loop.now))
    }

    /// Connects, calls `body` with the connection, and disconnects however `body` ends: by returning, throwing, or the
    /// task's cancellation.
    ///
    /// The link is down when the call returns, except in a cancelled task, which does not wait for that, see
    /// ``Connection/disconnect(timeout:)``, and where others have the same connection, which they keep.
    /// - Throws: what `body` throws, an error that is not of this library as `BluetoothError.underlyingError`, and what
    ///   ``connect(to:options:)-(BluetoothAddress,_)`` throws.
    public nonisolated(nonsending) func withConnection<Result: Sendable>(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        _ body: @Sendable (Connection) async throws -> Result
    ) async throws(BluetoothError) -> Result {
        let connection = try await connect(to: peer, options: options)
        do {
            let result = try await body(connection)
            await connection.leave()
            return result
        } catch {
            await connection.leave()
            throw BluetoothError(error, .init("use the connection", peer: peer))
        }
    }
}

// MARK: - By a key

extension Central {
    /// Connects to a device by its identity resolving key, whatever its private address is.
    ///
    /// Scans for the device, and connects to the address it advertises with. If it changes that before the link is up, it
    /// is found again; an attempt to one address takes 11 s at most. A device that is bonded needs no scan. Needs
    /// CAP_NET_RAW for the scan. ``Connection/peer`` is the address connected to.
    /// - Throws: `.notFound` when the device was not seen within ``ConnectionOptions/timeout``, besides what
    ///   ``scan(_:)`` and ``connect(to:options:)-(BluetoothAddress,_)`` throw.
    public nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await connect(to: identity, options: options) { _, _ in }
    }

    /// Connects to a device by its identity resolving key, at the address it has now.
    /// - Parameter onAddress: called before the connect to each address, with the advertisement in which the device had it;
    ///   nil if a bond says which it is.
    package nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @Sendable (BluetoothAddress, Advertisement?) -> Void
    ) async throws(BluetoothError) -> Connection {
        let operation = BluetoothError.Operation("connect")
        let keys = identity.candidates
        var (options, hasBeenSeen) = (options, false)
        options.attributeTimeout = options.attributeTimeout ?? options.timeout
        if let bond = await bonds().first(where: { $0.identityResolvingKey.map(keys.contains) ?? false }) {
            // The host has the key, and finds the device itself.
            options.timeout = options.wholeTime
            onAddress(bond.identity, nil)
            return try await connect(to: bond.identity, options: options)
        }
        var time = ConnectTime(options.searchTime, room: options.slotTimeout, from: loop.now)
        if options.waitsForAdapter { try await ready(timeout: options.timeout) }
        var scan = options.search(.identity(identity) && .connectable, duplicates: .all)
        if options.waitsForAdapter { scan.whenAdapterUnavailable = .resume }
        options.isJustHeard = true
        while true {
            let found: Advertisement
            do throws(BluetoothError) {
                found = try await firstAdvertisement(timeout: time.remaining(at: loop.now), options: scan).advertisement
            } catch  where error.code == .notFound {
                throw BluetoothError(
                    hasBeenSeen ? .timedOut : .notFound, operation,
                    hasBeenSeen
                        ? "The device \(identity.name) advertised, but did not respond."
                        : "The device \(identity.name) was not seen\(options.searchTime.map { " within \($0.inSeconds)" } ?? "").",
                    remedy: BluetoothError.outOfReachRemedy, isRetryable: true)
            }
            if !hasBeenSeen, case .own = options.searchLimit {
                time = ConnectTime(options.timeout, room: options.slotTimeout, from: loop.now)
            }
            hasBeenSeen = true
            // The device may change its address before it answers; then it is found again.
            let start = loop.now
            var attempt = options.hearing(found)
            let limit = min(time.remaining(at: start) ?? ConnectTime.slice, ConnectTime.slice)
            (attempt.timeout, attempt.slotTimeout) = (limit, time.room)
            do throws(BluetoothError) {
                let address = try found.connectableAddress(for: operation)
                onAddress(address, found)
                return try await connect(to: address, options: attempt)
            } catch {
                // What the attempt has taken beyond its limit was spent waiting for room.
                let end = start.advanced(by: limit)
                if time.room != nil, end < loop.now { time.waitedForRoom(from: end, to: loop.now) }
                guard [.timedOut, .connectionFailed].contains(error.code), !time.isOver(at: loop.now),
                    !Task.isCancelled
                else { throw error }
            }
        }
    }
}

extension ConnectionOptions {
    /// The time limit for finding a device by its key; nil for none.
    fileprivate var searchTime: Duration? {
        switch searchLimit {
        case .shared: timeout
        case .own(let limit): limit
        }
    }

    /// The time limit for finding a device and connecting to it together; nil for none.
    fileprivate var wholeTime: Duration? {
        switch searchLimit {
        case .shared: timeout
        case .own(let limit): timeout.flatMap { timeout in limit.map { $0 + timeout } }
        }
    }
}

extension Advertisement {
    /// Whether the device accepts connections, at a known address.
    package var hasConnectableAddress: Bool { isConnectable && address != nil }

    /// The address to connect to.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    func connectableAddress(for operation: BluetoothError.Operation) throws(BluetoothError) -> BluetoothAddress {
        guard let address else { throw .invalidArgument(operation, "The device advertises anonymously.") }
        guard isConnectable else {
            throw .invalidArgument(
                .init(operation.name, peer: address), "The device does not accept connections now.")
        }
        return address
    }
}
