import BluetoothLE
import CoreBluetooth
import Synchronization
import Testing

/// Managers, delegates and queues as apps use them.
@Suite struct AppTests {
    /// Every call at the wrong time is logged, and has no effect.
    @Test func callsAtTheWrongTime() async throws {
        try await Fixture.withDevice { _, _, program in
            let peripheral = try #require(program.peripherals.first)
            let level = try #require(peripheral.characteristic("2A19", in: "180F"))
            let note = try #require(peripheral.characteristic(Device.uuid(1), in: Device.own))
            await program.perform(with: { $0.discoverDescriptors(for: note) })
            await program.wait(for: "descriptors \(Device.uuid(1))")
            let label = try #require(note.descriptors?.first)
            let service = try #require(level.service)
            await program.disconnect()
            await program.wait(for: "disconnected")
            _ = program.take()
            let (characteristic, descriptor, battery) = (level, label, service)
            let everything: @Sendable (CBPeripheral) -> Void = { peripheral in
                #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 0)
                #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 0)
                #expect(!peripheral.canSendWriteWithoutResponse)
                peripheral.readRSSI()
                peripheral.discoverServices(nil)
                peripheral.discoverIncludedServices(nil, for: battery)
                peripheral.discoverCharacteristics(nil, for: battery)
                peripheral.discoverDescriptors(for: characteristic)
                peripheral.readValue(for: characteristic)
                peripheral.readValue(for: descriptor)
                peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
                peripheral.writeValue(Data([1]), for: characteristic, type: .withoutResponse)
                peripheral.writeValue(Data([1]), for: descriptor)
                peripheral.setNotifyValue(true, for: characteristic)
                peripheral.openL2CAPChannel(0x80)
            }
            await program.perform(with: everything)
            // The objects of the earlier connection are invalid in the next, and every call is answered.
            await program.perform { manager, program in manager.connect(program.peripherals[0]) }
            await program.wait(for: "connected", count: 2)
            await program.perform(with: { peripheral in
                peripheral.discoverCharacteristics(nil, for: battery)
                peripheral.discoverDescriptors(for: characteristic)
                peripheral.readRSSI()
            })
            await program.wait(for: "rssi -55")
            #expect(
                program.take() == [
                    "connected", "characteristics 180F CBError 2", "descriptors 2A19 CBError 2", "rssi -55",
                ])
        }
    }

    @Test func emptyValues() async throws {
        try await Fixture.withDevice { fixture, device, program in
            let note = Device.uuid(1)
            await program.perform(with: { peripheral in
                guard let note = peripheral.characteristic(note, in: Device.own),
                    let commands = peripheral.characteristic(Device.uuid(2), in: Device.own)
                else { return }
                #expect(note.value == nil)
                peripheral.writeValue(Data(), for: note, type: .withResponse)
                peripheral.readValue(for: note)
                peripheral.writeValue(Data(), for: commands, type: .withoutResponse)
                peripheral.setNotifyValue(true, for: note)
            })
            await program.wait(for: "notifying \(note) false CBATTError 6")
            #expect(
                program.take() == [
                    "wrote \(note)", "value \(note) = ", "notifying \(note) false CBATTError 6",
                ])
            #expect(program.peripherals.first?.characteristic(note, in: Device.own)?.value == Data())
            await fixture.settle { device.written.all == [[]] }
            await program.setNotify(true, "2A37", in: "180D")
            await program.wait(for: "notifying 2A37 true")
            await device.server.notify([], of: device.handle("2A37", in: "180D"))
            await program.wait(for: "value 2A37 = ")
        }
    }

    /// The order holds on a concurrent queue, and on a shared one.
    @Test(arguments: [true, false]) func queuesOfTheProgram(isConcurrent: Bool) async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let target = DispatchQueue(label: "target", attributes: isConcurrent ? .concurrent : [])
            let queue = DispatchQueue(
                label: "program", attributes: isConcurrent ? .concurrent : [], target: target)
            let counter = Counter()
            let manager = CBCentralManager(delegate: counter, queue: queue)
            counter.manager = manager
            await fixture.settle { counter.order.withLock { $0.count } >= 300 }
            #expect(counter.order.withLock { $0 } == (0..<300).map { $0 })
            #expect(!counter.overlapped.withLock { $0 })
            withExtendedLifetime(device) {}
        }
    }

    @Test func theMainQueueIsTheUsualOne() async throws {
        try await Fixture.run { fixture in
            let key = DispatchSpecificKey<Bool>()
            DispatchQueue.main.setSpecific(key: key, value: true)
            let program = MainProgram(key)
            await fixture.settle { program.isOn.withLock { $0 } != nil }
            #expect(program.isOn.withLock { $0 } == true)
        }
    }

    /// Managers and peripherals that are released in a callback, and delegates that are replaced.
    @Test func goingInACallback() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            weak let manager = program.manager
            program.then["connected"] = { program, _ in
                program.peripherals = []
                program.manager = nil
            }
            await program.beginConnecting()
            await program.wait(for: "connected")
            await fixture.settle { device.peripheral.links.isEmpty }
            #expect(manager == nil)
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(program.take() == ["state 5", "connected"])
            // Another one, of which only the peripheral is released.
            let other = await Recorder.start(fixture)
            let second = Recorder(fixture)
            other.then["connected"] = { program, _ in
                program.peripherals.first?.delegate = second
                program.peripherals.first?.discoverServices(nil)
            }
            second.then["services"] = { second, _ in
                other.peripherals = []
                second.peripherals = []
            }
            await other.beginConnecting()
            await second.wait(for: "services")
            await fixture.settle { device.peripheral.links.isEmpty }
            #expect(other.manager?.state == .poweredOn)
            #expect(!other.journal.entries.contains("services"))
        }
    }

    /// A link with a channel ends when it is cancelled, although the program retains the channel.
    @Test func cancellingEndsChannelsToo() async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture, subscribing: true)
            await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: false) }
            await fixture.wait(for: "published true", in: server.journal)
            let psm = server.psm
            nonisolated(unsafe) var opened: CBL2CAPChannel?
            client.then["channel \(psm)"] = { _, channel in opened = channel as? CBL2CAPChannel }
            await client.perform(with: { $0.openL2CAPChannel(psm) })
            await client.wait(for: "channel \(psm)")
            await client.disconnect()
            await client.wait(for: "disconnected")
            await fixture.wait(for: "unsubscribed true 0", in: server.journal)
            #expect(opened != nil)
        }
    }

    /// A central that only reads has the maximum length of its link.
    @Test func theLengthOfACentralThatReads() async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture)
            await client.perform(with: { peripheral in
                guard
                    let dynamic = peripheral.characteristic(Server.dynamic.uuidString, in: Server.service.uuidString)
                else { return }
                peripheral.readValue(for: dynamic)
            })
            await fixture.settle { server.reader.withLock { $0 } != nil }
            #expect(server.reader.withLock { $0 } == 512)
        }
    }
}

/// Reads the same value many times and records the order of the callbacks.
private final class Counter: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    let order = Mutex<[Int]>([])
    let overlapped = Mutex(false)
    private let isBusy = Mutex(false)
    private var peripheral: CBPeripheral?
    private var next = 0
    var manager: CBCentralManager?

    private func alone(_ body: () -> Void) {
        if isBusy.withLock({ isBusy in
            defer { isBusy = true }
            return isBusy
        }) {
            overlapped.withLock { $0 = true }
        }
        body()
        isBusy.withLock { $0 = false }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        alone {
            guard central.state == .poweredOn else { return }
            peripheral = central.retrievePeripherals(withIdentifiers: [Device.identifier]).first
            peripheral.map { central.connect($0) }
        }
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        alone {
            peripheral.delegate = self
            peripheral.discoverServices(nil)
        }
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        alone {
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        alone {
            guard let note = peripheral.characteristic(Device.uuid(1), in: Device.own) else { return }
            for number in 0..<300 {
                peripheral.writeValue(
                    Data([UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]), for: note, type: .withResponse)
                peripheral.readValue(for: note)
            }
        }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        alone {
            guard let value = characteristic.value, value.count == 2 else { return }
            order.withLock { $0.append(Int(value[0]) | Int(value[1]) << 8) }
        }
    }
}

/// A program with a manager on the main queue.
private final class MainProgram: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    let isOn = Mutex<Bool?>(nil)
    private let key: DispatchSpecificKey<Bool>
    private var manager: CBCentralManager?

    init(_ key: DispatchSpecificKey<Bool>) {
        self.key = key
        super.init()
        manager = CBCentralManager(delegate: self, queue: nil)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        let isOnMain = DispatchQueue.getSpecific(key: key) == true
        isOn.withLock { $0 = isOnMain }
    }
}
