import BluetoothLE
import CoreBluetooth
import BluetoothLinux
import TestSupport
import Testing

/// A program written for Apple's systems, which records its callbacks.
final class PortedCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    let journal = Journal<String>()
    let queue = DispatchQueue(label: "program")
    private let name: String
    private var manager: CBCentralManager?
    private(set) var peripheral: CBPeripheral?

    /// Scans for a device by its name; connects to it and discovers everything.
    init(seeking name: String) {
        self.name = name
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue)
    }

    func perform(_ body: @escaping @Sendable (CBCentralManager, CBPeripheral) -> Void) {
        queue.async { [self] in
            if let manager, let peripheral { body(manager, peripheral) }
        }
    }

    /// Releases the manager and the peripheral.
    func end() {
        queue.sync { (manager, peripheral) = (nil, nil) }
    }

    /// Releases the peripheral.
    func release(cancelling: Bool) {
        queue.async { [self] in
            if cancelling, let manager, let peripheral { manager.cancelPeripheralConnection(peripheral) }
            peripheral = nil
        }
    }

    /// Scans for the device once more.
    func seek() {
        queue.async { [self] in manager?.scanForPeripherals(withServices: nil) }
    }

    func characteristic(_ uuid: String) -> CBCharacteristic? {
        peripheral?.services?.lazy.compactMap { $0.characteristics?.first { $0.uuid == CBUUID(string: uuid) } }.first
    }

    func read(_ uuid: String) {
        perform { [self] _, peripheral in
            if let subject = characteristic(uuid) { peripheral.readValue(for: subject) }
        }
    }

    func write(_ value: [UInt8], _ uuid: String) {
        perform { [self] _, peripheral in
            if let subject = characteristic(uuid) {
                peripheral.writeValue(Data(value), for: subject, type: .withResponse)
            }
        }
    }

    func setNotify(_ isOn: Bool, _ uuid: String) {
        perform { [self] _, peripheral in
            if let subject = characteristic(uuid) { peripheral.setNotifyValue(isOn, for: subject) }
        }
    }

    private func note(_ entry: String, _ error: (any Error)? = nil) {
        dispatchPrecondition(condition: .onQueue(queue))
        let text =
            switch error {
            case let error as CBError: " CBError \(error.errorCode)"
            case let error as CBATTError: " CBATTError \(error.errorCode)"
            case nil: ""
            default: " another error"
            }
        journal.add(entry + text)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        note("state \(central.state.rawValue)")
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard self.peripheral == nil, advertisementData[CBAdvertisementDataLocalNameKey] as? String == name else {
            return
        }
        note("found")
        self.peripheral = peripheral
        central.stopScan()
        central.connect(peripheral)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        note("connected")
        peripheral.delegate = self
        peripheral.discoverServices(nil)
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        note("disconnected", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        peripheral.readRSSI()
    }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        note("ready \(RSSI)", error)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("value \(error == nil ? Array(characteristic.value ?? Data()).hexadecimal.lowercased() : "")", error)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("wrote", error)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        note("notifying \(characteristic.isNotifying)", error)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        for descriptor in characteristic.descriptors ?? [] where descriptor.uuid.uuidString == "2901" {
            peripheral.readValue(for: descriptor)
        }
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("descriptor \(descriptor.value as? String ?? "?")", error)
    }
}

/// A program that publishes a service, and records its callbacks.
final class PortedPeripheral: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    let journal = Journal<String>()
    let queue = DispatchQueue(label: "program")
    private let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
    private let dynamic: CBMutableCharacteristic
    private let stream = CBMutableCharacteristic(
        type: CBUUID(string: "FFF2"), properties: [.notify, .indicate], value: nil, permissions: [])
    private let fixed = CBMutableCharacteristic(
        type: CBUUID(string: "FFF3"), properties: .read, value: Data("fixed".utf8), permissions: .readable)
    private var manager: CBPeripheralManager?
    private var value = Data([1, 2, 3])
    private var next = 0
    private var count = 0
    /// The number of values for which there was no room.
    private(set) var refusals = 0

    /// - Parameter isProtected: whether its value requires encryption.
    init(isProtected: Bool = false) {
        dynamic = CBMutableCharacteristic(
            type: CBUUID(string: "FFF1"), properties: [.read, .write], value: nil,
            permissions: isProtected
                ? [.readEncryptionRequired, .writeEncryptionRequired] : [.readable, .writeable])
        super.init()
        service.characteristics = [dynamic, stream, fixed]
        manager = CBPeripheralManager(delegate: self, queue: queue)
    }

    /// Releases the manager.
    func end() {
        queue.sync { manager = nil }
    }

    /// Sends `count` numbered values to the subscribers.
    func send(_ count: Int) {
        queue.async { [self] in
            self.count += count
            sendRest()
        }
    }

    private func sendRest() {
        while next < count {
            let value = Data([UInt8(truncatingIfNeeded: next >> 8), UInt8(truncatingIfNeeded: next)])
            guard manager?.updateValue(value, for: stream, onSubscribedCentrals: nil) == true else {
                refusals += 1
                return
            }
            next += 1
        }
    }

    private func note(_ entry: String) {
        dispatchPrecondition(condition: .onQueue(queue))
        journal.add(entry)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        note("state \(peripheral.state.rawValue)")
        guard peripheral.state == .poweredOn else { return }
        peripheral.add(service)
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "ported", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        note("advertising \(peripheral.isAdvertising)")
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        note("subscribed \(characteristic === stream) \(central.maximumUpdateValueLength)")
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        note("unsubscribed \(characteristic === stream)")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        note("read \(request.offset)")
        request.value = value.subdata(in: request.offset..<value.count)
        peripheral.respond(to: request, withResult: .success)
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        value = requests.reduce(into: Data()) { $0.append($1.value ?? Data()) }
        note("wrote \(value.count) in \(requests.count)")
        let refusal = value == Data([0xEE]) ? CBATTError.Code(rawValue: 0x81) : nil
        peripheral.respond(to: requests[0], withResult: refusal ?? .success)
    }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        note("ready")
        sendRest()
    }
}

extension Fixture {
    /// Runs programs written to Core Bluetooth on this machine's adapter.
    func runPorted(
        bonds: MemoryBondStore = MemoryBondStore(), agent: (any PairingAgent)? = nil,
        _ body: () async throws -> Void
    ) async throws {
        try await CBLinux.withKernel(
            LinuxKernel.shared, hold: nil, agent: agent, bonds: .store(bonds)
        ) {
            try await body()
        }
    }

    /// Waits until a journal has an entry.
    func wait(
        for entry: String, in journal: Journal<String>, count: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = await journal.wait(on: try LinuxKernel.shared.loop, limit: .seconds(60)) { entries in
            entries.count { $0 == entry } >= count
        }
        if found == nil {
            Issue.record("“\(entry)” did not come; there is \(journal.entries)", sourceLocation: sourceLocation)
        }
    }
}
