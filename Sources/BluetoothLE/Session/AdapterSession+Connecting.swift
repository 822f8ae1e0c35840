import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

extension AdapterSession {
    func connect(
        to peer: BluetoothAddress, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        var time = ConnectTime(options.timeout, room: options.slotWait, from: loop.now)
        do {
            return try await connectOnce(to: peer, options, within: &time, isAgain: false)
        } catch  where error.code == .preempted {
            // The link was about to end; the next one is new.
            log.debug("connecting again: \(error)")
            return try await connectOnce(to: peer, options, within: &time, isAgain: true)
        }
    }

    /// - Throws: `.preempted`, unless `isAgain`, when the link was about to end.
    private func connectOnce(
        to peer: BluetoothAddress, _ options: ConnectionOptions, within time: inout ConnectTime, isAgain: Bool
    ) async throws(BluetoothError) -> Connection {
        let settings = try LinkSettings(options, BluetoothError.Operation("connect", peer: peer))
        try options.security.check(.init("connect", peer: peer))
        if options.waitsForAdapter { try await ready(timeout: time.remaining(at: loop.now)) }
        try checkUsable()
        // A host connects to a device whose key it has by its identity address only.
        let peer = identities.identity(of: peer) ?? peer
        var options = options
        options.bondLevel = try await bondInForce(
            with: peer, .init("connect", peer: peer), isIgnored: options.security.leavesBondedLinksUnencrypted,
            until: time.end)?.linkLevel
        do throws(BluetoothError) {
            try await scheduler.begin(peer, within: &time, isAdmitted: options.isAdmitted)
        } catch {
            throw health.failed(error, by: peer)
        }
        defer { scheduler.end(peer) }
        if let connection = links.connection(to: peer), connection.core.value.canBeShared(options) {
            return try await share(connection, options, settings)
        }
        links.attempts += 1
        defer { attemptEnds() }
        try await pairings.value.prepareLink(.init("connect", peer: peer))
        let request = try request(to: peer, options, settings, until: time.end)
        do throws(BluetoothError) {
            try await host.channels.prepare(request)
        } catch {
            throw health.failed(error, by: peer)
        }
        if options.bondLevel != nil { pairings.value.beginEncrypting(peer) }
        let result = await establish(request, options, within: &time)
        request.end()
        let connection: Connection
        do throws(BluetoothError) {
            connection = try result.get()
        } catch {
            if options.bondLevel != nil { pairings.value.endEncrypting(peer) }
            throw bondManager.takeLostKey(of: peer) && !isAgain ? error.preempted : error
        }
        if let level = options.bondLevel {
            do throws(BluetoothError) {
                try await connection.core.value.encryptWithBond(at: level, until: time.end)
                pairings.value.endEncrypting(peer)
            } catch {
                pairings.value.endEncrypting(peer)
                let error = await end(connection, error, isAgain: isAgain)
                throw bondManager.takeLostKey(of: peer) && !isAgain ? error.preempted : error
            }
        }
        if let level = options.security.level {
            do {
                try await connection.raiseSecurity(to: level, timeout: options.security.timeout)
            } catch {
                throw await end(connection, error, isAgain: isAgain)
            }
        }
        do {
            // The least ATT_MTU needs no exchange, which some devices never answer.
            if options.maximumTransmissionUnit > AttributeProtocol.defaultMTU {
                try await connection.exchangeMTU(
                    offering: options.maximumTransmissionUnit, timeout: options.attributeTimeout ?? options.timeout)
            }
        } catch  where error.code == .attributeProtocol {
            // A peer that refuses keeps the default ATT_MTU; the link is usable.
            log.debug("\(error)")
        } catch {
            var error = error
            if error.code == .timedOut {
                error.remedy =
                    "Connect without this exchange, which is optional: --mtu 23 of ble and linble.\nIn code: maximumTransmissionUnit: 23 in the options."
            }
            throw await end(connection, error, isAgain: isAgain)
        }
        request.isAnswered = true
        try await apply(settings, options, to: connection)
        return connection
    }

    /// Returns the connection that the program has already, raised to what the options ask for.
    private func share(
        _ connection: Connection, _ options: ConnectionOptions, _ settings: LinkSettings
    ) async throws(BluetoothError) -> Connection {
        connection.core.value.otherCallers += 1
        do throws(BluetoothError) {
            if let level = [options.bondLevel, options.security.level].compactMap(\.self).max() {
                try await connection.raiseSecurity(to: level, timeout: options.security.timeout)
            }
            try await apply(settings.raising(connection.core.value), options, to: connection)
        } catch {
            // The other callers may have left meanwhile.
            await connection.leave(timeout: .zero)
            throw error
        }
        return connection
    }

    /// Applies what is optional: the link is usable without.
    /// - Throws: `.cancelled`, `.disconnected`; without another caller that has it, the link ends with the connection.
    private func apply(
        _ settings: LinkSettings, _ options: ConnectionOptions, to connection: Connection
    ) async throws(BluetoothError) {
        // Other calls wait for these.
        connection.requestSoon(settings, timeout: options.timeout ?? .seconds(30))
        let bearers = options.enhancedBearers + 1 - connection.core.value.bearerCount
        if bearers > 0, let security = try? await connection.security(), security.level >= .medium {
            do {
                try await connection.openEnhancedBearers(
                    count: bearers, timeout: options.attributeTimeout ?? options.timeout)
            } catch  where error.code == .cancelled || error.code == .disconnected {
                throw error
            } catch {
                // Optional: the link is usable without them.
                log.debug("\(error)")
            }
        }
    }

    /// The request for a link with the options.
    private func request(
        to peer: BluetoothAddress, _ options: ConnectionOptions, _ settings: LinkSettings,
        until deadline: KernelInstant?
    ) throws(BluetoothError) -> LinkRequest {
        let request = LinkRequest(
            to: peer, .attribute, .init("connect", peer: peer), options.socketOptions, until: deadline)
        request.parameters = try settings.parameters?.parameters(request.operation)
        request.phys = (options.phys ?? []).union(options.isHeardOnCoded ? .leCoded : [])
        return request
    }

    /// Ends a link that is not returned; returns the error of the attempt.
    private func end(_ connection: Connection, _ error: BluetoothError, isAgain: Bool) async -> BluetoothError {
        await connection.disconnect(timeout: .zero)
        // An established link fails like this only where it was about to end.
        return error.code == .connectionFailed && !isAgain ? error.preempted : error
    }

    /// Connects, and waits for room for another link as the options allow.
    private func establish(
        _ request: LinkRequest, _ options: ConnectionOptions, within time: inout ConnectTime
    ) async -> Result<Connection, BluetoothError> {
        let (peer, operation) = (request.peer, request.operation)
        guard time.room != nil else {
            guard options.isAdmitted || !slots.isClaimed else {
                return .failure(.linkLimitReached(operation, nil))
            }
            let result = await tryToEstablish(request, options)
            if result.wasRefusedForRoom { slots.refused(nil) }
            return result
        }
        let place = slots.enter()
        while true {
            let start = loop.now
            do throws(BluetoothError) {
                scheduler.connect(to: peer, waitsForRoom: true)
                defer { scheduler.connect(to: peer, waitsForRoom: false) }
                try await slots.waitForTurn(
                    place, until: start.advanced(by: time.room ?? .zero), operation)
            } catch {
                slots.leave(place, hasLink: false)
                return .failure(error)
            }
            time.waitedForRoom(from: start, to: loop.now)
            request.deadline = time.end
            let result = await tryToEstablish(request, options)
            guard result.wasRefusedForRoom, !Task.isCancelled else {
                slots.leave(place, hasLink: (try? result.get()) != nil)
                return result
            }
            log.debug("waiting for room for another link", metadata: ["peer": "\(peer)"])
            slots.refused(place)
        }
    }

    /// Connects in turn with other attempts, and retries as often as the options allow.
    private func tryToEstablish(
        _ request: LinkRequest, _ options: ConnectionOptions
    ) async -> Result<Connection, BluetoothError> {
        let (peer, deadline) = (request.peer, request.deadline)
        let doubt = Doubt(on: loop, before: deadline) { [health] in health.linkStalled(peer) }
        defer { doubt.end() }
        var attempt = 1
        while true {
            do throws(BluetoothError) {
                return .success(try await attemptOnce(request, options))
            } catch {
                // A preempted attempt continues, and so does one that timed out although the caller set no time limit.
                if error.code == .preempted { continue }
                if error.code == .timedOut, deadline == nil, !Task.isCancelled { continue }
                let isOver = deadline.map { loop.now >= $0 } ?? false
                guard error.code == .connectionFailed, error.isRetryable, attempt < options.attempts, !isOver else {
                    return .failure(health.failed(error, by: peer))
                }
                log.debug("attempt \(attempt) failed: \(error.message)", metadata: ["peer": "\(peer)"])
                attempt += 1
            }
        }
    }

    /// - Throws: also `.preempted`.
    private func attemptOnce(
        _ request: LinkRequest, _ options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        // An earlier wait may have ended with the adapter.
        try scheduler.checkUsable(request.operation)
        // Waits for an earlier link to end, which must not take the turn of others.
        try await host.channels.prepare(request)
        let turn = try await scheduler.waitForTurn(
            for: request.peer, timeout: request.remaining(at: loop.now))
        defer { scheduler.endTurn(turn) }
        let connection = linkMaker.makeConnection(
            to: request.peer, as: .central, receiveMTU: UInt16(clamping: options.maximumTransmissionUnit),
            options.security)
        scheduler.begin(turn, connection.core.value)
        try await connection.core.value.open(request)
        return connection
    }
}

extension Result<Connection, BluetoothError> {
    /// Whether the controller had no room for another link.
    package var wasRefusedForRoom: Bool {
        if case .failure(let error) = self { error.code == .linkLimitReached } else { false }
    }
}

extension BluetoothError {
    /// The error of an attempt that is made once more.
    fileprivate var preempted: BluetoothError {
        var error = self
        error.code = .preempted
        return error
    }
}

extension AdapterSession {
    func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try checkUsable()
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        let operation = BluetoothError.Operation("open a channel to PSM \(hexadecimal(psm))", peer: peer)
        try await host.channels.prepare(LinkRequest(to: peer, .dynamic(psm: psm), operation, until: deadline))
        // A host encrypts the link to a device whose key it has by its identity address only.
        let peer = identities.identity(of: peer) ?? peer
        var isAgain = false
        while true {
            do {
                return try await openChannelOnce(to: peer, psm, options, operation, until: deadline, isAgain: isAgain)
            } catch  where error.code == .preempted {
                isAgain = true
            } catch {
                throw health.failed(error, by: peer)
            }
        }
    }

    /// - Throws: `.preempted`, unless `isAgain`, when the host had lost the key of the device's bond.
    private func openChannelOnce(
        to peer: BluetoothAddress, _ psm: UInt16, _ options: ChannelOptions, _ operation: BluetoothError.Operation,
        until deadline: KernelInstant?, isAgain: Bool
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        var options = options
        let bond = try await bondInForce(
            with: peer, operation, isIgnored: options.leavesBondedLinksUnencrypted, until: deadline)
        links.attempts += 1
        defer { attemptEnds() }
        try await pairings.value.prepareLink(operation)
        options.timeout = deadline.map { loop.now.duration(to: $0) }
        guard let bond else {
            return try await channels.open(psm: psm, to: peer, answeringFor: peer, options: options)
        }
        options.security = max(options.security ?? .low, bond.linkLevel)
        pairings.value.beginEncrypting(peer)
        defer { pairings.value.endEncrypting(peer) }
        do throws(BluetoothError) {
            let channel = try await channels.open(psm: psm, to: peer, answeringFor: peer, options: options)
            if bond.mayHaveEncrypted(try await channel.security(), isCentral: true) { return channel }
            await channel.close()
            bondManager.hostLacksKey(of: peer)
            throw BluetoothError.pairing(operation, .keyMissing)
        } catch {
            throw bondManager.takeLostKey(of: peer) && !isAgain ? error.preempted : error
        }
    }

    private func attemptEnds() {
        links.attempts -= 1
        pairings.value.linkEnded()
    }

    /// The bond whose key must protect links to a device, after the host was given it.
    private func bondInForce(
        with peer: BluetoothAddress, _ operation: BluetoothError.Operation, isIgnored: Bool,
        until deadline: KernelInstant?
    ) async throws(BluetoothError) -> Bond? {
        if isIgnored { return nil }
        try await bondManager.prepareLink(to: peer, operation, until: deadline)
        return try bondManager.bondInForce(with: peer, operation)
    }

    func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) throws(BluetoothError) -> (Listener<ConnectionOrientedChannel>, psm: UInt16) {
        try checkUsable()
        let operation = operation(psm == 0 ? "listen on a free PSM" : "listen on PSM \(hexadecimal(psm))")
        return try channels.listen(operation, psm: psm, backlog: backlog, options: options, keeping: self)
    }
}
