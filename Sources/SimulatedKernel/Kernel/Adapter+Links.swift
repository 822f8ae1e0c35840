import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

extension Adapter: ControllerHost {
    func received(event: [UInt8]) {
        kernel.monitor.tell(.event, adapter: index, event.dropFirst())
        kernel.rawSockets.offer(event, of: index)
    }

    // MARK: Making links

    func heard(_ address: BluetoothAddress, _ advertiser: Advertiser, isResponse: Bool, rssi: Int8) {
        let peer = keys.identity(of: advertiser) ?? address
        discovered(peer, advertiser, isResponse: isResponse, rssi: rssi)
        guard advertiser.advertisement.isConnectable, !isResponse,
            !connections.contains(where: { $0.state == .initiating })
        else { return }
        if autoConnected.contains(peer), !connections.contains(where: { $0.peer == peer }) {
            connections.append(HostConnection(adapter: self, peer: peer, isCentral: true))
        }
        guard let connection = connections.first(where: { $0.state == .searching && $0.peer == peer }) else {
            return
        }
        connection.beginInitiation(
            HostConnection.Advertised(address: address, data: advertiser.advertisement.data))
        // The event is still being handled; the kernel's commands follow it.
        world.schedule(after: .microseconds(200)) { [weak self, weak connection] in
            guard let self, let connection, connection.state == .initiating, isRunning else { return }
            discovery.isInterrupted = controller.scanner.isEnabled
            stopScan()
            discovery.isInterrupted = false
            createConnection(connection)
        }
    }

    private func createConnection(_ connection: HostConnection) {
        // The kernel gives up an attempt after 20 s.
        let timer = world.schedule(after: .seconds(20)) { [weak self, weak connection] in
            guard let self, let connection, connection.state == .initiating else { return }
            // Directed advertising that nobody answered ends with another reason than connecting.
            let error: ErrorNumber = advertising.isSettingOn ? .hostDown : .timedOut
            cancelInitiation(of: connection)
            remove(connection, error: error)
        }
        connection.setInitiationTimer(timer)
        // While Set Advertising is on, the kernel advertises to the peer instead of connecting to it.
        guard !advertising.isSettingOn else { return }
        updateRandomAddress()
        let parameters = keys.parameters(for: connection.peer)
        let peer = LEPeerAddress(connection.advertised.address)
        if controller.configuration.commands.connectFamily == .extended {
            perform(
                .leExtendedCreateConnection(
                    LEExtendedCreateConnectionParameters(
                        ownAddressType: ownAddressType, peer: peer,
                        le1M: LEInitiatingParameters(scanInterval: 0x60, scanWindow: 0x60, parameters: parameters))))
        } else {
            perform(
                .leCreateConnection(
                    LECreateConnectionParameters(
                        scanInterval: 0x60, scanWindow: 0x60, peer: peer, ownAddressType: ownAddressType,
                        parameters: parameters)))
        }
    }

    func cancelInitiation(of connection: HostConnection) {
        guard connection.cancelInitiation() else { return }
        if controller.initiator.isConnecting { perform(.leCreateConnectionCancel) }
    }

    func connected(_ end: LinkEnd) {
        let connection: HostConnection
        if end.isCentral,
            let waiting = connections.first(where: {
                $0.state == .initiating && $0.advertised.address == end.peerAddress
            })
        {
            connection = waiting
        } else {
            let identity = keys.identity(ofDeviceBehind: end.other)
            connection = HostConnection(adapter: self, peer: identity ?? end.peerAddress, isCentral: end.isCentral)
            connections.append(connection)
        }
        connection.linked(end)
        deviceConnected(connection)
        // The link is used once the features are known; until then it may still turn out not to be established.
        perform(.leReadRemoteFeatures(end.handle))
        resumeScanning()
    }

    /// After a link has come about, or has not: looks for others, and goes on with a discovery.
    func resumeScanning() {
        resumeDiscovery()
        updatePassiveScan()
    }

    func receivedRemoteFeatures(_ end: LinkEnd) {
        guard let connection = connection(of: end), connection.state == .establishing else { return }
        connection.established()
        for socket in connection.channels.sockets { socket.linkReady(end) }
        acceptFixedChannels(connection, end)
        connection.security.linkReady()
        if connection.isCentral, !autoConnected.contains(connection.peer) { connection.dropIfUnused() }
    }

    /// The newest listener of each fixed channel gets its channel of a new link, unless there is one already.
    private func acceptFixedChannels(_ connection: HostConnection, _ end: LinkEnd) {
        for listener in kernel.l2cap.listeners(of: self) {
            guard case .fixed = listener.channel, !connection.channels.has(listener.channel) else { continue }
            let socket = L2CAPSocketState(
                adapter: self, connection: connection, channel: listener.channel, options: listener.options)
            connection.channels.add(socket)
            socket.acceptedOn(end)
            world.tell(.accepted(listener: listener.identifier, socket: socket.identifier))
        }
    }

    func connection(of end: LinkEnd) -> HostConnection? {
        connections.first { $0.end?.link === end.link }
    }

    // MARK: Data

    func received(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {
        monitor(packet, channel: channel, on: end, isSent: false)
        guard let connection = connection(of: end),
            let socket = connection.channels.socket(channel)
        else {
            world.statistics.packetsWithoutChannel += 1
            return
        }
        socket.arrived(packet)
    }

    func hasRoom(_ end: LinkEnd) {
        connection(of: end)?.pump()
    }

    func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void
    ) {
        guard let connection = connection(of: end),
            let listener = kernel.l2cap.listeners(of: self).first(where: { $0.channel == .dynamic(psm: psm) })
        else { return completion(.refused) }
        if let wanted = listener.options.security, wanted > end.link.security.level {
            return completion(.needsSecurity)
        }
        let socket = L2CAPSocketState(
            adapter: self, connection: connection, channel: .dynamic(psm: psm), options: listener.options)
        connection.channels.add(socket)
        socket.key = key
        let answer = socket.accept(terms, on: end)
        world.tell(.accepted(listener: listener.identifier, socket: socket.identifier))
        completion(.accepted(answer))
    }

    /// The kernel does as the peripheral wants, if it makes sense, and tells who might keep it for the next time.
    func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd) {
        guard let connection = connection(of: end), connection.isCentral, parameters.isValid else { return }
        send(
            .newConnectionParameters(
                DeviceConnectionParameters(
                    address: connection.peer, intervalMinimum: parameters.intervalMinimum,
                    intervalMaximum: parameters.intervalMaximum, latency: parameters.latency,
                    supervisionTimeout: parameters.supervisionTimeout),
                isStored: connection.peer.randomKind != .resolvablePrivate))
        perform(.leConnectionUpdate(end.handle, parameters, LEConnectionEventLength()))
    }

    func frameArrived(_ key: ChannelKey, on end: LinkEnd) {
        connection(of: end)?.channels.socket(key)?.frameArrived()
    }

    func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd) {
        connection(of: end)?.channels.socket(key)?.creditsGranted(count)
    }

    func channelClosed(_ key: ChannelKey, on end: LinkEnd) {
        guard let connection = connection(of: end), let socket = connection.channels.socket(key) else { return }
        connection.closed(socket)
    }

    func securityChanged(_ end: LinkEnd) {
        guard let connection = connection(of: end) else { return }
        for socket in connection.channels.sockets { socket.securityRaised() }
    }

    // MARK: Ending links

    func disconnected(_ end: LinkEnd, reason: HCIStatus) {
        guard let connection = connection(of: end) else { return }
        connection.linkLost()
        remove(connection, error: reason.errorNumber)
        if connection.isReported { deviceDisconnected(connection, reason: reason) }
        resumeAdvertising()
    }

    /// Forgets a link or an attempt; its sockets end with `error`.
    func remove(_ connection: HostConnection, error: ErrorNumber) {
        connections.removeAll { $0 === connection }
        connection.ended(with: error)
        // The end of a link stops nobody's scan unless the peer is to be looked for (`hci_disconn_complete_evt`).
        let isLookedFor = !connection.isReported || autoConnected.contains(connection.peer)
        if isLookedFor { resumeScanning() } else { resumeDiscovery() }
    }
}

extension HCIStatus {
    /// The number a socket is told for a link that ended for this reason (`bt_to_errno`).
    var errorNumber: ErrorNumber {
        switch rawValue {
        case 0x01: return ErrorNumber(rawValue: 56)  // EBADRQC
        case 0x02: return .notConnected
        case 0x03: return .inputOutput
        case 0x04, 0x3C: return .hostDown
        case 0x05, 0x18: return .accessDenied
        case 0x06: return ErrorNumber(rawValue: 52)  // EBADE
        case 0x07: return .outOfMemory
        case 0x08, 0x10: return .timedOut
        case 0x09, 0x0A: return ErrorNumber(rawValue: 31)  // EMLINK
        case 0x0B: return .alreadyInProgress
        case 0x0C: return .busy
        case 0x0D, 0x0E, 0x0F, 0x1B: return .connectionRefused
        case 0x11, 0x20, 0x27, 0x29: return .operationNotSupported
        case 0x12: return .invalidArgument
        case 0x13, 0x14, 0x15: return .connectionReset
        case 0x16: return .connectionAborted
        case 0x17: return ErrorNumber(rawValue: 40)  // ELOOP
        case 0x19, 0x1E, 0x23, 0x24, 0x25: return ErrorNumber(rawValue: 71)  // EPROTO
        case 0x1A: return .protocolNotSupported
        default: return .notImplemented
        }
    }
}
