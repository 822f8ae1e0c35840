import BluetoothGATT
import BluetoothLE
import CoreBluetooth
import Synchronization
import Testing

@Suite struct ValueTests {
    /// Asks for everything in the callback of the discovery, as programs do, while the link subscribes to Service Changed.
    private final class Impatient: NSObject, CBPeripheralDelegate, Sendable {
        func peripheral(
            _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
        ) {
            guard let commands = peripheral.characteristic(Device.uuid(2), in: Device.own),
                let values = peripheral.characteristic(Device.uuid(5), in: Device.own)
            else { return }
            peripheral.setNotifyValue(true, for: values)
            peripheral.writeValue(Data([1]), for: commands, type: .withoutResponse)
        }

        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            for service in peripheral.services ?? [] where service.uuid == CBUUID(string: Device.own) {
                peripheral.discoverCharacteristics(nil, for: service)
            }
        }
    }

    /// A UART ignores what it receives before it is subscribed to.
    @Test func aCommandFollowsTheSubscriptionThatWasAskedForBefore() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let subscribers = Mutex<[Int]>([])
            let values = device.handle(Device.uuid(5), in: Device.own)
            device.server.onWrite { [weak server = device.server] _, _ in
                let count = server?.subscribers(of: values, as: .notification).count ?? 0
                subscribers.withLock { $0.append(count) }
                return .accept
            }
            let program = await Recorder.start(fixture)
            await program.beginConnecting()
            await program.wait(for: "connected")
            let delegate = Impatient()
            await program.perform { _, program in
                program.peripherals.first?.delegate = delegate
                program.peripherals.first?.discoverServices([CBUUID(string: Device.own)])
            }
            await fixture.settle { !subscribers.withLock { $0.isEmpty } }
            #expect(subscribers.withLock { $0 } == [1])
            withExtendedLifetime(delegate) {}
        }
    }

    /// Runs a test with a program that is connected to the device and has discovered everything.
    private func run(
        writeCredits: Int = 64, receiveMTU: UInt16 = 517,
        _ story: @escaping @Sendable (Fixture, Device, Recorder) async throws -> Void
    ) async throws {
        try await Fixture.run(writeCredits: writeCredits) { fixture in
            let device = try Device(on: fixture.radio, limits: GATTServer.Limits(receiveMTU: receiveMTU))
            let program = await Recorder.start(fixture)
            _ = try #require(await program.reachDevice())
            try await story(fixture, device, program)
        }
    }

    @Test func readsAreAnsweredInTheirOrder() async throws {
        try await run { _, _, program in
            await program.perform(with: { peripheral in
                guard let place = peripheral.characteristic("2A38", in: "180D"),
                    let rate = peripheral.characteristic("2A37", in: "180D"),
                    let level = peripheral.characteristic("2A19", in: "180F")
                else { return }
                #expect(place.value == nil)
                peripheral.readValue(for: place)
                peripheral.readValue(for: rate)
                peripheral.readValue(for: level)
                peripheral.readRSSI()
            })
            await program.wait(for: "rssi -55")
            #expect(program.take() == ["value 2A38 = 2", "value 2A37 CBATTError 2", "value 2A19 = 97", "rssi -55"])
            await program.perform(with: { peripheral in
                #expect(peripheral.rssi == -55)
                #expect(peripheral.characteristic("2A37", in: "180D")?.value == nil)
            })
        }
    }

    @Test func longValuesAreReadAndWrittenWhole() async throws {
        try await run { _, device, program in
            let long = Device.uuid(4)
            let note = Device.uuid(1)
            await program.perform(with: { peripheral in
                guard let long = peripheral.characteristic(long, in: Device.own),
                    let note = peripheral.characteristic(note, in: Device.own)
                else { return }
                peripheral.readValue(for: long)
                peripheral.writeValue(Data(repeating: 7, count: 512), for: note, type: .withResponse)
            })
            await program.wait(for: "wrote \(note)")
            await program.perform(with: { peripheral in
                let value = peripheral.characteristic(long, in: Device.own)?.value
                #expect(value == Data((0..<300).map { UInt8(truncatingIfNeeded: $0) }))
                // Writing does not change what was read.
                #expect(peripheral.characteristic(note, in: Device.own)?.value == nil)
            })
            #expect(device.server.value(of: device.handle(note, in: Device.own)) == [UInt8](repeating: 7, count: 512))
        }
    }

    @Test func refusalsAreTold() async throws {
        try await run { _, device, program in
            let refusing = Device.uuid(6)
            let commands = Device.uuid(2)
            await program.perform(with: { peripheral in
                guard let control = peripheral.characteristic("2A39", in: "180D"),
                    let place = peripheral.characteristic("2A38", in: "180D"),
                    let refusing = peripheral.characteristic(refusing, in: Device.own),
                    let commands = peripheral.characteristic(commands, in: Device.own),
                    let note = peripheral.characteristic(Device.uuid(1), in: Device.own)
                else { return }
                // Too long, refused by permission, with an application error, and without the property.
                peripheral.writeValue(Data([1, 2]), for: control, type: .withResponse)
                peripheral.writeValue(Data([1]), for: refusing, type: .withResponse)
                peripheral.writeValue(Data([0xEE]), for: commands, type: .withResponse)
                peripheral.writeValue(Data([1]), for: place, type: .withResponse)
                peripheral.writeValue(Data(count: 513), for: note, type: .withResponse)
                // No answer, and no packet is sent: it does not allow commands.
                peripheral.writeValue(Data([9]), for: note, type: .withoutResponse)
            })
            await program.wait(for: "wrote \(Device.uuid(1)) CBATTError 13")
            #expect(
                program.take() == [
                    "wrote 2A39 CBATTError 13", "wrote \(refusing) CBATTError 3", "wrote \(commands) CBATTError 128",
                    "wrote 2A38 CBATTError 3", "wrote \(Device.uuid(1)) CBATTError 13",
                ])
            #expect(device.server.value(of: device.handle(Device.uuid(1), in: Device.own)) == Array("note".utf8))
        }
    }

    @Test func descriptorsHaveTheirTypes() async throws {
        try await run { _, device, program in
            let note = Device.uuid(1)
            await program.perform(with: { peripheral in
                guard let level = peripheral.characteristic("2A19", in: "180F"),
                    let note = peripheral.characteristic(note, in: Device.own)
                else { return }
                #expect(level.descriptors == nil)
                peripheral.discoverDescriptors(for: level)
                peripheral.discoverDescriptors(for: note)
            })
            await program.wait(for: "descriptors \(note)")
            await program.perform(with: { peripheral in
                guard let level = peripheral.characteristic("2A19", in: "180F"),
                    let note = peripheral.characteristic(note, in: Device.own)
                else { return }
                #expect(level.descriptors?.map(\.uuid.uuidString) == ["2902", "2904"])
                #expect(level.descriptors?.first?.characteristic === level)
                for descriptor in (level.descriptors ?? []) + (note.descriptors ?? []) {
                    #expect(descriptor.value == nil)
                    peripheral.readValue(for: descriptor)
                }
            })
            await program.wait(for: "descriptor 2901")
            await program.perform(with: { peripheral in
                guard let level = peripheral.characteristic("2A19", in: "180F"),
                    let label = peripheral.characteristic(note, in: Device.own)?.descriptors?
                        .first(where: { $0.uuid == CBUUID(string: "2901") })
                else { return }
                #expect(level.descriptors?.first?.value as? NSNumber == 0)
                #expect(level.descriptors?.last?.value as? Data == Data([0x04, 0, 0xAD, 0x27, 1, 0, 0]))
                #expect(label.value as? String == "a note")
                #expect(label.uuid.uuidString == CBUUIDCharacteristicUserDescriptionString)
                peripheral.writeValue(Data("another".utf8), for: label)
                // The configuration is never written.
                if let configuration = level.descriptors?.first {
                    peripheral.writeValue(Data([1, 0]), for: configuration)
                }
                peripheral.readValue(for: label)
            })
            await program.wait(for: "descriptor 2901", count: 2)
            #expect(
                program.take().suffix(3) == [
                    "wrote descriptor 2901", "wrote descriptor 2902 CBATTError 3", "descriptor 2901",
                ])
            await program.perform(with: { peripheral in
                let label = peripheral.characteristic(note, in: Device.own)?.descriptors?
                    .first { $0.uuid == CBUUID(string: "2901") }
                #expect(label?.value as? String == "another")
            })
            #expect(device.server.subscribers(of: device.handle("2A19", in: "180F")).isEmpty)
        }
    }

    @Test func subscribingTwiceAndNotAtAll() async throws {
        try await run { _, device, program in
            let level = device.handle("2A19", in: "180F")
            await program.perform(with: { peripheral in
                guard let level = peripheral.characteristic("2A19", in: "180F"),
                    let place = peripheral.characteristic("2A38", in: "180D")
                else { return }
                peripheral.setNotifyValue(false, for: level)
                peripheral.setNotifyValue(true, for: level)
                #expect(!level.isNotifying)
                peripheral.setNotifyValue(true, for: level)
                peripheral.setNotifyValue(true, for: place)
            })
            await program.wait(for: "notifying 2A38 false CBATTError 6")
            #expect(
                program.take() == [
                    "notifying 2A19 false", "notifying 2A19 true", "notifying 2A19 true",
                    "notifying 2A38 false CBATTError 6",
                ])
            // Both are available; notifications have precedence.
            #expect(device.server.subscribers(of: level, as: .notification).count == 1)
            #expect(device.server.subscribers(of: level, as: .indication).isEmpty)
            await device.server.notify([50], of: level)
            await program.wait(for: "value 2A19 = 50")
            await program.perform(with: "2A19", in: "180F") { $0.setNotifyValue(false, for: $1) }
            await program.wait(for: "notifying 2A19 false", count: 2)
            #expect(device.server.subscribers(of: level, as: .notification).isEmpty)
            #expect(program.take() == ["value 2A19 = 50", "notifying 2A19 false"])
        }
    }

    @Test func indicationsAreConfirmed() async throws {
        try await run { _, device, program in
            let indicating = Device.uuid(3)
            await program.perform(with: indicating, in: Device.own) { $0.setNotifyValue(true, for: $1) }
            await program.wait(for: "notifying \(indicating) true")
            let handle = device.handle(indicating, in: Device.own)
            for number in UInt8(1)...3 { #expect(await device.server.indicate([number], of: handle) == 1) }
            await program.wait(for: "value \(indicating) = 3")
            #expect(program.take().suffix(3) == (1...3).map { "value \(indicating) = \($0)" })
        }
    }

    /// Events that arrive in one burst are reported in the order received, whatever they are.
    @Test func readAndNotificationsInTheOrderOfTheAir() async throws {
        try await run { fixture, device, program in
            let characteristic = Device.uuid(5)
            let handle = device.handle(characteristic, in: Device.own)
            await program.perform(with: characteristic, in: Device.own) { $0.setNotifyValue(true, for: $1) }
            await program.wait(for: "notifying \(characteristic) true")
            _ = program.take()
            for round in 0..<50 {
                let value = UInt8(round * 3)
                try device.server.setValue([value + 1], of: handle)
                // One before the request arrives, and one that follows the answer.
                device.server.notifyAtOnce([value], of: handle)
                await program.perform(with: characteristic, in: Device.own) { $0.readValue(for: $1) }
                await program.wait(for: "value \(characteristic) = \(value + 1)")
                device.server.notifyAtOnce([value + 2], of: handle)
                await program.wait(for: "value \(characteristic) = \(value + 2)")
            }
            #expect(program.take() == (0..<150).map { "value \(characteristic) = \($0)" })
        }
    }

    @Test func aLongWriteWithoutResponseIsWrittenInParts() async throws {
        try await run(receiveMTU: 247) { _, device, program in
            let value = [UInt8](repeating: 5, count: 510) + [1, 2]
            await program.perform(with: Device.uuid(2), in: Device.own) { peripheral, commands in
                #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 244)
                peripheral.writeValue(Data([1]), for: commands, type: .withoutResponse)
                peripheral.writeValue(Data(value), for: commands, type: .withoutResponse)
                peripheral.writeValue(Data([2]), for: commands, type: .withResponse)
            }
            await program.wait(for: "wrote \(Device.uuid(2))")
            #expect(program.take() == ["wrote \(Device.uuid(2))"])
            #expect(device.written.all.first == [1])
            #expect(device.written.all.last == [2])
            #expect(Array(device.written.all.dropFirst().dropLast().joined()) == value)
        }
    }

    @Test func writesOfBothKindsStayInOrder() async throws {
        try await run { fixture, device, program in
            await program.perform(with: Device.uuid(2), in: Device.own) { peripheral, commands in
                for number in 0..<60 {
                    let type: CBCharacteristicWriteType = number.isMultiple(of: 5) ? .withResponse : .withoutResponse
                    peripheral.writeValue(Data([UInt8(number)]), for: commands, type: type)
                }
            }
            await program.wait(for: "wrote \(Device.uuid(2))", count: 12)
            await fixture.settle { device.written.all.count == 60 }
            #expect(device.written.all == (0..<60).map { [UInt8($0)] })
        }
    }

    /// A command does not wait for the response to an earlier request; a request does, and what follows it.
    @Test func aCommandFollowsARequestWithoutAResponse() async throws {
        try await run { fixture, device, program in
            device.server.onWrite { [written = device.written] writes, _ in
                for write in writes { written.append(write.value) }
                return writes.contains { $0.value == [1] } ? .silence : .accept
            }
            await program.perform(with: Device.uuid(2), in: Device.own) { peripheral, commands in
                peripheral.writeValue(Data([1]), for: commands, type: .withResponse)
                peripheral.writeValue(Data([2]), for: commands, type: .withoutResponse)
                peripheral.writeValue(Data([3]), for: commands, type: .withResponse)
                peripheral.writeValue(Data([4]), for: commands, type: .withoutResponse)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(device.written.all == [[1], [2]])
        }
    }

    @Test func includedServices() async throws {
        try await run { _, _, program in
            await program.perform(with: { peripheral in
                guard let service = peripheral.services?.first(where: { $0.uuid == CBUUID(string: "180D") }) else {
                    return
                }
                #expect(service.includedServices == nil)
                peripheral.discoverIncludedServices(nil, for: service)
            })
            await program.wait(for: "included 180D")
            await program.perform(with: { peripheral in
                let service = peripheral.services?.first { $0.uuid == CBUUID(string: "180D") }
                let battery = peripheral.services?.first { $0.uuid == CBUUID(string: "180F") }
                #expect(service?.includedServices?.count == 1)
                #expect(service?.includedServices?.first === battery)
            })
        }
    }
}
