import BluetoothKernel
import BluetoothLE
import Foundation
import Logging
import Synchronization

/// What a program wants to hear of.
struct ScanRequest: Sendable {
    var services: [BluetoothUUID]?
    var solicited: [BluetoothUUID] = []
    var allowsDuplicates = false
    /// Counts the program's scans; what belongs to an earlier one is of no interest any more.
    var number = 0

    var options: ScanOptions {
        var filter = ScanFilter.all
        if let services { filter = .any([.services(services)] + solicited.map { .solicitedService($0) }) }
        var options = ScanOptions(filter: filter, duplicates: allowsDuplicates ? .all : .merge)
        // Most programs look at the first report alone, and at its name.
        options.scanResponseTimeout = .milliseconds(100)
        return options
    }
}

/// A central manager's work, behind ``CBCentralManager``: the state, the scan, and the one object for each peripheral.
actor CentralHub: LoopActor {
    struct Shared {
        var isScanning = false
        var scanNumber = 0
        var peripherals: [BluetoothAddress: WeakReference<CBPeripheral>] = [:]
        /// Of whom connection events are told.
        var watchedServices: Set<BluetoothUUID> = []
        var watchedPeers: Set<UUID> = []
    }

    nonisolated let loop: EventLoop
    nonisolated let radio: Radio
    nonisolated let callbacks: CallbackQueue
    nonisolated let configuration: CBLinux.Configuration
    nonisolated let shared = Locked(Shared())
    private nonisolated let owner: WeakReference<CBCentralManager>
    private var scan: Task<Void, Never>?

    init(
        _ manager: WeakReference<CBCentralManager>, _ radio: Radio, _ callbacks: CallbackQueue,
        _ configuration: CBLinux.Configuration
    ) {
        owner = manager
        self.radio = radio
        self.callbacks = callbacks
        self.configuration = configuration
        loop = radio.loop
    }

    /// The manager, as long as the program has it.
    nonisolated var manager: CBCentralManager? { owner.object }

    /// Whether the program has the manager. Unlike ``manager`` it never holds the last reference, under whatever lock.
    nonisolated var isOpen: Bool { !isClosed.load(ordering: .acquiring) }

    private nonisolated let isClosed = Atomic(false)

    private nonisolated func onLoop(_ body: @escaping @Sendable (isolated CentralHub) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    // MARK: Life

    /// Begins to follow the adapter.
    nonisolated func begin() {
        let id = ObjectIdentifier(self)
        loop.execute { [radio, weak self] in
            radio.assumeIsolated { [weak self] radio in radio.attach(id) { [weak self] in self?.radioChanged($0) } }
        }
    }

    /// Ends everything: the program has no manager any more.
    nonisolated func close() {
        let id = ObjectIdentifier(self)
        isClosed.store(true, ordering: .releasing)
        for peripheral in livePeripherals { peripheral.link.abandon() }
        onLoop { hub in
            hub.scan?.cancel()
            hub.radio.assumeIsolated { $0.detach(id) }
        }
    }

    private nonisolated func radioChanged(_ state: CBManagerState) {
        callbacks.post { [self] in
            guard let manager else { return }
            manager.shared { $0 = state }
            if state != .poweredOn {
                shared { $0.isScanning = false }
                for peripheral in livePeripherals { peripheral.link.shared { $0.state = .disconnected } }
            }
            manager.delegate?.centralManagerDidUpdateState(manager)
        }
    }

    // MARK: Peripherals

    private nonisolated var livePeripherals: [CBPeripheral] {
        shared { $0.peripherals.values.compactMap(\.object) }
    }

    /// The one object for a device.
    nonisolated func peripheral(_ address: BluetoothAddress) -> CBPeripheral {
        // Outlives the lock: the last reference may be among them.
        var live: [CBPeripheral] = []
        defer { withExtendedLifetime(live) {} }
        return shared { shared in
            if let known = shared.peripherals[address]?.object { return known }
            if shared.peripherals.count >= 256, shared.peripherals.count.isMultiple(of: 256) {
                live = shared.peripherals.values.compactMap(\.object)
                shared.peripherals = shared.peripherals.filter { $0.value.object != nil }
            }
            let peripheral = CBPeripheral(address, of: self)
            shared.peripherals[address] = WeakReference(peripheral)
            return peripheral
        }
    }

    /// The object that a link belongs to, as long as the program has it.
    nonisolated func peripheral(of link: PeripheralLink) -> CBPeripheral? {
        let peripheral = shared { $0.peripherals[link.address]?.object }
        return peripheral?.link === link ? peripheral : nil
    }

    nonisolated func tellConnectionEvent(_ event: CBConnectionEvent, _ peripheral: CBPeripheral) {
        guard let manager else { return }
        let services = peripheral.link.shared { shared in
            Set(shared.advertisedServices + (shared.services ?? []).map(\.uuid.bluetooth))
        }
        let isWatched = shared {
            $0.watchedPeers.contains(peripheral.identifier) || !$0.watchedServices.isDisjoint(with: services)
        }
        guard isWatched else { return }
        manager.delegate?.centralManager(manager, connectionEventDidOccur: event, for: peripheral)
    }

    // MARK: Scanning

    nonisolated func startScan(_ request: ScanRequest) {
        var request = request
        request.number = shared { shared in
            shared.scanNumber += 1
            shared.isScanning = true
            return shared.scanNumber
        }
        onLoop { [request] in $0.begin(request) }
    }

    nonisolated func stopScan() {
        shared { shared in
            shared.scanNumber += 1
            shared.isScanning = false
        }
        onLoop { $0.scan?.cancel() }
    }

    private func begin(_ request: ScanRequest) {
        scan?.cancel()
        scan = Task(executorPreference: loop) { [weak self, radio, log = coreBluetoothLog] in
            do throws(BluetoothError) {
                guard let adapter = await radio.adapter else { return }
                for try await advertisement in try await adapter.scan(request.options) {
                    guard let address = advertisement.address else { continue }
                    // The next is taken when the program has this one; those that come meanwhile are in the scan's buffer.
                    guard await self?.tell(advertisement, from: address, request.number) != nil else { return }
                }
            } catch {
                guard error.code != .cancelled else { return }
                log.warning("the scan ended: \(error)")
                self?.shared { if $0.scanNumber == request.number { $0.isScanning = false } }
            }
        }
    }

    private func tell(_ advertisement: Advertisement, from address: BluetoothAddress, _ number: Int) async {
        let isTaken = Promise<Void, Never>()
        callbacks.post { [self] in
            heard(advertisement, from: address, number)
            isTaken.succeed()
        }
        await isTaken.value(ifCancelled: ())
    }

    private nonisolated func heard(_ advertisement: Advertisement, from address: BluetoothAddress, _ number: Int) {
        guard let manager, shared({ $0.isScanning && $0.scanNumber == number }) else { return }
        let peripheral = peripheral(address)
        let name = advertisement.data.localName
        let isRenamed = peripheral.link.shared { shared -> Bool in
            shared.advertisedServices = advertisement.data.services
            guard let name, name != shared.name, !shared.isNameRead else { return false }
            defer { shared.name = name }
            return shared.name != nil
        }
        if isRenamed { peripheral.delegate?.peripheralDidUpdateName(peripheral) }
        manager.delegate?.centralManager(
            manager, didDiscover: peripheral, advertisementData: advertisement.coreBluetooth,
            rssi: NSNumber(value: advertisement.rssi ?? 127))
    }
}

extension Advertisement {
    /// The advertisement as a dictionary with Core Bluetooth's keys; what is not there has none.
    var coreBluetooth: [String: Any] {
        var fields: [String: Any] = [CBAdvertisementDataIsConnectable: NSNumber(value: isConnectable)]
        if let name = data.localName { fields[CBAdvertisementDataLocalNameKey] = name }
        // Several of one kind do not fit into the dictionary; the first counts.
        if let first = data.manufacturerData.first {
            let company = first.company.rawValue
            fields[CBAdvertisementDataManufacturerDataKey] = Data(
                [UInt8(truncatingIfNeeded: company), UInt8(truncatingIfNeeded: company >> 8)] + first.data)
        }
        let services = data.services
        if !services.isEmpty { fields[CBAdvertisementDataServiceUUIDsKey] = services.map { CBUUID($0) } }
        let solicited = data.solicitedServices
        if !solicited.isEmpty { fields[CBAdvertisementDataSolicitedServiceUUIDsKey] = solicited.map { CBUUID($0) } }
        let serviceData = data.serviceData
        if !serviceData.isEmpty {
            fields[CBAdvertisementDataServiceDataKey] = Dictionary(
                serviceData.map { (CBUUID($0.service), Data($0.data)) }, uniquingKeysWith: { first, _ in first })
        }
        if let power = data.txPowerLevel.map(Int.init) ?? transmitPower {
            fields[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: power)
        }
        return fields
    }
}
