import BluetoothHCI
import BluetoothManagement

/// An adapter's discovery: the one that programs started, and the one that the kernel believes in.
final class Discovery {
    private unowned let adapter: SimulatedAdapter
    private var search: Search?
    /// The types of the last discovery; the kernel never resets them.
    private var lastTypes: ManagementAddressTypes = []
    /// Whether the kernel takes another program's active scan for a discovery, which it continues to believe after the
    /// scan.
    private var isImagined = false
    /// Whether the last scan parameters were active, as the kernel sees it.
    private var isActive = false
    /// Whether the scan was interrupted for a connection, which ends the discovery.
    private var isInterrupted = false

    /// The discovery started by a program.
    private struct Search {
        var rssiThreshold: Int8?
        var isForServices: Bool
        var timer: ScheduledEvent?
        /// A scannable advertisement that waits for its scan response.
        var waiting: Found?
    }

    private struct Found {
        var address: BluetoothAddress
        var data: [UInt8]
        var rssi: Int8
        var isConnectable: Bool
    }

    /// The duration of the kernel's discovery.
    private static let duration = Duration.milliseconds(10_240)

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    /// Whether the kernel believes that a discovery is running.
    var isFinding: Bool { search != nil || isImagined }

    // MARK: Commands

    func start(
        _ types: ManagementAddressTypes, for request: ManagementRequest, isForServices: Bool = false,
        rssiThreshold: Int8? = nil
    ) {
        guard adapter.isRunning else { return request.fail(.notPowered, types) }
        guard !isFinding, !adapter.kernel.conditions.isDiscoveryTaken else { return request.fail(.busy, types) }
        let isValid = types == .lowEnergy || types == .brEDR || types == [.lowEnergy, .brEDR]
        guard isValid else { return request.fail(.invalidParameters, types) }
        guard !types.contains(.lowEnergy) || adapter.settings.isLEEnabled else { return request.fail(.rejected, types) }
        search = Search(rssiThreshold: rssiThreshold, isForServices: isForServices)
        lastTypes = types
        startScan()
        request.complete(types)
        adapter.send(ManagementDiscovering(types, isDiscovering: true))
        search?.timer = adapter.world.schedule(after: Self.duration) { [weak self] in self?.stop() }
    }

    func stop(_ types: ManagementAddressTypes, for request: ManagementRequest) {
        guard isFinding else { return request.fail(.rejected, types) }
        guard lastTypes == types else { return request.fail(.invalidParameters, types) }
        request.complete(types)
        stop()
    }

    private func startScan() {
        adapter.stopScan()
        adapter.startScan(
            .active, interval: 0x12, window: 0x12, policy: .all, filtersDuplicates: search?.isForServices != true)
    }

    func stop() {
        guard isFinding else { return }
        flush()
        search?.timer?.cancel()
        search = nil
        (isImagined, isInterrupted) = (false, false)
        if adapter.isRunning { adapter.stopScan() }
        adapter.send(ManagementDiscovering(lastTypes, isDiscovering: false))
        adapter.connections.updatePassiveScan()
    }

    // MARK: The scan

    /// The kernel's reaction to a scan command from any program (`hci_cc_le_set_scan_enable`).
    func scanChanged(by command: AnyHCICommand, _ status: HCIStatus) {
        guard status.isSuccess else { return }
        if let parameters = command.as(LESetScanParameters.self) {
            isActive = parameters.timing.type == .active
        } else if let parameters = command.as(LESetExtendedScanParameters.self) {
            isActive = (parameters.le1M ?? parameters.leCoded)?.type == .active
        } else if let enable = command.as(LESetScanEnable.self) {
            scanChanged(isOn: enable.isEnabled)
        } else if let enable = command.as(LESetExtendedScanEnable.self) {
            scanChanged(isOn: enable.isEnabled)
        }
    }

    private func scanChanged(isOn: Bool) {
        if isOn {
            guard isActive, !isFinding else { return }
            isImagined = true
            adapter.send(ManagementDiscovering(lastTypes, isDiscovering: true))
        } else if isInterrupted {
            isInterrupted = false
            guard isImagined else { return }
            isImagined = false
            adapter.send(ManagementDiscovering(lastTypes, isDiscovering: false))
        } else {
            // Disabled by a raw command, a discovery no longer ends automatically.
            search?.timer?.cancel()
        }
    }

    /// Ends any scan, to create a connection.
    func interruptScan() {
        isInterrupted = adapter.controller.scanner.isEnabled
        adapter.stopScan()
        isInterrupted = false
    }

    /// Resumes after a connection attempt has stopped the scan.
    func resume() {
        guard search != nil, adapter.isRunning, !adapter.controller.scanner.isEnabled,
            !adapter.connections.isInitiating
        else { return }
        startScan()
    }

    // MARK: Devices

    /// Receives a reported advertisement.
    func heard(_ address: BluetoothAddress, _ advertisement: SimulatedAdvertisement, isResponse: Bool, rssi: Int8) {
        guard let search else { return }
        if isResponse, let first = search.waiting, first.address == address {
            self.search?.waiting = nil
            return report(
                Found(
                    address: address, data: first.data + advertisement.scanResponse, rssi: rssi,
                    isConnectable: first.isConnectable))
        }
        flush()
        let found = Found(
            address: address, data: isResponse ? advertisement.scanResponse : advertisement.data, rssi: rssi,
            isConnectable: advertisement.isConnectable)
        if advertisement.isScannable, !isResponse { self.search?.waiting = found } else { report(found) }
    }

    private func flush() {
        if let first = search?.waiting.take() { report(first) }
    }

    private func report(_ found: Found) {
        if let threshold = search?.rssiThreshold, found.rssi < threshold { return }
        let event = ManagementDeviceFound(
            address: ManagementAddress(found.address), rssi: found.rssi,
            flags: found.isConnectable ? [] : .notConnectable, data: found.data.span.bytes)
        // Its data is that of an advertisement.
        if let packet = try? event.packet(for: adapter.index) { adapter.kernel.management.send(packet) }
    }
}
