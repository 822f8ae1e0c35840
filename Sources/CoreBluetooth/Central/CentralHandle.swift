import BluetoothSockets
import BluetoothLE
import BluetoothLoop
import Foundation
import Logging
import Synchronization

/// The part of a ``CBCentralManager`` that any thread may use: the program's requests, the reported state, and the one
/// object for each peripheral.
//
// Holds more than ten variables: half of them are the state that threads share behind one lock.
final class CentralHandle: ManagerHandle {
    struct Shared {
        var isScanning = false
        var scanNumber = 0
        var peripherals: [BluetoothAddress: WeakReference<CBPeripheral>] = [:]
        /// The filter of connection events.
        var watchedServices: Set<BluetoothUUID> = []
        var watchedPeers: Set<UUID> = []
    }

    let radio: Radio
    let callbacks: CallbackQueue
    let configuration: CBLinux.Configuration
    let shared = Locked(Shared())
    private let owner: WeakReference<CBCentralManager>
    private let isClosed = Atomic(false)
    private let mark: ComponentCount.Mark

    init(
        _ manager: WeakReference<CBCentralManager>, _ radio: Radio, _ callbacks: CallbackQueue,
        _ configuration: CBLinux.Configuration
    ) {
        owner = manager
        self.radio = radio
        self.callbacks = callbacks
        self.configuration = configuration
        mark = radio.components.mark()
    }

    /// The manager, while the program retains it.
    var manager: CBCentralManager? { owner.object }

    /// Whether the program retains the manager. Unlike ``manager`` it never holds the last reference, under any lock.
    var isOpen: Bool { !isClosed.load(ordering: .acquiring) }

    // MARK: Life

    func begin() {
        radio.soon { [self] in $0.open(CentralHub(self), for: self) }
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        radio.soon { [self] in $0.close(self) }
    }

    /// Reports the adapter's state to the program.
    func radioChanged(_ state: CBManagerState) {
        callbacks.post { [self] in
            guard let manager else { return }
            manager.shared { $0 = state }
            if state != .poweredOn {
                shared { $0.isScanning = false }
                for peripheral in livePeripherals {
                    peripheral.handle.shared { $0.connectionRequest.state = .disconnected }
                }
            }
            manager.reportState()
        }
    }

    // MARK: Peripherals

    private var livePeripherals: [CBPeripheral] {
        shared { $0.peripherals.values.compactMap(\.object) }
    }

    /// The one object for a device.
    func peripheral(_ address: BluetoothAddress) -> CBPeripheral {
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
            shared.peripherals[address] = WeakReference(to: peripheral)
            return peripheral
        }
    }

    func reportConnectionEvent(_ event: CBConnectionEvent, _ peripheral: CBPeripheral) {
        guard let manager else { return }
        let services = peripheral.handle.shared { shared in
            Set(shared.information.advertisedServices + (shared.database.services ?? []).map(\.uuid.bluetooth))
        }
        let isWatched = shared {
            $0.watchedPeers.contains(peripheral.identifier) || !$0.watchedServices.isDisjoint(with: services)
        }
        guard isWatched else { return }
        manager.delegate?.centralManager(manager, connectionEventDidOccur: event, for: peripheral)
    }

    // MARK: Scanning

    func startScan(_ options: ScanOptions) {
        let number = shared { shared in
            shared.scanNumber += 1
            shared.isScanning = true
            return shared.scanNumber
        }
        radio.soon { [self] in $0.hub(of: self)?.beginScan(options, number) }
    }

    func stopScan() {
        shared { shared in
            shared.scanNumber += 1
            shared.isScanning = false
        }
        radio.soon { [self] in $0.hub(of: self)?.endScan() }
    }

    /// Reports a scan's advertisements to the program until it is cancelled.
    /// - Parameter number: the number of the program's scan; reports of an earlier one are discarded.
    func scan(_ options: ScanOptions, _ number: Int) async {
        do throws(BluetoothError) {
            guard let adapter = await radio.adapter else { return }
            for try await advertisement in try await adapter.scan(options) {
                guard let address = advertisement.address else { continue }
                // The next is fetched when the program has processed this one; later ones wait in the scan's buffer.
                await callbacks.drain(.scan) { [self] in received(advertisement, from: address, number) }
            }
        } catch {
            guard error.code != .cancelled else { return }
            coreBluetoothLog.warning("the scan ended: \(error)")
            shared { if $0.scanNumber == number { $0.isScanning = false } }
        }
    }

    private func received(_ advertisement: Advertisement, from address: BluetoothAddress, _ number: Int) {
        guard let manager, shared({ $0.isScanning && $0.scanNumber == number }) else { return }
        let peripheral = peripheral(address)
        let name = advertisement.localName
        let isRenamed = peripheral.handle.shared { shared -> Bool in
            shared.information.advertisedServices = advertisement.services
            guard let name, name != shared.information.name, !shared.information.isNameRead else { return false }
            defer { shared.information.name = name }
            radio.devices.withLock { $0.setName(name, of: address, isRead: false) }
            return shared.information.name != nil
        }
        if isRenamed { peripheral.delegate?.peripheralDidUpdateName(peripheral) }
        manager.delegate?.centralManager(
            manager, didDiscover: peripheral, advertisementData: advertisement.coreBluetooth,
            rssi: NSNumber(value: advertisement.rssi ?? 127))
    }
}

extension Advertisement {
    /// The advertisement as a dictionary with Core Bluetooth's keys; absent fields have none.
    var coreBluetooth: [String: Any] {
        var fields: [String: Any] = [CBAdvertisementDataIsConnectable: NSNumber(value: isConnectable)]
        if let name = data.localName { fields[CBAdvertisementDataLocalNameKey] = name }
        // The dictionary has room for one of each kind; the first is used.
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
