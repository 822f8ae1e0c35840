import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// What Start Discovery has begun.
struct Discovery {
    /// What is looked for; nil while nothing is.
    fileprivate(set) var types: ManagementAddressTypes?
    /// What was looked for last; the kernel never forgets it.
    fileprivate var lastTypes: ManagementAddressTypes = []
    /// The kernel takes somebody's active scan for a discovery, and goes on doing so when the scan is over.
    fileprivate var isImagined = false
    /// Whether the last parameters of a scan were those of an active one, as the kernel sees it.
    fileprivate var isActive = false
    /// The scan is ended to make a connection, which ends the discovery.
    var isInterrupted = false
    fileprivate var rssiThreshold: Int8?
    fileprivate var isForServices = false
    fileprivate var timer: ScheduledEvent?
    /// A scannable advertisement that waits for its scan response.
    fileprivate var waiting: (address: BluetoothAddress, data: [UInt8], rssi: Int8, isConnectable: Bool)?

    /// How long the kernel's discovery lasts.
    fileprivate static let duration = Duration.milliseconds(10_240)

    var isOn: Bool { types != nil }

    /// Whether the kernel thinks that one is going on.
    var isFinding: Bool { isOn || isImagined }
}

extension Adapter {
    func performDiscovery(_ command: ManagementCommand, for request: ManagementRequest) {
        switch command {
        case .startDiscovery(let types): startDiscovery(types, for: request)
        case .startServiceDiscovery(let types, let threshold, _):
            // Which services an advertiser has is for the program above to see; the kernel's filter lets through more.
            startDiscovery(types, for: request, isForServices: true, rssiThreshold: threshold)
        case .stopDiscovery(let types):
            guard discovery.isFinding else {
                return request.complete(.discovery(types), status: .rejected)
            }
            guard discovery.lastTypes == types else {
                return request.complete(.discovery(types), status: .invalidParameters)
            }
            request.complete(.discovery(types))
            stopDiscovery()
        default: request.fail(.unknownCommand)
        }
    }

    private func startDiscovery(
        _ types: ManagementAddressTypes, for request: ManagementRequest, isForServices: Bool = false,
        rssiThreshold: Int8? = nil
    ) {
        guard isRunning else { return request.complete(.discovery(types), status: .notPowered) }
        guard !discovery.isFinding, !kernel.conditions.isDiscoveryTaken else {
            return request.complete(.discovery(types), status: .busy)
        }
        let isValid = types == .lowEnergy || types == .brEDR || types == [.lowEnergy, .brEDR]
        guard isValid else { return request.complete(.discovery(types), status: .invalidParameters) }
        guard !types.contains(.lowEnergy) || configured.isLEEnabled else {
            return request.complete(.discovery(types), status: .rejected)
        }
        discovery.types = types
        discovery.lastTypes = types
        discovery.isForServices = isForServices
        discovery.rssiThreshold = rssiThreshold
        startDiscoveryScan()
        request.complete(.discovery(types))
        send(.discovering(types, isDiscovering: true))
        discovery.timer = world.schedule(after: Discovery.duration) { [weak self] in self?.stopDiscovery() }
    }

    private func startDiscoveryScan() {
        stopScan()
        startScan(.active, interval: 0x12, window: 0x12, policy: .all, filtersDuplicates: !discovery.isForServices)
    }

    func stopDiscovery() {
        guard discovery.isFinding else { return }
        flushDiscovery()
        discovery.timer?.cancel()
        var next = Discovery()
        next.lastTypes = discovery.lastTypes
        next.isActive = discovery.isActive
        discovery = next
        if isRunning { stopScan() }
        send(.discovering(next.lastTypes, isDiscovering: false))
        updatePassiveScan()
    }

    /// What the kernel makes of a command about the scanner, whoever sent it (`hci_cc_le_set_scan_enable`).
    func scanChanged(by command: HCICommand, _ status: HCIStatus) {
        guard status.isSuccess else { return }
        switch command {
        case .leSetScanParameters(let parameters): discovery.isActive = parameters.timing.type == .active
        case .leSetExtendedScanParameters(let parameters):
            discovery.isActive = (parameters.le1M ?? parameters.leCoded)?.type == .active
        case .leSetScanEnable(let isOn, _): scanChanged(isOn: isOn)
        case .leSetExtendedScanEnable(let enable): scanChanged(isOn: enable.isEnabled)
        default: break
        }
    }

    private func scanChanged(isOn: Bool) {
        if isOn {
            guard discovery.isActive, !discovery.isFinding else { return }
            discovery.isImagined = true
            send(.discovering(discovery.lastTypes, isDiscovering: true))
        } else if discovery.isInterrupted {
            discovery.isInterrupted = false
            guard discovery.isImagined else { return }
            discovery.isImagined = false
            send(.discovering(discovery.lastTypes, isDiscovering: false))
        } else if discovery.isOn {
            // Switched off by hand, a discovery does not end any more by itself.
            discovery.timer?.cancel()
        }
    }

    /// Goes on after a connection attempt has stopped the scan.
    func resumeDiscovery() {
        guard discovery.isOn, isRunning, !controller.scanner.isEnabled,
            !connections.contains(where: { $0.state == .initiating })
        else { return }
        startDiscoveryScan()
    }

    func discovered(_ address: BluetoothAddress, _ advertiser: Advertiser, isResponse: Bool, rssi: Int8) {
        guard discovery.isOn else { return }
        let advertisement = advertiser.advertisement
        if isResponse, let first = discovery.waiting, first.address == address {
            discovery.waiting = nil
            report(
                address, first.data + advertisement.scanResponse, rssi, isConnectable: first.isConnectable)
            return
        }
        flushDiscovery()
        if advertisement.isScannable, !isResponse {
            discovery.waiting = (address, advertisement.data, rssi, advertisement.isConnectable)
        } else {
            report(
                address, isResponse ? advertisement.scanResponse : advertisement.data, rssi,
                isConnectable: advertisement.isConnectable)
        }
    }

    private func flushDiscovery() {
        guard let first = discovery.waiting else { return }
        discovery.waiting = nil
        report(first.address, first.data, first.rssi, isConnectable: first.isConnectable)
    }

    private func report(_ address: BluetoothAddress, _ data: [UInt8], _ rssi: Int8, isConnectable: Bool) {
        if let threshold = discovery.rssiThreshold, rssi < threshold { return }
        send(
            .deviceFound(
                ManagementDeviceFound(
                    address: ManagementAddress(address), rssi: rssi, flags: isConnectable ? [] : .notConnectable,
                    data: data.span.bytes)))
    }
}
