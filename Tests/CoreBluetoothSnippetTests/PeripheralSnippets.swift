import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

// D1: the calls in the guide to the peripheral role, each member once, in our words.

private final class Offerer: NSObject, CBPeripheralManagerDelegate {
    let journal = Journal<String>()
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private(set) var manager: CBPeripheralManager!
    let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "2A3D"), properties: [.notify, .read, .write], value: nil,
        permissions: [.readable, .writeable])
    let service = CBMutableService(type: CBUUID(string: "1815"), primary: true)
    private var text = Data("hello".utf8)

    init(_ queue: DispatchQueue) {
        super.init()
        _ = CBPeripheralManager.authorizationStatus()
        manager = CBPeripheralManager(delegate: self, queue: queue, options: nil)
        let included = CBMutableService(type: CBUUID(string: "1816"), primary: false)
        let label = CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "text")
        characteristic.descriptors = [label]
        included.characteristics = []
        service.characteristics = [characteristic]
        service.includedServices = nil
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
        guard error == nil else { return }
        peripheral.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: [service.uuid], CBAdvertisementDataLocalNameKey: "Offerer",
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
        if peripheral.isAdvertising { journal.add("advertising") }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        peripheral.setDesiredConnectionLatency(.low, for: central)
        guard self.characteristic.subscribedCentrals?.contains(central) == true else { return }
        journal.add("subscribed")
        let isSent = peripheral.updateValue(
            Data([7]), for: self.characteristic, onSubscribedCentrals: [central])
        if isSent { journal.add("sent") }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        journal.add("unsubscribed")
        peripheral.stopAdvertising()
        peripheral.remove(service)
        peripheral.removeAllServices()
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = text[request.offset...]
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        for request in requests where request.characteristic == characteristic { text = request.value ?? Data() }
        peripheral.respond(to: requests[0], withResult: .success)
    }
}

@Suite struct PeripheralSnippets {
    @Test func everythingOffered() async throws {
        try await Fixture.run { fixture in
            let offerer = Offerer(fixture.queue)
            await fixture.wait(for: "advertising", in: offerer.journal)
            let other = fixture.radio.makeKernel(adapters: [.fresh])
            await CBLinux.withKernel(other) {
                let client = await Recorder.start(fixture)
                await client.perform { manager, _ in
                    manager.scanForPeripherals(withServices: [CBUUID(string: "1815")])
                }
                await client.wait(for: "discovered Offerer")
                await client.perform { manager, program in
                    if let peripheral = program.peripherals.first { manager.connect(peripheral) }
                }
                await client.wait(for: "connected")
                await client.perform(with: { $0.discoverServices([CBUUID(string: "1815")]) })
                await client.wait(for: "services")
                await client.perform(with: { peripheral in
                    if let service = peripheral.services?.first {
                        peripheral.discoverCharacteristics(nil, for: service)
                    }
                })
                await client.wait(for: "characteristics 1815")
                await client.perform(with: { peripheral in
                    guard let text = peripheral.characteristic("2A3D", in: "1815") else { return }
                    peripheral.readValue(for: text)
                    peripheral.writeValue(Data([1, 2]), for: text, type: .withResponse)
                    peripheral.readValue(for: text)
                    peripheral.setNotifyValue(true, for: text)
                })
                await client.wait(for: "value 2A3D = 7")
                #expect(
                    client.take().filter { $0.hasPrefix("value") } == [
                        "value 2A3D = 104 101 108 108 111", "value 2A3D = 1 2", "value 2A3D = 7",
                    ])
                await client.perform { manager, program in
                    if let peripheral = program.peripherals.first { manager.cancelPeripheralConnection(peripheral) }
                }
                await fixture.wait(for: "unsubscribed", in: offerer.journal)
                #expect(offerer.journal.entries == ["advertising", "subscribed", "sent", "unsubscribed"])
            }
        }
    }
}
