import CoreBluetooth
import BluetoothSimulation
import Testing

@Suite struct AdvertisementTests {
    @Test func everyFieldHasItsType() async throws {
        try await Fixture.withDevice(isReached: false) { _, _, program in
            await program.perform { manager, _ in manager.scanForPeripherals(withServices: nil) }
            await program.wait(for: "discovered Pulse")
            let (peripheral, fields, rssi) = try #require(program.advertisements.last)
            #expect((-65 ... -45).contains(rssi.intValue))
            #expect(peripheral.name == Device.name)
            #expect(fields[CBAdvertisementDataLocalNameKey] as? String == Device.name)
            #expect(fields[CBAdvertisementDataManufacturerDataKey] as? Data == Data([0xFF, 0xFF, 1, 2]))
            #expect(fields[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "180D")])
            let serviceData = fields[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
            #expect(serviceData?[CBUUID(string: "0000180F-0000-1000-8000-00805F9B34FB")] == Data([97]))
            #expect(fields[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "1805")])
            #expect(fields[CBAdvertisementDataTxPowerLevelKey] as? NSNumber == 4)
            #expect(fields[CBAdvertisementDataIsConnectable] as? NSNumber == true)
            #expect(fields[CBAdvertisementDataIsConnectable] as? Bool == true)
            #expect(fields[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)
        }
    }

    @Test func duplicatesAndFilters() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([5, 9, 0x4C, 0x6F, 0x6E, 0x65])])
            let program = await Recorder.start(fixture)
            _ = program.take()
            func count(_ services: [CBUUID]?, _ options: [String: Any]? = nil) async throws -> [String: Int] {
                nonisolated(unsafe) let options = options
                await program.perform { manager, _ in
                    manager.scanForPeripherals(withServices: services, options: options)
                }
                try await fixture.radio.sleep(for: .seconds(5))
                await program.perform { manager, _ in manager.stopScan() }
                let told = program.take()
                try await fixture.radio.sleep(for: .seconds(1))
                #expect(program.take() == [])
                return Dictionary(grouping: told, by: { $0 }).mapValues(\.count)
            }
            var found = try await count(nil)
            #expect(found == ["discovered Lone": 1, "discovered Pulse": 1])
            found = try await count([CBUUID(string: "180D")])
            #expect(Set(found.keys) == ["discovered Pulse"])
            found = try await count([CBUUID(string: "1811")])
            #expect(found.isEmpty)
            found = try await count([])
            #expect(found.count == 2)
            found = try await count(
                [CBUUID(string: "1811")],
                [CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "1805")]])
            #expect(Set(found.keys) == ["discovered Pulse"])
            for option in [true as Any, NSNumber(value: true)] {
                found = try await count(nil, [CBCentralManagerScanOptionAllowDuplicatesKey: option])
                #expect(found.values.allSatisfy { $0 >= 30 })
            }
            // One object each, however many advertisements were received.
            #expect(program.peripherals.count == 2)
            withExtendedLifetime(device) {}
        }
    }

    /// The name of most devices is in their scan response: the first report waits for that, with a time limit.
    @Test func theFirstReportHasTheName() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            _ = program.take()
            let scan: @Sendable (CBCentralManager, Recorder) -> Void = { manager, _ in
                manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
            }
            await program.perform(scan)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(program.take() == ["discovered Pulse"])
            #expect(program.advertisements.last?.1[CBAdvertisementDataLocalNameKey] as? String == "Pulse")
            // No scan response arrives: the device is reported without a name, and once more when the response arrives.
            fixture.radio.conditions.scanResponseLoss = 1
            await program.perform { manager, program in
                manager.stopScan()
                (program.peripherals, program.advertisements) = ([], [])
            }
            // A scan that follows another at once uses its results.
            try await fixture.radio.sleep(for: .seconds(1))
            await program.perform(scan)
            try await fixture.radio.sleep(for: .seconds(5))
            // The name is that of the advertisements before.
            #expect(program.take() == ["discovered Pulse"])
            #expect(program.advertisements.last?.1[CBAdvertisementDataLocalNameKey] == nil)
            fixture.radio.conditions.scanResponseLoss = 0
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(program.take() == ["discovered Pulse"])
        }
    }

    @Test func aScanWithinAScanReplacesIt() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, _, program in
            await program.perform { manager, _ in
                manager.scanForPeripherals(withServices: nil)
                manager.scanForPeripherals(withServices: [CBUUID(string: "1811")])
                #expect(manager.isScanning)
            }
            _ = program.take()
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(program.take() == [])
            await program.perform { manager, _ in
                manager.stopScan()
                manager.stopScan()
                #expect(!manager.isScanning)
            }
        }
    }
}
