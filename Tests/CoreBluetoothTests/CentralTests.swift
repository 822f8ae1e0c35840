import BluetoothLE
import CoreBluetooth
import Testing

@Suite struct CentralTests {
    @Test func fromPowerOnToDisconnection() async throws {
        try await Fixture.withDevice(isReached: false) { _, device, program in
            #expect(program.take() == ["state 5"])
            await program.perform { manager, _ in
                manager.scanForPeripherals(withServices: [CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB")])
                #expect(manager.isScanning)
            }
            await program.wait(for: "discovered Pulse")
            await program.perform { manager, program in
                manager.stopScan()
                #expect(!manager.isScanning)
                guard let peripheral = program.peripherals.first else { return }
                #expect(peripheral.identifier == Device.identifier)
                #expect(peripheral.state == .disconnected)
                #expect(peripheral.services == nil)
                manager.connect(peripheral)
                #expect(peripheral.state == .connecting)
            }
            await program.wait(for: "connected")
            _ = program.take()
            await program.perform { _, program in
                guard let peripheral = program.peripherals.first else { return }
                #expect(peripheral.state == .connected)
                #expect(peripheral.canSendWriteWithoutResponse)
                #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
                #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) > 20)
                peripheral.discoverServices([CBUUID(string: "180D")])
            }
            await program.wait(for: "services")
            await program.perform { _, program in
                guard let peripheral = program.peripherals.first else { return }
                #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D"])
                guard let service = peripheral.services?.first else { return }
                #expect(service.characteristics == nil)
                #expect(service.peripheral === peripheral)
                peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service)
            }
            await program.wait(for: "characteristics 180D")
            await program.perform { _, program in
                guard let peripheral = program.peripherals.first else { return }
                guard let rate = peripheral.characteristic("2A37", in: "180D") else { return }
                #expect(rate.properties == .notify)
                #expect(rate.service?.characteristics?.count == 1)
                peripheral.setNotifyValue(true, for: rate)
            }
            await program.wait(for: "notifying 2A37 true")
            await device.server.notify([0, 72], of: device.handle("2A37", in: "180D"))
            await program.wait(for: "value 2A37 = 0 72")
            await program.perform { manager, program in
                guard let peripheral = program.peripherals.first else { return }
                manager.cancelPeripheralConnection(peripheral)
                #expect(peripheral.state == .disconnecting)
            }
            await program.wait(for: "disconnected")
            #expect(
                program.take() == [
                    "services", "characteristics 180D", "notifying 2A37 true", "value 2A37 = 0 72", "disconnected",
                ])
            await program.perform(with: { peripheral in
                #expect(peripheral.services == nil)
                #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 0)
            })
        }
    }

    @Test func theNameIsRead() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            try device.server.setValue(Array("Pulse of Ada".utf8), of: device.handle("2A00", in: "1800"))
            let program = await Recorder.start(fixture)
            let scan: @Sendable (CBCentralManager, Recorder) -> Void = { manager, _ in
                manager.scanForPeripherals(
                    withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
            }
            await program.perform(scan)
            await program.wait(for: "discovered Pulse")
            await program.perform { manager, program in
                manager.stopScan()
                if let peripheral = program.peripherals.first { manager.connect(peripheral) }
            }
            await program.wait(for: "name Pulse of Ada")
            #expect(program.take().suffix(2) == ["connected", "name Pulse of Ada"])
            await program.perform { manager, program in
                #expect(program.peripherals.first?.name == "Pulse of Ada")
                if let peripheral = program.peripherals.first { manager.cancelPeripheralConnection(peripheral) }
            }
            await program.wait(for: "disconnected")
            // The name is kept, whatever the device advertises.
            await program.perform(scan)
            await program.wait(for: "discovered Pulse of Ada", count: 3)
            #expect(Set(program.take()) == ["disconnected", "discovered Pulse of Ada"])
            #expect(program.advertisements.last?.1[CBAdvertisementDataLocalNameKey] as? String == "Pulse")
        }
    }
}
