import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

extension AdapterSession {
    func connect(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        do {
            return try await connect(to: peer, options, until: deadline)
        } catch  where error.code == .protocolViolation || error.code == .preempted {
            // The link was one that was about to end. Or one that another program has just closed, or this one before it was
            // started anew, is used again, and brings the answer to what was asked on it last. There is one such answer at
            // most; the next link comes after it.
            log.debug("connecting again: \(error)")
            return try await connect(to: peer, options, until: deadline, isAgain: true)
        }
    }

    /// - Throws: `.preempted`, unless `isAgain`, when the link was one that was about to end.
    private func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?, isAgain: Bool = false
    ) async throws(BluetoothError) -> Connection {
        if options.waitsForAdapter { try await ready(timeout: options.timeout) }
        try checkUsable()
        // A host looks for a device whose key it has by its identity, and by no other address.
        let peer = identities.identity(of: peer) ?? peer
        host.links.beginFollowing()
        await host.scanning.prepareToConnect(timeout: deadline.map { loop.now.duration(to: $0) })
        let result = await establish(peer, options, until: deadline)
        host.links.endFollowing()
        let connection = try result.get()
        if let level = options.security ?? options.socket.security {
            do {
                try await connection.raiseSecurity(to: level, timeout: options.securityTimeout)
            } catch {
                throw await end(connection, error, isAgain: isAgain)
            }
        }
        do {
            try await connection.exchangeMTU(
                offering: options.maximumTransmissionUnit, timeout: options.attributeTimeout ?? options.timeout)
        } catch  where error.code == .attributeProtocol {
            // Whatever the peer has against it, the ATT_MTU stays what it is, and the link is good.
            log.debug("\(error)")
        } catch {
            throw await end(connection, error, isAgain: isAgain)
        }
        connection.core.value.confirmLink()
        if options.enhancedBearers > 0, let security = try? await connection.security(), security.level >= .medium {
            do {
                try await connection.openEnhancedBearers(count: options.enhancedBearers, timeout: options.timeout)
            } catch  where error.code == .cancelled || error.code == .disconnected {
                await connection.disconnect()
                throw error
            } catch {
                // They are a gain and no need.
                log.debug("\(error)")
            }
        }
        return connection
    }

    /// Ends a link that is not handed over; says how the attempt at it has failed.
    private func end(_ connection: Connection, _ error: BluetoothError, isAgain: Bool) async -> BluetoothError {
        await connection.disconnect()
        // Of a link that is up, that is said only where it was one that was about to end.
        guard error.code == .connectionFailed, !isAgain else { return error }
        var error = error
        error.code = .preempted
        return error
    }

    func connect(
        to advertisement: Advertisement, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        guard let peer = advertisement.address else {
            throw .invalidArgument(operation("connect"), "The device advertises anonymously.")
        }
        guard advertisement.isConnectable else {
            throw .invalidArgument(.init("connect", peer: peer), "The device does not take connections.")
        }
        return try await connect(to: peer, options: options)
    }

    func connect(
        options: ConnectionOptions = ConnectionOptions(), scan: ScanOptions = ScanOptions(),
        firstMatching condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Connection {
        let start = loop.now
        let found = try await firstAdvertisement(timeout: options.timeout, options: scan) { advertisement in
            advertisement.isConnectable && advertisement.address != nil && condition(advertisement)
        }
        var options = options
        if let timeout = options.timeout { options.timeout = max(timeout - start.duration(to: loop.now), .seconds(1)) }
        return try await connect(to: found, options: options)
    }

    /// Has the host connect, in turn with others, as often as it may fail.
    private func establish(
        _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?
    ) async -> Result<Connection, BluetoothError> {
        var attempt = 1
        while true {
            do throws(BluetoothError) {
                return .success(try await attemptOnce(peer, options, until: deadline))
            } catch {
                // Those that gave way to others, and those that were given up though nobody asked for it, go on.
                if error.code == .preempted { continue }
                if error.code == .timedOut, deadline == nil, !Task.isCancelled { continue }
                let isOver = deadline.map { loop.now >= $0 } ?? false
                guard error.code == .connectionFailed, error.isRetryable, attempt < options.attempts, !isOver else {
                    return .failure(error)
                }
                log.debug("attempt \(attempt) failed: \(error.message)", metadata: ["peer": "\(peer)"])
                attempt += 1
            }
        }
    }

    private func attemptOnce(
        _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?
    ) async throws(BluetoothError) -> Connection {
        let turn = try await takeTurn(for: peer, until: deadline)
        let remaining = deadline.map { loop.now.duration(to: $0) }
        let connection = linkMaker.makeConnection(
            to: peer, as: .central, receiveMTU: options.maximumTransmissionUnit, options.securityPolicy)
        let link = connection.core.value
        connects.begin(turn, link)
        defer { connects.endTurn(turn) }
        try await link.open(options: options.socketOptions(remaining), timeout: remaining)
        return connection
    }

    /// Waits for a turn, and until nothing of an earlier link is in the way.
    private func takeTurn(
        for peer: BluetoothAddress, until deadline: KernelInstant?
    ) async throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("connect", peer: peer)
        while true {
            try await host.channels.makeWay(to: peer, operation, timeout: deadline.map { loop.now.duration(to: $0) })
            let turn = try await connects.takeTurn(for: peer, timeout: deadline.map { loop.now.duration(to: $0) })
            // Something may have come into the way meanwhile.
            if host.channels.isWayClear(to: peer) { return turn }
            connects.endTurn(turn)
        }
    }
}

extension BluetoothError.Code {
    /// An attempt has given way to others; never leaves the library.
    static let preempted = BluetoothError.Code(rawValue: "preempted")
}

extension AdapterSession {
    func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try checkUsable()
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        await host.scanning.prepareToConnect(timeout: options.timeout)
        var options = options
        options.timeout = deadline.map { loop.now.duration(to: $0) }
        return try await channels.open(psm: psm, to: peer, answeringFor: peer, options: options)
    }

    func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) throws(BluetoothError) -> (Listener<ConnectionOrientedChannel>, psm: UInt16) {
        try checkUsable()
        let operation = operation("listen on PSM \(hexadecimal(psm))")
        return try channels.listen(operation, psm: psm, backlog: backlog, options: options, keeping: self)
    }
}
