import BluetoothLE
import SimulatedKernel
import Synchronization
import Testing

/// Runs a task on a loop, and holds it up while it is closed: a reader that is slow.
private final class Gate: TaskExecutor {
    private struct State {
        var isOpen = true
        var jobs: [UnownedJob] = []
    }

    private let loop: EventLoop
    private let state = Mutex(State())

    init(before loop: EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.jobs.append(job) }
            return state.isOpen
        }
        if isOpen { run(job) }
    }

    func close() { state.withLock { $0.isOpen = false } }

    func open() {
        let jobs = state.withLock { state in
            state.isOpen = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { run(job) }
    }

    private func run(_ job: UnownedJob) {
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Docs/Guide/Central/Scanning.md
@Suite struct ScanningStories {
    /// Who is named in the output.
    private static func heard(_ world: World) -> Set<String> {
        Set(world.lines.map { String($0.prefix(17)) })
    }

    private static let sensor = "C0:98:E5:12:34:58"
    private static let linble = "C0:98:E5:12:34:56"
    private static let beacon = "C0:98:E5:12:00:01"

    @Test func everythingThereIs() async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await ScanningPage.everythingThereIs(adapter) }
            try await world.radio.sleep(for: .seconds(3))
            #expect(Self.heard(world) == [Self.sensor, Self.linble, Self.beacon])
            // Advertising data and scan response are one.
            #expect(world.lines.contains { $0.contains(Sensor.name) && $0.contains("180D") })
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test(arguments: ["off", "blocked", "unplugged", "closed"])
    func whatEndsAScan(_ end: String) async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await ScanningPage.everythingThereIs(adapter) }
            try await world.settle(printed: 1)
            switch end {
            case "off": world.kernel.setPowered(false, adapter: 0)
            case "blocked": world.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            case "unplugged": world.kernel.unplug(0)
            default: await adapter.close()
            }
            let ended = await code { try await scanning.value }
            let expected: [String: BluetoothError.Code] = [
                "off": .adapterOff, "blocked": .adapterBlocked, "unplugged": .noAdapter, "closed": .cancelled,
            ]
            #expect(ended == expected[end])
        }
    }

    @Test func oneDevice() async throws {
        try await World.withAdapter { world, adapter in
            try await ScanningPage.oneDevice(adapter)
            #expect(world.lines.count == 1)
            #expect(Self.heard(world) == [Self.linble])
            world.linble.peripheral.remove()
            let time = await world.duration {
                #expect(await code { try await ScanningPage.oneDevice(adapter) } == .notFound)
            }
            #expect(time >= .seconds(10) && time < .seconds(11))
        }
    }

    @Test func filters() async throws {
        try await World.withAdapter { world, adapter in
            SimulatedPeripheral(
                on: world.radio, address: BluetoothAddress(0xC098_E512_0002, kind: .random),
                advertisements: [try SimulatedAdvertisement(fields: [.localName("Nobody's")])], signalStrength: -75)
            let scanning = world.begin { try await ScanningPage.filters(adapter) }
            try await world.radio.sleep(for: .seconds(3))
            #expect(Self.heard(world) == [Self.sensor, Self.linble, Self.beacon])
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func eachDeviceOnce() async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await ScanningPage.duplicates(adapter) }
            try await world.radio.sleep(for: .seconds(10))
            #expect(world.lines.count == 3)
            #expect(Self.heard(world) == [Self.sensor, Self.linble, Self.beacon])
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func whatASlowReaderMisses() async throws {
        try await World.withAdapter { world, adapter in
            let gate = Gate(before: world.radio.loop)
            let reading = Task(executorPreference: gate) { try await ScanningPage.whenYouAreSlow(adapter) }
            try await world.radio.sleep(for: .seconds(5))
            #expect(world.lines.isEmpty)
            for count in 1...2 {
                gate.close()
                // Ten advertisements a second and device, most with a scan response.
                try await world.radio.sleep(for: .seconds(10))
                #expect(world.lines.count == count - 1)
                gate.open()
                try await world.settle(printed: count)
            }
            let counts = world.lines.compactMap { line in
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
        try await World.withAdapter([SimulatedController(hasCoded: true)]) { world, adapter in
            SimulatedPeripheral(
                on: world.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        data: [2, 0x01, 6], isScannable: false, isLegacy: false, setIdentifier: 5, primaryPHY: .leCoded,
                        secondaryPHY: .leCoded)
                ])
            let scanning = world.begin { try await ScanningPage.longRangeAndHowOftenToListen(adapter) }
            try await world.settle { Set(world.lines).count == 2 }
            let far = try #require(world.lines.first { $0.contains("Optional(5)") })
            #expect(far == "\(LEPHY.leCoded) \(LEPHY?.some(.leCoded) as Any) Optional(5)")
            #expect(world.lines.contains("\(LEPHY.le1M) nil nil"))
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func withoutLECodedTheRestIsHeard() async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await ScanningPage.longRangeAndHowOftenToListen(adapter) }
            try await world.settle(printed: 3)
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func howOftenADeviceAdvertises() async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await ScanningPage.howOftenADeviceAdvertises(adapter) }
            try await world.radio.sleep(for: .seconds(20))
            // 100 ms, and up to 10 ms of chance.
            let last = try #require(world.lines.last { $0.contains(Self.sensor) })
            #expect(last.contains("Optional(0.10"), "\(last)")
            #expect(await scanning.ended() == .cancelled)
        }
    }
}
