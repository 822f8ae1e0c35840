import BluetoothAdvertising
import BluetoothHost
import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    /// What a host does with an adapter as a whole.
    @Suite struct HostAdapterStories {
        @Test(
            .disabled(if: Fixture.isBtvirt, "btvirt reports an advertiser only once"),
            .proves("HostScanning: setScan, features", "HostAdvertising: revert, finish"))
        func aSetIsReplacedAndRestoredUntilNobodyScans() async throws {
            try await HostStories.run { central, peripheral in
                try await central.scan()
                for name in ["one", "two"] {
                    try await peripheral.advertise(name)
                    await peripheral.finishAdvertising()
                }
                #expect(peripheral.told.entries.count { $0 == "advertising 1 settled well" } == 2)
                #expect(await central.isTold("report \(peripheral.address) two"))
                let former = "report \(peripheral.address) one"
                let count = central.told.entries.count { $0 == former }
                await peripheral.revertAdvertising(to: "one")
                #expect(await central.isTold(former, times: count + 1))
                await central.stopScan()
                // The scan is over when what is asked afterwards is answered.
                #expect(try await central.features() != 0)
                try await peripheral.advertise("three")
                await peripheral.finishAdvertising()
                #expect(await !central.isTold("report \(peripheral.address) three", limit: .seconds(2)))
            }
        }

        @Test(.proves("Host: capacity", "HostCapacity: advertisingSets", "HostAdvertising: removeForeign"))
        func theSetsOfOtherProgramsAreCountedAndRemoved() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.peripheral)
                #expect(await user.setsInUse() == 0)
                try await fixture.advertise()
                try await user.advertise("seam")
                await user.finishAdvertising()
                #expect(await user.setsInUse() == 2)
                #expect(try await user.removeForeignAdvertising() == 1)
                #expect(await user.setsInUse() == 1)
            }
        }

        @Test(.proves("HostCapacity: countLinks, follow"))
        func linksAreCountedAndTheirEndsTold() async throws {
            try await HostStories.run { central, peripheral in
                #expect(await central.linkCount == 0)
                try await HostStories.link(central, peripheral)
                #expect(await central.linkCount == 1)
                await peripheral.closeChannel()
                #expect(await central.isTold("a link ended"))
            }
        }

        @Test(.proves("Host: defaults, setDefaults"))
        func defaultsHoldUntilTheyAreChanged() async throws {
            try await HostStories.run { central, _ in
                let wanted = AdapterDefaults(
                    connectScanInterval: .milliseconds(80), connectScanWindow: .milliseconds(40),
                    connectTimeout: .seconds(7), advertisingInterval: .milliseconds(200) ... .milliseconds(300))
                try await central.setDefaults(wanted)
                var now = try await central.defaults()
                (now.connectionParameters, now.phys) = (nil, nil)
                #expect(now == wanted)
            }
        }

        @Test(
            .proves(
                "Host: health", "HostHealth: controllerProperties, probe, countLinks, perform, isRecoveredElsewhere"))
        func aStepOfRecoveryIsSeenByOthersOnTheAdapter() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.central)
                let other = try await HostUser.make(fixture, fixture.central)
                let properties = try await user.controllerProperties()
                #expect(properties.supportedCommandCount > 0)
                #expect(properties.linkCount == 0)
                #expect(await user.probe())
                #expect(await user.countLinks() == 0)
                #expect(await !other.isRecoveredElsewhere)
                await user.perform(.powerCycle)
                #expect(await other.isRecoveredElsewhere)
                #expect(await !user.isRecoveredElsewhere)
                #expect(await user.isTold("step done"))
                #expect(await !other.isRecoveredElsewhere)
                for user in [user, other] {
                    #expect(await user.isTold("adapter off"))
                    #expect(await user.isTold("adapter on"))
                }
            }
        }

        @Test(.proves("HostDirectory: prepare, changeCount, change, isSwitchedOff, restoreSettings"))
        func anAdapterIsPreparedAndPutBack() async throws {
            try await HostStories.run { central, _ in
                async let change: Void = central.waitForChange()
                try #require(await central.isTold("waits for a change"))
                try await central.setPowered(false)
                #expect(await central.isTold("adapter off"))
                try await change
                let order = central.told.entries.filter { ["adapter off", "change"].contains($0) }
                #expect(order == ["adapter off", "change"])
                #expect(await central.isSwitchedOff)
                let former = try await central.information()
                #expect(try await central.prepare().isPowered)
                #expect(await central.isTold("adapter on"))
                #expect(await !central.isSwitchedOff)
                try await central.restoreSettings(to: former)
                #expect(await central.isTold("adapter off", times: 2))
            }
        }
    }
}

extension ConformanceUnprivileged {
    @Test(.proves("Host: obstacles"))
    func aHostSaysWhatItsProgramMayNotDo() async throws {
        try await Fixture.run(privileged: false) { fixture in
            let obstacles = try await HostUser.make(fixture, fixture.central).obstacles
            #expect(obstacles.central?.code == .notPermitted)
            #expect(obstacles.peripheral?.code == .notPermitted)
        }
    }
}

extension HostUser {
    private static let use = BluetoothError.Operation("use the adapter")

    // MARK: Scanning and advertising

    /// The mask of the controller's features.
    func features() async throws -> UInt64 { try await host.scanning.features(Self.use).rawValue }

    func finishAdvertising() async { await host.advertising.finish() }

    func revertAdvertising(to name: String) {
        host.advertising.revert(1, to: AdvertisementContent(localName: name))
    }

    func removeForeignAdvertising() async throws -> Int { try await host.advertising.removeForeign(Self.use) }

    // MARK: Room

    func setsInUse() async -> Int? { await host.capacity.advertisingSets()?.inUse }

    var linkCount: Int? { host.capacity.countLinks() }

    // MARK: The adapter

    var obstacles: HostObstacles { host.obstacles }

    func defaults() async throws -> AdapterDefaults { try await host.defaults(Self.use) }

    func setDefaults(_ defaults: AdapterDefaults) async throws { try await host.setDefaults(defaults, Self.use) }

    func controllerProperties() async throws -> ControllerProperties {
        try await host.health.controllerProperties(Self.use)
    }

    func probe() async -> Bool {
        await withCheckedContinuation { continuation in host.health.probe { continuation.resume(returning: $0) } }
    }

    func countLinks() async -> Int? {
        await withCheckedContinuation { continuation in host.health.countLinks { continuation.resume(returning: $0) } }
    }

    /// Begins a step; an event reports its end.
    func perform(_ step: RecoveryStep) {
        host.health.perform(step) { [told] failure in told.add("step \(failure.map { "\($0.code)" } ?? "done")") }
    }

    var isRecoveredElsewhere: Bool { host.health.isRecoveredElsewhere }

    // MARK: The directory

    /// What is known of the adapter.
    func information() throws -> AdapterInformation {
        try #require(directory.adapter(adapterRecord.information.index))
    }

    var isSwitchedOff: Bool { directory.isSwitchedOff(adapterRecord.information.index) }

    /// Powers the adapter on, as before its use.
    func prepare() async throws -> AdapterInformation {
        try await directory.prepare(information(), AdapterRequirements(power: .powerOn), store: nil)
    }

    func restoreSettings(to former: AdapterInformation) async throws {
        try await directory.restoreSettings(of: information(), to: former)
    }

    /// Waits for a change; events report the begin and the end of the wait.
    func waitForChange() async throws {
        told.add("waits for a change")
        try await directory.change(since: directory.changeCount, Self.use, timeout: .seconds(30))
        told.add("change")
    }
}
