import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

// The code of the guides to the central role, in our words, call by call and with their types. The ids are those of the
// checklist of documented calls: B for the Swift ones, C for those that were written in Objective-C.

/// A stand-in for an app's screen.
open class UIViewController: NSObject {
    open func viewDidLoad() {}
}

/// B1: a screen with a manager that is created when it appears.
private class Screen: UIViewController {
    let journal = Journal<String>()
    let queue: DispatchQueue
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var centralManager: CBCentralManager!
    fileprivate var discovered: [CBPeripheral] = []
    fileprivate var connected: CBPeripheral?
    fileprivate var steps: [() -> Void] = []

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    override func viewDidLoad() {
        super.viewDidLoad()
        centralManager = CBCentralManager(delegate: self, queue: queue)
    }

    // B4: scan for everything.
    fileprivate func scan() { centralManager.scanForPeripherals(withServices: nil, options: nil) }

    // B5, B6.
    fileprivate func connect(_ peripheral: CBPeripheral) {
        centralManager.stopScan()
        centralManager.connect(peripheral, options: nil)
    }
    fileprivate func disconnect(_ peripheral: CBPeripheral) { centralManager.cancelPeripheralConnection(peripheral) }

    // B8.
    fileprivate func discoverServices(_ peripheral: CBPeripheral) { peripheral.discoverServices(nil) }
    fileprivate func discoverCharacteristics(_ peripheral: CBPeripheral) {
        guard let services = peripheral.services else { return }
        for service in services { peripheral.discoverCharacteristics(nil, for: service) }
    }

    // B9.
    fileprivate func discoverDescriptors(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
        peripheral.discoverDescriptors(for: characteristic)
    }

    // B10, B11.
    fileprivate func subscribe(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
        peripheral.setNotifyValue(true, for: characteristic)
    }
    fileprivate func read(_ characteristic: CBCharacteristic) { connected?.readValue(for: characteristic) }

    // B12, B13.
    fileprivate func write(_ value: Data, _ characteristic: CBCharacteristic) {
        connected?.writeValue(value, for: characteristic, type: .withResponse)
        if connected?.canSendWriteWithoutResponse == true {
            connected?.writeValue(value, for: characteristic, type: .withoutResponse)
        }
    }

    fileprivate func characteristic(_ uuid: String, in service: String) -> CBCharacteristic? {
        connected?.services?.first { $0.uuid.uuidString == service }?.characteristics?.first {
            $0.uuid.uuidString == uuid
        }
    }
}

// B2, B3, B4 to B6: the manager's delegate, in an extension of the class.
extension Screen: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: scan()
        case .poweredOff: break
        case .resetting: break
        case .unauthorized: break
        case .unknown: break
        case .unsupported: break
        }
        journal.add("state \(central.state.rawValue)")
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard peripheral.name == "Pulse", discovered.isEmpty else { return }
        discovered.append(peripheral)
        connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        connected = peripheral
        // B7.
        peripheral.delegate = self
        journal.add("connected")
        discoverServices(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
        journal.add("failed")
    }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        journal.add(error == nil ? "disconnected as wanted" : "disconnected")
    }
}

extension Screen: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        guard peripheral.services != nil else { return }
        discoverCharacteristics(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        guard let characteristics = service.characteristics else { return }
        journal.add("\(service.uuid.uuidString): \(characteristics.map(\.uuid.uuidString).joined(separator: " "))")
        if service.uuid.uuidString == Device.own, let level = characteristic("2A19", in: "180F") {
            discoverDescriptors(peripheral, level)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: Error?
    ) {
        guard let descriptors = characteristic.descriptors else { return }
        if let format = descriptors.first(where: { $0.uuid.uuidString == CBUUIDCharacteristicFormatString }) {
            peripheral.readValue(for: format)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {
        // The characteristic of a descriptor, in code from before it was optional.
        if descriptor.uuid.uuidString == CBUUIDCharacteristicFormatString {
            journal.add(
                "format of \(descriptor.characteristic.uuid.uuidString): \((descriptor.value as? Data)?.count ?? 0)")
        }
        guard let rate = characteristic("2A37", in: "180D") else { return }
        subscribe(peripheral, rate)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        if error != nil { return }
        journal.add("subscribed")
        if let place = self.characteristic("2A38", in: "180D") { read(place) }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        if error != nil { return }
        guard let value = characteristic.value else { return }
        journal.add("\(characteristic.uuid.uuidString) = \([UInt8](value))")
        if characteristic.uuid == CBUUID(string: "2A38"),
            let commands = self.characteristic(Device.uuid(2), in: Device.own)
        {
            write(Data([1, 2]), commands)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        journal.add("written")
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}
}

/// C1 to C13: the tasks of a central, printing every result.
private final class Central: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    let journal = Journal<String>()
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var manager: CBCentralManager!
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var peripheral: CBPeripheral!
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var interesting: CBCharacteristic!

    init(_ queue: DispatchQueue) {
        super.init()
        // C1.
        manager = CBCentralManager(delegate: self, queue: queue, options: nil)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        // C2.
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil, options: nil) }
    }

    // C3 to C5.
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard let name = peripheral.name, self.peripheral == nil else { return }
        journal.add("Discovered \(name)")
        self.peripheral = peripheral
        central.stopScan()
        central.connect(peripheral, options: nil)
    }

    // C6, C7.
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        journal.add("Peripheral connected")
        peripheral.delegate = self
        peripheral.discoverServices(nil)
    }

    // C8, C9.
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        for service in peripheral.services ?? [] {
            journal.add("Discovered service \(service)")
            if service.uuid == CBUUID(string: "180F") { peripheral.discoverCharacteristics(nil, for: service) }
        }
    }

    // C10, C11.
    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        for characteristic in service.characteristics ?? [] {
            journal.add("Discovered characteristic \(characteristic)")
            interesting = characteristic
            peripheral.readValue(for: characteristic)
        }
    }

    // C12.
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        let data = characteristic.value
        journal.add("value \(data?.first ?? 0)")
        if !characteristic.isNotifying { peripheral.setNotifyValue(true, for: interesting) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        if let error = error { journal.add("Error changing notification state: \(error.localizedDescription)") }
        // C13: a write that the characteristic does not allow.
        peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        if let error = error { journal.add("Error writing characteristic value: \(error.localizedDescription)") }
    }
}

@Suite struct CentralSnippets {
    @Test func aScreen() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let screen = Screen(fixture.queue)
            screen.viewDidLoad()
            await fixture.wait(for: "written", in: screen.journal)
            await device.server.notify([0, 60], of: device.handle("2A37", in: "180D"))
            await fixture.wait(for: "2A37 = [0, 60]", in: screen.journal)
            #expect(device.written.all == [[1, 2], [1, 2]])
            await fixture.onQueue { if let connected = screen.connected { screen.disconnect(connected) } }
            await fixture.wait(for: "disconnected as wanted", in: screen.journal)
            let told = screen.journal.entries
            #expect(told.prefix(2) == ["state 5", "connected"])
            #expect(told.contains("180D: 2A37 2A38 2A39"))
            #expect(
                told.suffix(6) == [
                    "format of 2A19: 7", "subscribed", "2A38 = [2]", "written", "2A37 = [0, 60]",
                    "disconnected as wanted",
                ])
        }
    }

    @Test func theTasksOfACentral() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let central = Central(fixture.queue)
            await fixture.wait(
                for: "Error writing characteristic value: Writing is not permitted.", in: central.journal)
            let told = central.journal.entries
            #expect(told.prefix(2) == ["Discovered Pulse", "Peripheral connected"])
            #expect(told.contains("Discovered service <CBService: isPrimary = true, UUID = 180F>"))
            #expect(told.contains { $0.hasPrefix("Discovered characteristic <CBCharacteristic: UUID = 2A19") })
            #expect(told.contains("value 97"))
            #expect(device.server.subscribers(of: device.handle("2A19", in: "180F")).count == 1)
        }
    }
}
