import BluetoothAdvertising
import BluetoothHost
import BluetoothSimulation
import TestSupport
import Testing

extension Conformance {
    /// What a host does with an adapter as a whole.
    @Suite struct HostAdapterStories {
        @Test(
            .disabled(if: Fixture.isBtvirt, "btvirt reports an advertiser only once"),
            .proves("HostScanning: setScan, features"))
        func aSetIsReplacedAndRestoredUntilNobodyScans() async throws {
            try await HostStories.run { central, peripheral in
                try await central.scan()
                for (count, name) in ["one", "two"].enumerated() {
                    await peripheral.advertise(name)
                    #expect(await peripheral.isTold("advertising 1 settled well", times: count + 1))
                }
                #expect(await central.isTold("report \(peripheral.address) two"))
                let former = "report \(peripheral.address) one"
                let count = central.told.entries.count { $0 == former }
                await peripheral.advertise("one")
                #expect(await central.isTold(former, times: count + 1))
                await central.stopScan()
                // The scan is over when what is asked afterwards is answered.
                #expect(try await central.features() != 0)
                await peripheral.advertise("three")
                #expect(await peripheral.isTold("advertising 1 settled well", times: 4))
                #expect(await !central.isTold("report \(peripheral.address) three", limit: .seconds(2)))
            }
        }

        @Test(.proves("HostAdvertising: limits, removeForeign"))
        func theSetsOfOtherProgramsAreCountedAndRemoved() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.peripheral)
                #expect(try await user.setsInUse() == 0)
                try await fixture.advertise()
                await user.advertise("seam")
                #expect(await user.isTold("advertising 1 settled well"))
                #expect(try await user.setsInUse() == 2)
                #expect(try await user.removeForeignAdvertising() == 1)
                #expect(try await user.setsInUse() == 1)
            }
        }

        @Test(.proves("Host: health", "HostHealth: countLinks", "HostReceiver: receive", "HostChannels: followLinks"))
        func linksAreCountedAndTheirEndsTold() async throws {
            try await HostStories.run { central, peripheral in
                let following = await central.followLinks()
                #expect(await central.linkCount == 0)
                try await HostStories.link(central, peripheral)
                #expect(await central.linkCount == 1)
                #expect(await central.endLink())
                #expect(central.told.entries.contains("link ended"))
                #expect(await peripheral.isTold("channel closed"))
                withExtendedLifetime(following) {}
            }
        }

        @Test(.proves("Host: adapterChanged"))
        func aSetWaitsForItsAdapter() async throws {
            try await HostStories.run { _, peripheral in
                await peripheral.advertise("seam")
                try #require(await peripheral.isTold("advertising 1 settled well"))
                try await peripheral.setPowered(false)
                try #require(await peripheral.isTold("adapter off"))
                await peripheral.leave()
                #expect(await peripheral.isTold("advertising 1 waiting"))
                try await peripheral.setPowered(true)
                try #require(await peripheral.isTold("adapter on"))
                await peripheral.resume()
                #expect(await peripheral.isTold("advertising 1 advertising", times: 2))
                let settled = "advertising 1 settled well"
                let count = peripheral.told.entries.count { $0 == settled }
                await peripheral.becomeForgetful()
                #expect(await peripheral.isTold(settled, times: count + 1))
            }
        }

        @Test(.proves("Host: close", "HostDirectory: close"))
        func whatIsClosedEndsWhatIsPending() async throws {
            try await HostStories.run { _, peripheral in
                await peripheral.advertise("seam")
                try #require(await peripheral.isTold("advertising 1 settled well"))
                await peripheral.close()
                #expect(await peripheral.isTold("advertising 1 closed"))
                #expect(await peripheral.isTold("host ended cancelled true"))
                #expect(await failure { try await peripheral.setPowered(true) }?.code == .cancelled)
            }
        }

        @Test(.enabled(if: !Fixture.isLinux, "no controller there hangs"), .proves("HostHealth: showsHang"))
        func aControllerThatHangsIsKnownByItsPower() async throws {
            try await Fixture.run { fixture in
                let kernel = try #require(fixture.kernel as? SimulatedKernel)
                let user = try await HostUser.make(fixture, fixture.central)
                try await user.setPowered(false)
                kernel.setSilent(true, adapter: fixture.central.index)
                let hang = try #require(await failure { try await user.setPowered(true) })
                #expect(await user.showsHang(hang))
                let other = BluetoothError(.cancelled, hang.operation, "It was cancelled.")
                #expect(await !user.showsHang(other))
                kernel.setSilent(false, adapter: fixture.central.index)
            }
        }

        @Test(
            .enabled(if: !Fixture.isLinux, "every controller there has an address"),
            .proves("AdapterStore: localIdentity, prepare"))
        func anAdapterWithoutAnAddressHasTheStoredOne() async throws {
            try await Fixture.run { fixture in
                let kernel = try #require(fixture.kernel as? SimulatedKernel)
                let index = kernel.plug(SimulatedController(address: .zero, isDualMode: false, isPowered: false))
                let bare = try #require(try kernel.adapters().first { $0.index == index })
                let store = HostUser.IdentityStore()
                let user = try await HostUser.make(fixture, bare, store: store)
                #expect(user.address == store.identity.staticAddress)
                #expect(store.prepared.entries == ["hci\(index)"])
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
                "HostHealth: controllerProperties, probe, perform, isRecoveredElsewhere"))
        func aStepOfRecoveryIsSeenByOthersOnTheAdapter() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.central)
                let other = try await HostUser.make(fixture, fixture.central)
                let properties = try await user.controllerProperties()
                #expect(properties.supportedCommandCount > 0)
                #expect(properties.linkCount == 0)
                #expect(await user.probe())
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

        @Test(.proves("HostDirectory: receiver, bring, isSwitchedOff", "DirectoryReceiver: receive"))
        func anAdapterIsPreparedAndPutBack() async throws {
            try await HostStories.run { central, _ in
                try await central.setPowered(false)
                #expect(await central.isTold("adapter off"))
                #expect(await central.isSwitchedOff)
                let former = try await central.information()
                try await central.setPowered(true)
                #expect(await central.isTold("adapter on"))
                #expect(await !central.isSwitchedOff)
                try await central.restoreSettings(to: former)
                #expect(await central.isTold("adapter off", times: 2))
            }
        }

        @Test(.enabled(if: Fixture.canBlock), .proves("HostDirectory: refresh"))
        func aBlockedAdapterIsKnownAheadOfTheReport() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.central)
                #expect(try await user.information().isPowered)
                fixture.atEnd { try? fixture.setBlocked(false) }
                let information = try await user.information { try fixture.setBlocked(true) }
                #expect(information.isSoftBlocked)
                #expect(!information.isPowered)
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

    func removeForeignAdvertising() async throws -> Int { try await host.advertising.removeForeign() }

    func becomeForgetful() { host.adapterChanged(.forgetful) }

    // MARK: Room

    func setsInUse() async throws -> Int { try await host.advertising.limits(Self.use).countInUse }

    var linkCount: Int? { host.health.countLinks() }

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

    func showsHang(_ failure: BluetoothError) -> Bool { host.health.showsHang(failure) }

    /// Begins a step; an event reports its end.
    func perform(_ step: RecoveryStep) {
        host.health.perform(step) { [told] failure in told.add("step \(failure.map { "\($0.code)" } ?? "done")") }
    }

    var isRecoveredElsewhere: Bool { host.health.isRecoveredElsewhere }

    // MARK: The directory

    /// A store with one identity, and the keys of a test, which records the adapters that are prepared.
    final class IdentityStore: AdapterStore, Sendable {
        let keys: [PeerKeys]?
        let identity = LocalIdentity.random()
        let prepared = Journal<String>()

        init(keys: [PeerKeys]? = []) { self.keys = keys }

        func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity? { identity }
        func prepare(_ information: AdapterInformation) async { prepared.add(information.name) }
    }

    /// What is known of the adapter.
    func information() throws -> AdapterInformation {
        try #require(directory.adapter(adapterRecord.information.id))
    }

    /// The same right after `change`, of which the host has had no report.
    func information(rightAfter change: @Sendable () throws -> Void) throws -> AdapterInformation {
        try change()
        directory.refresh(adapterRecord.information.id)
        return try information()
    }

    var isSwitchedOff: Bool { directory.isSwitchedOff(adapterRecord.information.id) }

    func restoreSettings(to former: AdapterInformation) async throws {
        try await directory.bring(information(), to: .restored(former), store: nil)
    }
}
