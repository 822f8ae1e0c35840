import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// An adapter's links and connection attempts, with the controller's events about them.
final class AdapterConnections: ControllerHost {
    private unowned let adapter: SimulatedAdapter
    private(set) var all: [HostConnection] = []
    private var isCancelling = false

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    private var world: KernelWorld { adapter.world }
    private var controller: Controller { adapter.controller }

    var isInitiating: Bool { all.contains { $0.state == .initiating } }

    func connection(of end: LinkEnd) -> HostConnection? {
        all.first { $0.end?.link === end.link }
    }

    func connection(with peer: BluetoothAddress) -> HostConnection? {
        all.first { $0.peer == peer }
    }

    /// Starts to search for a peer to connect to.
    func add(_ connection: HostConnection) {
        all.append(connection)
        updatePassiveScan()
    }

    func user(of end: LinkEnd) -> AnyObject? { connection(of: end)?.security }

    func received(event: [UInt8]) {
        adapter.kernel.monitor.report(.event, adapter: adapter.index, Array(event.dropFirst()))
        adapter.kernel.rawSockets.offer(event, of: adapter.index)
    }

    // MARK: Searching for peers

    /// Starts or stops the passive scan for devices to connect to (`hci_update_passive_scan`).
    func updatePassiveScan() {
        guard adapter.isRunning, !adapter.discovery.isFinding, !isInitiating else { return }
        let candidates = adapter.devices.autoConnected.filter { connection(with: $0) == nil }
        let searched = all.filter { $0.state == .searching }.map(\.peer)
        let wanted = searched + candidates
        adapter.stopScan()
        guard !wanted.isEmpty else { return }
        // Only the differences (`hci_update_accept_list_sync`).
        let (listed, due) = (controller.acceptList, wanted.map { LEFilterAcceptListEntry.device($0) })
        for entry in listed where !due.contains(entry) { adapter.perform(LERemoveDeviceFromFilterAcceptList(entry)) }
        for entry in due where !listed.contains(entry) { adapter.perform(LEAddDeviceToFilterAcceptList(entry)) }
        // A device with private addresses cannot be on the accept list.
        let isListEnough = !wanted.contains { adapter.keys.hasIdentityResolvingKey(of: $0) }
        let scan = searched.isEmpty ? adapter.keys.defaults.autoConnectScan : adapter.keys.defaults.connectScan
        adapter.startScan(
            .passive, interval: scan.interval, window: scan.window, policy: isListEnough ? .acceptList : .all,
            filtersDuplicates: true)
    }

    /// Resumes searching and discovery after an attempt has succeeded or failed.
    private func resumeScanning() {
        adapter.discovery.resume()
        updatePassiveScan()
    }

    // MARK: Creating links

    func heard(_ advertiser: Advertiser, isResponse: Bool, rssi: Int8) {
        let peer = adapter.keys.identity(of: advertiser.node, at: advertiser.address)
        adapter.discovery.heard(peer, advertiser.advertisement, isResponse: isResponse, rssi: rssi)
        guard advertiser.advertisement.isConnectable, !isResponse, !isInitiating else { return }
        if adapter.devices.autoConnected.contains(peer), connection(with: peer) == nil {
            all.append(HostConnection(adapter: adapter, peer: peer, isCentral: true))
        }
        guard let connection = all.first(where: { $0.state == .searching && $0.peer == peer }) else { return }
        connection.beginInitiation(HostConnection.Advertised(advertiser))
        // The event is still being processed; the kernel's commands follow it.
        world.schedule(after: .microseconds(200)) { [weak self, weak connection] in
            guard let self, let connection, connection.state == .initiating, adapter.isRunning else { return }
            adapter.discovery.interruptScan()
            create(connection)
        }
    }

    private func create(_ connection: HostConnection) {
        connection.limitInitiation()
        // While Set Advertising is on, the kernel advertises to the peer instead of connecting to it.
        guard !adapter.advertising.isSettingOn else { return }
        adapter.privacy.updateRandomAddress()
        let parameters = adapter.keys.parameters(for: connection.peer)
        let scan = adapter.keys.defaults.connectScan
        let peer = LEPeerAddress(connection.advertised.address)
        let status: HCIStatus
        if controller.configuration.commands.connectFamily == .extended {
            let initiating = LEInitiatingParameters(
                scanInterval: scan.interval, scanWindow: scan.window, parameters: parameters)
            // Those of the selected PHYs with which the peer advertises.
            let phys = adapter.settings.phys.selected.lePHYs.intersection(connection.advertised.phys)
            status = adapter.perform(
                LEExtendedCreateConnection(
                    ownAddressType: adapter.ownAddressType, peer: peer,
                    le1M: phys.contains(.le1M) ? initiating : nil, le2M: phys.contains(.le2M) ? initiating : nil,
                    leCoded: phys.contains(.leCoded) ? initiating : nil))
        } else {
            status = adapter.perform(
                LECreateConnection(
                    scanInterval: scan.interval, scanWindow: scan.window, peer: peer,
                    ownAddressType: adapter.ownAddressType,
                    parameters: parameters))
        }
        // A controller that is gone answers later, or never; its refusal ends the attempt (`create_le_conn_complete`).
        guard !status.isSuccess, status != .hardwareFailure, connection.cancelInitiation() else { return }
        remove(connection, error: status.errorNumber)
    }

    func connected(_ end: LinkEnd) {
        // The kernel forgets a link that comes up while it cancels its attempt.
        if isCancelling, end.isCentral { return }
        let connection: HostConnection
        if end.isCentral,
            let waiting = all.first(where: { $0.state == .initiating && $0.advertised.address == end.peerAddress })
        {
            connection = waiting
        } else {
            let peer = adapter.keys.identity(of: end.other.side.node, at: end.peerAddress)
            connection = HostConnection(adapter: adapter, peer: peer, isCentral: end.isCentral)
            all.append(connection)
        }
        connection.linked(end)
        // The link is used once the features are known; until then it may still fail to be established.
        adapter.perform(LEReadRemoteFeatures(end.handle))
        resumeScanning()
    }

    private func receivedRemoteFeatures(_ connection: HostConnection, _ end: LinkEnd) {
        guard connection.state == .establishing else { return }
        connection.established()
        if connection.isCentral { adapter.keys.keepParameters(for: connection.peer) }
        for socket in connection.channels.sockets { socket.linkReady(end) }
        acceptFixedChannels(connection)
        connection.security.linkReady()
        if !connection.isCentral { requestDefaultParameters(end) }
        if connection.isCentral, !adapter.devices.autoConnected.contains(connection.peer) { connection.dropIfUnused() }
    }

    /// As a peripheral, requests the default parameters of a link whose interval is outside their range
    /// (`l2cap_le_conn_ready`).
    private func requestDefaultParameters(_ end: LinkEnd) {
        let wanted = adapter.keys.defaults.connection
        let interval = end.link.parameters.interval
        guard interval < wanted.intervalMinimum || interval > wanted.intervalMaximum else { return }
        end.tell(.parametersRequested(wanted))
    }

    /// Gives the newest listener of each fixed channel its channel of a new link, unless there is one already.
    private func acceptFixedChannels(_ connection: HostConnection) {
        for listener in adapter.kernel.l2cap.listeners(of: adapter) {
            guard case .fixed = listener.channel, !connection.channels.has(listener.channel) else { continue }
            accept(listener, on: connection).accepted()
        }
    }

    /// A socket for a listener, of its channel on a link.
    private func accept(_ listener: ListenerState, on connection: HostConnection) -> L2CAPSocketState {
        let socket = L2CAPSocketState(
            adapter: adapter, connection: connection, channel: listener.channel, options: listener.options)
        connection.channels.sockets.append(socket)
        world.post(.accepted(listener: listener.identifier, socket: socket.identifier))
        return socket
    }

    // MARK: Data

    func receive(_ notice: LinkNotice, on end: LinkEnd) {
        let connection = connection(of: end)
        switch notice {
        case .packet(let packet, let channel):
            adapter.monitor(packet, channel: channel, on: end, isSent: false)
            guard let socket = connection?.channels.socket(channel) else {
                world.statistics.packetsWithoutChannel += 1
                return
            }
            socket.arrived(packet)
        case .room: connection?.pump()
        case .parametersRequested(let parameters): parametersRequested(parameters, on: end)
        case .frame(let key): connection?.channels.socket(key)?.frameArrived()
        case .credits(let count, let key): connection?.channels.socket(key)?.creditsGranted(count)
        case .channelClosed(let key):
            if let connection, let socket = connection.channels.socket(key) { connection.closed(socket) }
        case .channelRequested(let psm, let key, let terms, let answer):
            answer(connection.map { accept(psm, key, terms, on: $0, end) } ?? .refused)
        case .featuresReceived: if let connection { receivedRemoteFeatures(connection, end) }
        case .changed(.security): for socket in connection?.channels.sockets ?? [] { socket.securityRaised() }
        case .changed: break
        }
    }

    private func accept(
        _ psm: UInt16, _ key: ChannelKey, _ terms: ChannelTerms, on connection: HostConnection, _ end: LinkEnd
    ) -> ChannelAnswer {
        let listeners = adapter.kernel.l2cap.listeners(of: adapter)
        guard let listener = listeners.first(where: { $0.channel == .dynamic(psm: psm) }) else { return .refused }
        if let wanted = listener.options.security, wanted > connection.security.reported(on: end).level {
            return .needsSecurity
        }
        let socket = accept(listener, on: connection)
        socket.key = key
        return .accepted(socket.accept(terms))
    }

    /// The kernel grants valid parameters, and notifies programs, which may store them for the next connection.
    private func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd) {
        guard let connection = connection(of: end), connection.isCentral, parameters.isValid else { return }
        adapter.send(
            ManagementNewConnectionParameters(
                DeviceConnectionParameters(address: connection.peer, parameters),
                isStored: connection.peer.randomKind != .resolvablePrivate))
        adapter.perform(LEConnectionUpdate(end.handle, parameters))
    }

    // MARK: Ending links

    func disconnected(_ end: LinkEnd, reason: HCIStatus) {
        guard let connection = connection(of: end) else { return }
        remove(connection, error: reason.errorNumber)
        connection.reportDisconnected(reason)
        adapter.advertising.resume()
    }

    /// Ends a link; one that the controller does not know is forgotten at once (`hci_cs_disconnect`).
    func disconnect(_ end: LinkEnd) {
        let status = adapter.perform(HCIDisconnect(end.handle, reason: .remoteUserTerminatedConnection))
        if !status.isSuccess { disconnected(end, reason: status) }
    }

    /// Cancels an attempt; its sockets end with `error`.
    func cancel(_ connection: HostConnection, error: ErrorNumber) {
        if connection.cancelInitiation(), controller.initiator.isConnecting {
            isCancelling = true
            adapter.perform(LECreateConnectionCancel())
            isCancelling = false
        }
        remove(connection, error: error)
    }

    /// Removes a link or an attempt; its sockets end with `error`.
    private func remove(_ connection: HostConnection, error: ErrorNumber) {
        all.removeAll { $0 === connection }
        connection.ended(with: error)
        // The end of a link interrupts no scan unless the peer must be searched for (`hci_disconn_complete_evt`).
        let isLookedFor = !connection.isReported || adapter.devices.autoConnected.contains(connection.peer)
        if isLookedFor { resumeScanning() } else { adapter.discovery.resume() }
    }

    /// Ends all links because the adapter is about to be powered off, which the controller reports after `delay`.
    ///
    /// The kernel does not wait for the controller's events, and the adapter counts as up meanwhile.
    func terminateAll(after delay: Duration) {
        for connection in all {
            guard let end = connection.end,
                let command = try? AnyHCICommand(HCIDisconnect(end.handle, reason: .remoteDevicePoweringOff))
            else { continue }
            adapter.show(command)
            controller.answer(command, .success)
            connection.adapterGone(.connectionReset, after: delay)
        }
        all.removeAll { $0.state == .ended }
    }

    /// Ends all links and attempts because the adapter is off.
    func endAll(with error: ErrorNumber) {
        for connection in all { connection.adapterGone(error) }
        all = []
    }
}

extension HostConnection.Advertised {
    fileprivate init(_ advertiser: Advertiser) {
        let advertisement = advertiser.advertisement
        let extended = LEPHYSet(advertisement.primaryPHY).union(LEPHYSet(advertisement.secondaryPHY))
        self.init(
            address: advertiser.address, data: advertisement.data, phys: advertisement.isLegacy ? .le1M : extended)
    }
}
