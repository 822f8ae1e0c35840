import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Testing

/// Misuse of the API by programs.
@Suite struct MisuseTests {
    /// An attribute of another peripheral, or of none, is not mistaken for one of this one's with the same handle.
    @Test func attributesOfAnother() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let vault = SimulatedPeripheral(
                on: fixture.radio, address: Device.otherAddress, gatt: try SimulatedGATTServer(Device.services))
            let program = await Recorder.start(fixture)
            _ = try #require(await program.reachDevice())
            await program.perform { manager, program in
                let other = manager.retrievePeripherals(withIdentifiers: [Device.otherIdentifier])
                program.peripherals += other
                manager.connect(other[0])
            }
            await program.wait(for: "connected", count: 2)
            _ = program.take()
            await program.perform { _, program in
                guard let note = program.peripherals[0].characteristic(Device.uuid(1), in: Device.own),
                    let service = note.service
                else { return }
                let other = program.peripherals[1]
                other.discoverCharacteristics(nil, for: service)
                other.discoverIncludedServices(nil, for: service)
                other.discoverDescriptors(for: note)
                other.readValue(for: note)
                other.writeValue(Data([1]), for: note, type: .withResponse)
                other.writeValue(Data([1]), for: note, type: .withoutResponse)
                other.setNotifyValue(true, for: note)
                // One of the program's own.
                let own = CBMutableCharacteristic(
                    type: CBUUID(string: "2A37"), properties: [.read, .write, .notify], value: nil, permissions: [])
                let offer = CBMutableService(type: CBUUID(string: "180D"), primary: true)
                offer.characteristics = [own]
                other.readValue(for: own)
                other.writeValue(Data([1]), for: own, type: .withResponse)
                other.writeValue(Data([1]), for: own, type: .withoutResponse)
                other.setNotifyValue(true, for: own)
                other.discoverCharacteristics(nil, for: offer)
                other.readRSSI()
            }
            await program.wait(for: "rssi -50")
            #expect(program.take().filter { !$0.hasPrefix("name") } == ["characteristics 180D CBError 2", "rssi -50"])
            #expect(device.written.all == [])
            withExtendedLifetime(vault) {}
        }
    }

    /// A peripheral of one manager that is passed to another.
    @Test func peripheralsOfAnother() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, first in
            let second = await Recorder.start(fixture)
            _ = try #require(await first.reachDevice())
            let foreign = first.peripherals[0]
            await second.perform { manager, _ in
                manager.connect(foreign)
                manager.cancelPeripheralConnection(foreign)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(first.take() == [])
            #expect(second.take() == ["state 5"])
            #expect(device.peripheral.links.count == 1)
        }
    }

    @Test func valuesOfWrongSizes() async throws {
        try await Fixture.withDevice { _, device, program in
            let note = Device.uuid(1)
            await program.perform(with: { peripheral in
                guard let note = peripheral.characteristic(note, in: Device.own),
                    let commands = peripheral.characteristic(Device.uuid(2), in: Device.own),
                    let heart = peripheral.characteristic("2A39", in: "180D")
                else { return }
                peripheral.writeValue(Data(count: 513), for: note, type: .withResponse)
                peripheral.writeValue(Data(count: 100_000), for: note, type: .withResponse)
                // An invalid length, according to the device.
                peripheral.writeValue(Data(), for: heart, type: .withResponse)
                peripheral.writeValue(Data(count: 2), for: heart, type: .withResponse)
                peripheral.writeValue(Data(count: 100_000), for: commands, type: .withoutResponse)
                // A slice, whose indices do not begin at zero.
                peripheral.writeValue(Data([1, 2, 3, 4]).dropFirst(2), for: note, type: .withResponse)
                peripheral.readValue(for: note)
                peripheral.openL2CAPChannel(.max)
            })
            await program.wait(for: "channel 0 CBError 1")
            #expect(
                program.take() == [
                    "wrote \(note) CBATTError 13", "wrote \(note) CBATTError 13", "wrote 2A39 CBATTError 13",
                    "wrote 2A39 CBATTError 13", "wrote \(note)", "value \(note) = 3 4", "channel 0 CBError 1",
                ])
            #expect(device.written.all.isEmpty)
        }
    }

    /// Services that cannot be published, and invalid answers.
    @Test func whatAPeripheralManagerIsGiven() async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture)
            await fixture.onQueue {
                guard let manager = server.manager else { return }
                func service(_ uuid: String, _ change: (CBMutableService, CBMutableCharacteristic) -> Void) {
                    let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
                    let characteristic = CBMutableCharacteristic(
                        type: CBUUID(string: "2A56"), properties: .read, value: nil, permissions: .readable)
                    service.characteristics = [characteristic]
                    change(service, characteristic)
                    manager.add(service)
                }
                service("1815") { service, _ in service.includedServices = [service] }
                service("1816") { _, characteristic in characteristic.value = Data(count: 513) }
                service("1817") { _, characteristic in
                    characteristic.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2904"), value: nil)]
                }
                service("1818") { _, characteristic in
                    characteristic.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: Date())]
                }
                service("1819") { service, _ in service.characteristics = [] }
                service("181A") { service, _ in service.characteristics = nil }
                manager.remove(CBMutableService(type: CBUUID(string: "1820"), primary: true))
                let stranger = CBMutableCharacteristic(
                    type: CBUUID(string: "2A56"), properties: .notify, value: nil, permissions: [])
                #expect(manager.updateValue(Data([1]), for: stranger, onSubscribedCentrals: nil))
                #expect(manager.updateValue(Data(), for: server.stream, onSubscribedCentrals: []))
                manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: "not a list", "x": 1])
                manager.unpublishL2CAPChannel(0x7F)
            }
            await fixture.wait(for: "added false 0", in: server.journal, count: 2)
            await fixture.wait(for: "unpublished 127 1", in: server.journal)
            let told = server.journal.entries.filter { $0.hasPrefix("added false") }
            #expect(told.count == 6, "\(told)")
            #expect(told.count { $0 == "added false 1" } == 4, "\(told)")
            // The published service remains.
            let dynamic = Server.dynamic.uuidString
            await client.perform(with: { peripheral in
                if let subject = peripheral.characteristic(dynamic, in: Server.service.uuidString) {
                    peripheral.readValue(for: subject)
                }
            })
            let value = server.value.map { String($0) }.joined(separator: " ")
            await client.wait(for: "value \(dynamic) = \(value)")
        }
    }

    /// Answers that are too long, have invalid codes, are given twice, or from other threads.
    @Test func answersThatMakeNoSense() async throws {
        for (result, length, expected) in [
            (-1, 1, "CBATTError 14"), (256, 1, "CBATTError 14"), (0x80, 1, "CBATTError 128"), (0, 600, ""),
        ] {
            try await Fixture.run { fixture in
                let (server, client) = await Server.visited(fixture)
                let answerer = Answerer(result, length)
                await fixture.onQueue { server.manager?.delegate = answerer }
                let dynamic = Server.dynamic.uuidString
                await client.perform(with: { peripheral in
                    guard let subject = peripheral.characteristic(dynamic, in: Server.service.uuidString) else {
                        return
                    }
                    peripheral.readValue(for: subject)
                    peripheral.readRSSI()
                })
                await client.wait(for: "rssi -50")
                let told = client.take()
                #expect(told.count == 2)
                if expected.isEmpty {
                    // A value of the maximum length, or an error, but one answer.
                    #expect(told.first?.hasPrefix("value \(dynamic)") == true)
                } else {
                    #expect(told.first == "value \(dynamic) \(expected)")
                }
            }
        }
    }

    /// All calls at once from several threads, while the link is established and lost.
    @Test func fromSeveralThreadsAtOnce() async throws {
        try await Fixture.withDevice { fixture, device, program in
            let all = (manager: program.manager, peripheral: program.peripherals[0])
            for round in 0..<5 {
                await concurrently(fixture, 6) { thread in
                    guard let manager = all.manager else { return }
                    let peripheral = all.peripheral
                    for step in 0..<40 {
                        switch (thread + step) % 10 {
                        case 0: manager.connect(peripheral)
                        case 1: manager.cancelPeripheralConnection(peripheral)
                        case 2: peripheral.discoverServices(nil)
                        case 3:
                            for service in peripheral.services ?? [] {
                                peripheral.discoverCharacteristics(nil, for: service)
                            }
                        case 4: peripheral.delegate = step.isMultiple(of: 4) ? nil : program
                        case 5:
                            for subject in (peripheral.services ?? []).flatMap({ $0.characteristics ?? [] }) {
                                peripheral.readValue(for: subject)
                                peripheral.setNotifyValue(step.isMultiple(of: 2), for: subject)
                                peripheral.writeValue(Data([1]), for: subject, type: .withoutResponse)
                            }
                        case 6: manager.scanForPeripherals(withServices: nil)
                        case 7: manager.stopScan()
                        case 8: _ = manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")])
                        default: _ = (peripheral.state, peripheral.name, peripheral.canSendWriteWithoutResponse)
                        }
                    }
                }
                if round.isMultiple(of: 2) { device.peripheral.breakLinks() }
                try await fixture.radio.sleep(for: .seconds(1))
            }
            // The last call takes effect.
            await program.perform { manager, program in
                manager.stopScan()
                manager.cancelPeripheralConnection(program.peripherals[0])
            }
            await fixture.settle { program.peripherals[0].state == .disconnected && device.peripheral.links.isEmpty }
            let count = program.journal.entries.count { $0 == "connected" }
            await program.perform { manager, program in manager.connect(program.peripherals[0]) }
            await program.wait(for: "connected", count: count + 1)
            await program.discoverServices()
        }
    }

    /// The same for a program that publishes services, with a central that reads continuously.
    @Test func offeringFromSeveralThreadsAtOnce() async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture, subscribing: true)
            let all = (manager: server.manager, stream: server.stream)
            let extra = (0..<4).map { CBMutableService(type: CBUUID(string: "181\($0)"), primary: true) }
            for _ in 0..<5 {
                await client.perform(with: { peripheral in
                    guard
                        let subject = peripheral.characteristic(
                            Server.dynamic.uuidString, in: Server.service.uuidString)
                    else { return }
                    for _ in 0..<20 { peripheral.readValue(for: subject) }
                })
                await concurrently(fixture, 4) { thread in
                    guard let manager = all.manager else { return }
                    for step in 0..<40 {
                        switch (thread + step) % 7 {
                        case 0: manager.add(extra[thread])
                        case 1: manager.remove(extra[thread])
                        case 2: manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Server"])
                        case 3: manager.stopAdvertising()
                        case 4:
                            _ = manager.updateValue(Data([UInt8(step)]), for: all.stream, onSubscribedCentrals: nil)
                        case 5:
                            if let central = server.central { manager.setDesiredConnectionLatency(.low, for: central) }
                        default: _ = (manager.isAdvertising, all.stream.subscribedCentrals)
                        }
                    }
                }
                try await fixture.radio.sleep(for: .seconds(1))
            }
            await fixture.onQueue {
                for service in extra { server.manager?.remove(service) }
                server.manager?.stopAdvertising()
            }
            try await fixture.radio.sleep(for: .seconds(20))
            // Its central is notified that everything has changed, and discovers and subscribes again.
            let stream = Server.stream.uuidString
            let notifying = client.journal.entries.count { $0 == "notifying \(stream) true" }
            await client.discoverServices(Server.service.uuidString)
            await client.discoverCharacteristics(upTo: Server.service.uuidString)
            await client.setNotify(true, stream, in: Server.service.uuidString)
            await client.wait(for: "notifying \(stream) true", count: notifying + 1)
            await fixture.onQueue {
                server.left = 3
                server.sendRest()
            }
            await client.wait(for: "value \(stream) = 1 0")
            let done = server.journal.entries.count { $0 == "advertising true 0" }
            await fixture.onQueue { server.manager?.startAdvertising([CBAdvertisementDataLocalNameKey: "Server"]) }
            await fixture.wait(for: "advertising true 0", in: server.journal, count: done + 1)
        }
    }

    /// Programs that call the API from within callbacks.
    @Test func fromWithinCallbacks() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            program.then = [
                "connected": { program, peripheral in
                    guard let peripheral = peripheral as? CBPeripheral else { return }
                    peripheral.discoverServices(nil)
                    peripheral.readRSSI()
                },
                // Ended before the next answer is reported, which then is not.
                "services": { program, _ in program.manager?.cancelPeripheralConnection(program.peripherals[0]) },
                "disconnected": { program, _ in
                    guard program.journal.entries.count(where: { $0 == "disconnected" }) < 20 else { return }
                    program.manager?.connect(program.peripherals[0])
                },
            ]
            await program.beginConnecting()
            await program.wait(for: "disconnected", count: 20)
            let entries = program.journal.entries.filter { !$0.hasPrefix("name") && $0 != "rssi -55" }
            #expect(
                entries == ["state 5"] + (0..<20).flatMap { _ in ["connected", "services", "disconnected"] },
                "\(entries)")
            await fixture.settle { device.peripheral.links.isEmpty }
        }
    }

    /// A removed delegate receives no more calls, and pending requests continue.
    @Test func aDelegateThatIsTakenAway() async throws {
        try await Fixture.withDevice { fixture, device, program in
            let note = Device.uuid(1)
            await program.perform(with: note, in: Device.own) { peripheral, note in
                peripheral.writeValue(Data([5]), for: note, type: .withResponse)
                peripheral.readValue(for: note)
                peripheral.delegate = nil
            }
            await fixture.settle {
                program.peripherals[0].characteristic(note, in: Device.own)?.value == Data([5])
            }
            #expect(program.take() == [])
            await program.perform { manager, program in
                manager.delegate = nil
                manager.cancelPeripheralConnection(program.peripherals[0])
            }
            await fixture.settle { device.peripheral.links.isEmpty && program.peripherals[0].state == .disconnected }
            #expect(program.take() == [])
            await program.perform { manager, program in
                manager.delegate = program
                manager.connect(program.peripherals[0])
            }
            await program.wait(for: "connected", count: 2)
        }
    }
}

/// Calls `body` on several threads at the same time, with time paused until all have returned.
private func concurrently(_ fixture: Fixture, _ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    let hold = fixture.radio
    hold.pauseTime()
    defer { hold.resumeTime() }
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            DispatchQueue.concurrentPerform(iterations: count, execute: body)
            continuation.resume()
        }
    }
}

/// Answers every request with a given value and code, twice.
private final class Answerer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private let result: Int
    private let length: Int

    init(_ result: Int, _ length: Int) {
        self.result = result
        self.length = length
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data(count: length)
        guard let code = CBATTError.Code(rawValue: result) else { return }
        peripheral.respond(to: request, withResult: code)
        peripheral.respond(to: request, withResult: .success)
    }
}
