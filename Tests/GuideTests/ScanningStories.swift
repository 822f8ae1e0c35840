import BluetoothLE
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Scanning.md
@Suite struct ScanningStories {
    /// The devices named in the output.
    private static func heard(_ fixture: Fixture) -> Set<String> {
        Set(fixture.lines.map { String($0.prefix(17)) })
    }

    private static let sensor = "C0:98:E5:12:34:58"
    private static let linble = "C0:98:E5:12:34:56"
    private static let beacon = "C0:98:E5:12:00:01"

    @Test func aListOfDevices() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let time = try await fixture.duration { try await ScanningPage.aListOfDevices(adapter) }
            #expect(time >= .seconds(5) && time < .seconds(6))
            #expect(fixture.lines.count == 3)
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
            // The beacon is the weakest.
            #expect(fixture.lines.last?.hasPrefix(Self.beacon) == true)
        }
    }

    @Test func aScanWithADuration() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let time = try await fixture.duration { try await ScanningPage.aStreamOfAdvertisements2(adapter) }
            #expect(time >= .seconds(5) && time < .seconds(6))
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
        }
    }

    @Test func aStreamOfAdvertisements() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.aStreamOfAdvertisements(adapter) }
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
            // Advertising data and scan response are combined.
            #expect(fixture.lines.contains { $0.contains(Sensor.name) && $0.contains("180D") })
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func reportsInBatches() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.thousandsOfReportsASecond(adapter) }
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test(arguments: ["off", "blocked", "unplugged", "closed"])
    func whatEndsAScan(_ end: String) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.aStreamOfAdvertisements(adapter) }
            try await fixture.settle(printed: 1)
            switch end {
            case "off": fixture.kernel.setPowered(false, adapter: 0)
            case "blocked": fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            case "unplugged": fixture.kernel.unplug(0)
            default: await adapter.close()
            }
            let ended = await failureCode { try await scanning.value }
            let expected: [String: BluetoothError.Code] = [
                "off": .adapterOff, "blocked": .adapterBlocked, "unplugged": .noAdapter, "closed": .cancelled,
            ]
            #expect(ended == expected[end])
        }
    }

    @Test func oneDevice() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ScanningPage.oneDevice(adapter)
            #expect(fixture.lines.count == 1)
            #expect(Self.heard(fixture) == [Self.linble])
            fixture.linble.peripheral.remove()
            let time = await fixture.duration {
                #expect(await failureCode { try await ScanningPage.oneDevice(adapter) } == .notFound)
            }
            #expect(time >= .seconds(10) && time < .seconds(11))
        }
    }

    @Test func filters() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            SimulatedPeripheral(
                on: fixture.radio, address: BluetoothAddress(0xC098_E512_0002, kind: .random),
                advertisements: [try SimulatedAdvertisement(fields: [.localName("Nobody's")])], signalStrength: -75)
            let scanning = fixture.begin { try await ScanningPage.filters(adapter) }
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func eachDeviceOnce() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.duplicates(adapter) }
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(fixture.lines.count == 3)
            #expect(Self.heard(fixture) == [Self.sensor, Self.linble, Self.beacon])
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func whatASlowReaderMisses() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let gate = Gate(before: fixture.radio.loop)
            let reading = Task(executorPreference: gate) { try await ScanningPage.aSlowConsumer(adapter) }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(fixture.lines.isEmpty)
            for count in 1...2 {
                gate.close()
                // Ten advertisements a second and device, most with a scan response.
                try await fixture.radio.sleep(for: .seconds(10))
                #expect(fixture.lines.count == count - 1)
                gate.open()
                try await fixture.settle(printed: count)
            }
            let counts = fixture.lines.compactMap { line in
                let words = line.split(separator: " ")
                return words.count == 5 ? Int(words[0]).flatMap { one in Int(words[2]).map { (one, $0) } } : nil
            }
            #expect(counts.count == 2)
            #expect(counts.first.map { $0.0 == $0.1 && $0.0 > 200 } == true)
            #expect(counts.last.map { $0.0 > 200 && $0.1 > $0.0 } == true)
            #expect(await reading.ended() == .cancelled)
        }
    }

    @Test func longRange() async throws {
        try await Fixture.withAdapter([SimulatedController(hasCoded: true)]) { fixture, adapter in
            SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        data: [2, 0x01, 6], isScannable: false, isLegacy: false, setIdentifier: 5, primaryPHY: .leCoded,
                        secondaryPHY: .leCoded)
                ])
            let scanning = fixture.begin { try await ScanningPage.longRangeIntervalAndWindow(adapter) }
            try await fixture.settle { Set(fixture.lines).count == 2 }
            let far = try #require(fixture.lines.first { $0.contains("Optional(5)") })
            #expect(far == "\(LEPHY.leCoded) \(LEPHY?.some(.leCoded) as Any) Optional(5)")
            #expect(fixture.lines.contains("\(LEPHY.le1M) nil nil"))
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func theDateOfAnAdvertisement() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ScanningPage.theTimeOfReception(adapter)
            #expect(fixture.lines.contains { $0.hasPrefix("20") && $0.hasSuffix(" +0000 \(Sensor.name)") })
        }
    }

    @Test func withoutLECodedTheRestIsReceived() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.longRangeIntervalAndWindow(adapter) }
            try await fixture.settle(printed: 3)
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func howOftenADeviceAdvertises() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await ScanningPage.advertisingIntervals(adapter) }
            try await fixture.radio.sleep(for: .seconds(20))
            // 100 ms, and up to 10 ms of random delay.
            let last = try #require(fixture.lines.last { $0.contains(Self.sensor) })
            #expect(last.contains("Optional(0.10"), "\(last)")
            #expect(await scanning.ended() == .cancelled)
        }
    }
}
