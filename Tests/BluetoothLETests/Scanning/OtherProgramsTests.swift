import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import BluetoothSockets
import Logging
import Synchronization
import TestSupport
import Testing

import BluetoothLE

private let flags: [UInt8] = [2, 0x01, 0x06]
private let everything = ScanOptions(duplicates: .all)
private let passively = ScanOptions(isActive: false, duplicates: .all)

/// Another program with a raw socket, such as hcitool.
final class RawProgram: Sendable {
    private let socket = Mutex<(any HCISocket)?>(nil)
    private let loop: EventLoop
    private let seen = Mutex<[[UInt8]]>([])

    init(_ fixture: Fixture) throws {
        loop = fixture.kernel.loop
        let socket = try fixture.kernel.openHCI(adapter: 0) { [weak self] event in
            if case .readable = event { self?.receive() }
        }
        try socket.setFilter(HCISocketFilter(packetTypes: 1 << 4 | 1 << 1, events: .max))
        self.socket.withLock { $0 = socket }
    }

    private func receive() {
        let socket = socket.withLock { $0 }
        _ = socket?.receive { packet in
            let bytes = [UInt8](packet)
            seen.withLock { $0.append(bytes) }
        }
    }

    /// How many commands of others it has seen.
    var commandCount: Int { seen.withLock { $0.count { $0.first == 1 } } }

    /// How many advertising reports it has seen.
    var reportCount: Int { seen.withLock { $0.count { $0.count > 3 && $0[1] == 0x3E && $0[3] == 0x0D } } }

    func send(_ commands: AnyHCICommand...) throws {
        for command in commands {
            let packet = try command.packet()
            let socket = socket.withLock { $0 }
            loop.execute { _ = socket?.send(packet.span.bytes) }
        }
    }

    /// Scans as hcitool does: each device once.
    func scan(
        _ type: LEScanType = .active, duplicates: LEDuplicateFilter = .enabled, family: HCICommandFamily = .extended
    ) throws {
        guard family == .extended else {
            return try send(
                AnyHCICommand(
                    LESetScanParameters(timing: LEScanTiming(type: type, interval: 0x10, window: 0x10))),
                AnyHCICommand(LESetScanEnable(true, duplicates: duplicates)))
        }
        try send(
            AnyHCICommand(
                LESetExtendedScanParameters(le1M: LEScanTiming(type: type, interval: 0x10, window: 0x10))),
            AnyHCICommand(LESetExtendedScanEnable(isEnabled: true, duplicates: duplicates)))
    }

    func stop(family: HCICommandFamily = .extended) throws {
        try send(
            family == .extended
                ? AnyHCICommand(LESetExtendedScanEnable(isEnabled: false))
                : AnyHCICommand(LESetScanEnable(false)))
    }

    func close() {
        let socket = socket.withLock { $0 }
        loop.execute { socket?.close() }
    }
}

/// Scans beside other programs and the kernel's own use of the scanner, as Tests/Conformance shows it to be.
@Suite struct OtherProgramsTests {
    /// Counts what a scan hands out.
    final class Listener: Sendable {
        private let state = Mutex((count: 0, last: KernelInstant?.none))
        private let task = Mutex<Task<Void, any Error>?>(nil)

        init(_ stream: BoundedStream<Advertisement>, _ fixture: Fixture) {
            let task = fixture.begin { [weak self] in
                for try await heard in stream {
                    self?.state.withLock { $0 = ($0.count + 1, heard.time) }
                }
            }
            self.task.withLock { $0 = task }
        }

        var count: Int { state.withLock { $0.count } }
        func stop() { task.withLock { $0 }?.cancel() }

        /// Whether something is heard in the next second.
        func hears(_ fixture: Fixture) async throws -> Bool {
            let before = count
            try await fixture.radio.sleep(for: .seconds(1))
            return count > before
        }
    }

    private static func discover(_ kernel: SimulatedKernel) async throws -> ManagementCaller {
        let client = ManagementCaller(on: kernel)
        try await client.send(ManagementStartDiscovery(.lowEnergy), to: 0)
        return client
    }

    /// The scan is off for a moment; nobody but us would end what the kernel takes for a discovery.
    @Test func anAdapterThatIsClosedWhileAnotherHasSwitchedItsScanOffLeavesNoDiscovery() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let program = try RawProgram(fixture)
            let other = try await Adapter.open(on: fixture.kernel)
            let adapter = try await Adapter.open(on: fixture.kernel)
            var heard = try await adapter.scan(everything).makeAsyncIterator()
            _ = try await heard.next()
            try program.stop()
            try await fixture.settle { !fixture.kernel.isScanning() }
            await adapter.close()
            try await fixture.radio.sleep(for: .milliseconds(50))
            try await other.sendToManagement(ManagementStartDiscovery(.lowEnergy), to: 0)
            await other.close()
        }
    }

    @Test(arguments: [HCIFamily.legacy, .extended], [everything, passively])
    func aScanGoesOnAfterAnotherProgramHasConnected(_ family: HCIFamily, _ options: ScanOptions) async throws {
        try await Fixture.run([family.controller]) { fixture in
            let peripheral = try fixture.makePeripheral()
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(options), fixture)
            let other = try await Adapter.open(on: fixture.kernel)
            for _ in 0..<3 {
                let connection = try await other.connect(to: peripheral.address)
                try await fixture.settle { fixture.kernel.scansForEverybody() }
                #expect(try await listener.hears(fixture))
                await connection.disconnect()
                #expect(try await listener.hears(fixture))
            }
            #expect(fixture.kernel.isScanningActively() == options.le1M?.isActive)
            listener.stop()
        }
    }

    @Test(arguments: [HCIFamily.legacy, .extended], [everything, passively])
    func anothersAttemptThatIsGivenUpLeavesTheScanOn(_ family: HCIFamily, _ options: ScanOptions) async throws {
        try await Fixture.run([family.controller]) { fixture in
            let absent = BluetoothAddress(0x00BB_0000_0001, kind: .public)
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(options), fixture)
            let other = try await Adapter.open(on: fixture.kernel)
            let attempt = fixture.begin { try await other.connect(to: absent) }
            try await fixture.radio.sleep(for: .seconds(1))
            // While the other waits, and after it has given up.
            #expect(try await listener.hears(fixture))
            attempt.cancel()
            _ = await failure { _ = try await attempt.value }
            for _ in 0..<4 { #expect(try await listener.hears(fixture)) }
            listener.stop()
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test(arguments: [everything, passively], [true, false])
    func anothersConnectionComesAboutWhileWeScanAndAfterwards(_ options: ScanOptions, _ isOver: Bool) async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            peripheral.setHidden(true)
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            // Another machine's clients would do; these have a socket of their own as well.
            let other = try await Adapter.open(on: fixture.kernel)
            let attempt = fixture.begin { try await other.connect(to: peripheral.address) }
            try await fixture.radio.sleep(for: .seconds(1))
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(options), fixture)
            #expect(try await listener.hears(fixture))
            #expect(fixture.kernel.scansForEverybody())
            if isOver {
                listener.stop()
                try await fixture.radio.sleep(for: .seconds(1))
            }
            peripheral.setHidden(false)
            let connection = try await attempt.value
            await connection.disconnect()
            listener.stop()
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test(arguments: [true, false]) func anothersDiscoveryRunsToItsEndAndIsListenedTo(_ isFirst: Bool) async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let notices = AdapterNotices()
            func hasEnded() -> Bool {
                let end = ManagementDiscovering(.lowEnergy, isDiscovering: false)
                return notices.all.contains {
                    if case .event(_, let event as ManagementDiscovering) = $0 { event == end } else { false }
                }
            }
            let adapter = try await Adapter.open(on: fixture.kernel)
            func discover() async throws -> ManagementCaller {
                let client = try await Self.discover(fixture.kernel)
                try await client.follow(notices)
                return client
            }
            let early = isFirst ? try await discover() : nil
            let listener = Listener(try await adapter.scan(isFirst ? everything : passively), fixture)
            let late = isFirst ? nil : try await discover()
            try await fixture.radio.sleep(for: .seconds(9))
            #expect(listener.count > 0)
            #expect(!hasEnded())
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(hasEnded())
            #expect(fixture.kernel.scansForEverybody())
            #expect(try await listener.hears(fixture))
            listener.stop()
            try await fixture.settle { !fixture.kernel.isScanning() }
            for client in [early, late] { await client?.close(.cancelled(.init("discover"))) }
        }
    }

    @Test func aDiscoveryOfOldKeepsNobodyFromConnecting() async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            // The kernel keeps the types of the last discovery, and ends only one of these.
            let client = try await Self.discover(fixture.kernel)
            try await fixture.radio.sleep(for: .seconds(11))
            let adapter = try await Adapter.open(on: fixture.kernel)
            for try await _ in try await adapter.scan() { break }
            try await fixture.radio.sleep(for: .seconds(1))
            let other = try await Adapter.open(on: fixture.kernel)
            let connection = try await other.connect(to: peripheral.address, options: .init(timeout: .seconds(10)))
            await connection.disconnect()
            await client.close(.cancelled(.init("discover")))
        }
    }

    @Test func whatAnotherSwitchesOffComesBack() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(everything), fixture)
            let other = try RawProgram(fixture)
            for _ in 0..<3 {
                try other.stop()
                try await fixture.radio.sleep(for: .milliseconds(50))
                #expect(!fixture.kernel.isScanning())
                #expect(try await listener.hears(fixture))
            }
            try other.send(AnyHCICommand(HCIReset()))
            #expect(try await listener.hears(fixture))
            listener.stop()
            other.close()
        }
    }

    @Test func aScanOfAnotherThatGivesTooLittleBecomesOneForBoth() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let other = try RawProgram(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(passively), fixture)
            // It switches ours off and on with its own wishes.
            try other.stop()
            try other.scan()
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(fixture.kernel.scansForEverybody())
            #expect(fixture.kernel.isScanningActively())
            let before = other.reportCount
            #expect(try await listener.hears(fixture))
            #expect(other.reportCount > before)
            let commands = other.commandCount
            for _ in 0..<5 { #expect(try await listener.hears(fixture)) }
            #expect(other.commandCount == commands)
            listener.stop()
            other.close()
        }
    }

    @Test func aScanOfAnotherThatGivesAllIsLeftAlone() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let other = try RawProgram(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let first = Listener(
                try await adapter.scan(
                    ScanOptions(isActive: false, interval: .milliseconds(60), window: .milliseconds(30))), fixture)
            try other.stop()
            try other.scan(.active, duplicates: .disabled)
            try await fixture.radio.sleep(for: .seconds(1))
            let commands = other.commandCount
            let second = Listener(
                try await adapter.scan(ScanOptions(isActive: false, duplicates: .all, window: .milliseconds(10))),
                fixture
            )
            #expect(try await second.hears(fixture))
            first.stop()
            second.stop()
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(other.commandCount == commands)
            #expect(fixture.kernel.isScanning())
            try other.stop()
            other.close()
        }
    }

    @Test(arguments: [true, false]) func aScanThatWasLeftBehindIsTakenOver(_ isActive: Bool) async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let killed = try RawProgram(fixture)
            try killed.scan(isActive ? .active : .passive)
            try await fixture.radio.sleep(for: .seconds(1))
            killed.close()
            let adapter = try await Adapter.open(on: fixture.kernel)
            let listener = Listener(try await adapter.scan(everything), fixture)
            for _ in 0..<3 { #expect(try await listener.hears(fixture)) }
            listener.stop()
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func twoProgramsOfOursComeToRestAndOutliveEachOther() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let watcher = try RawProgram(fixture)
            let one = try await Adapter.open(on: fixture.kernel)
            let other = try await Adapter.open(on: fixture.kernel)
            let wishes = [
                passively,
                ScanOptions(duplicates: .all, interval: .milliseconds(100), window: .milliseconds(70)),
                ScanOptions(isActive: false, duplicates: .all, interval: .milliseconds(20), window: .milliseconds(15)),
            ]
            for mine in wishes {
                for theirs in wishes {
                    let first = Listener(try await one.scan(mine), fixture)
                    let second = Listener(try await other.scan(theirs), fixture)
                    try await fixture.radio.sleep(for: .seconds(2))
                    let commands = watcher.commandCount
                    for listener in [first, second] { #expect(try await listener.hears(fixture)) }
                    #expect(watcher.commandCount == commands)
                    first.stop()
                    try await fixture.radio.sleep(for: .seconds(1))
                    #expect(try await second.hears(fixture))
                    second.stop()
                    try await fixture.settle { !fixture.kernel.isScanning() }
                }
            }
            watcher.close()
        }
    }
}
