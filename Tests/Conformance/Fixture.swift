import BluetoothSockets
import BluetoothPrimitives
import BluetoothLinux
import struct BluetoothManagement.SystemParameter
import Synchronization
import TestSupport
import Testing

/// The tests, one after the other: on a real machine they share its adapters.
@Suite(.serialized, .enabled(if: Fixture.canBePrivileged), .timeLimit(.minutes(3)))
enum Conformance {}

/// A kernel with two powered adapters in range of each other, and the sockets that a test opens on them.
///
/// With the environment variable `BLUETOOTH_CONFORMANCE` set to `linux` it is the kernel this runs on, with its first
/// two adapters; otherwise the simulated one.
final class Fixture: Sendable {
    let kernel: any BluetoothKernel
    let management: ManagementUser
    /// Two adapters, lowest index first.
    let adapters: [KernelAdapter]
    private let hotplug: Hotplug?
    private let opened = Mutex<[@Sendable () -> Void]>([])
    /// The adapters' defaults before the test's, in the order of the changes.
    private let formerDefaults = Mutex<[(adapter: KernelAdapter, list: [UInt8])]>([])

    /// Whether the controllers are those of BlueZ's btvirt, which report an advertiser only once.
    static let isBtvirt = environmentVariable("BAND") == "btvirt"

    /// Whether a test runs that depends on no command of advertising, scanning or connecting: not on the band of
    /// radio-legacy, since its commands are those of btvirt, and all else is that of radio-extended.
    static let runsAboveTheLink = environmentVariable("BAND") != "radio-legacy"

    /// Whether the kernel is the one that this runs on.
    static let isLinux = environmentVariable("BLUETOOTH_CONFORMANCE") == "linux"

    /// Whether this process is privileged to change a real kernel's state; nil on the simulated one, which supports
    /// both.
    private static let isPrivileged: Bool? = {
        guard isLinux, let environment = try? LinuxKernel.shared.environment() else { return nil }
        return environment.hasNetAdmin && environment.hasNetRaw
    }()

    static let canBePrivileged = isPrivileged != false
    static let canBeUnprivileged = isPrivileged != true

    /// Whether the controllers report the parameters with which a link was created.
    static let reportsParameters = !isLinux || isBtvirt

    /// Whether an adapter can be unplugged.
    static let canUnplug = !isLinux || Hotplug.linux != nil

    /// Whether the radio switches can be set.
    static let canBlock = !isLinux || Hotplug.canBlockLinux

    /// Whether the size of encryption keys can be limited.
    static let canLimitKeySize: Bool = {
        guard isLinux else { return true }
        guard let first = try? LinuxKernel.shared.adapters().first else { return false }
        return Hotplug.canLimitLinuxKeySize(of: first)
    }()

    /// Runs a test on adapters that are powered, do not advertise and have no links, and closes the sockets it opened.
    ///
    /// Without privileges the adapters are left as they are.
    static func run(
        privileged: Bool = true, _ story: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        guard !isLinux else { return try await run(story, privileged, on: try LinuxKernel.shared, Hotplug.linux) }
        let simulation = SimulatedFixture(privileged: privileged)
        try await simulation.run { try await run(story, privileged, on: simulation.kernel, simulation.hotplug) }
    }

    private static func run(
        _ story: @Sendable (Fixture) async throws -> Void, _ isPrivileged: Bool, on kernel: any BluetoothKernel,
        _ hotplug: Hotplug?
    ) async throws {
        let fixture = try await Fixture(kernel, hotplug)
        do {
            if isPrivileged { try await fixture.prepare() }
            try await story(fixture)
        } catch {
            await fixture.closeAll()
            throw error
        }
        await fixture.closeAll()
    }

    private init(_ kernel: any BluetoothKernel, _ hotplug: Hotplug?) async throws {
        self.kernel = kernel
        self.hotplug = hotplug
        management = try await ManagementUser(kernel)
        adapters = Array(try kernel.adapters().prefix(2))
        try #require(adapters.count == 2, "two adapters are needed")
    }

    private func prepare() async throws {
        for adapter in adapters {
            // Powering off ends links and attempts; advertising instances survive it and their programs.
            _ = try await management.succeed(.setPowered, on: adapter, [0])
            _ = try await management.succeed(.setLE, on: adapter, [1])
            _ = try await management.succeed(.setPowered, on: adapter, [1])
            _ = try? await management.succeed(.removeAdvertising, on: adapter, [0])
            // A link takes two advertising intervals, which would be 1.28 s.
            try await setDefaults(
                [SystemParameter(.advertisingIntervalMinimum, 160), SystemParameter(.advertisingIntervalMaximum, 160)],
                on: adapter)
        }
    }

    /// Changes an adapter's defaults, which get their former values at the end of the test.
    func setDefaults(_ defaults: [SystemParameter], on adapter: KernelAdapter) async throws {
        let former = try await management.succeed(.readDefaultSystemConfiguration, on: adapter)
        formerDefaults.withLock { $0.append((adapter, former)) }
        let list = defaults.flatMap { parameter in
            let number = parameter.kind.rawValue
            return [UInt8(truncatingIfNeeded: number), UInt8(number >> 8), UInt8(parameter.value.count)]
                + parameter.value
        }
        _ = try await management.succeed(.setDefaultSystemConfiguration, on: adapter, list)
    }

    private func closeAll() async {
        let opened = opened.withLock { opened in
            defer { opened = [] }
            return opened
        }
        await kernel.onLoop { for close in opened { close() } }
        for (adapter, list) in formerDefaults.withLock({ $0.reversed() }) {
            _ = try? await management.succeed(.setDefaultSystemConfiguration, on: adapter, list)
        }
        await management.close()
    }

    /// Registers `close`, which is called on the loop at the end of the test.
    func atEnd(_ close: @escaping @Sendable () -> Void) {
        opened.withLock { $0.append(close) }
    }

    var central: KernelAdapter { adapters[0] }
    var peripheral: KernelAdapter { adapters[1] }

    /// Unplugs the second adapter while `body` runs, and plugs one in again.
    func withoutPeripheral(_ body: () async throws -> Void) async throws {
        let hotplug = try #require(hotplug)
        try hotplug.unplug(peripheral)
        do {
            try await body()
        } catch {
            try hotplug.plug()
            throw error
        }
        try hotplug.plug()
    }

    /// Blocks the radio switches of all adapters, or unblocks them.
    func setBlocked(_ isBlocked: Bool) throws {
        guard !Self.isLinux else { return try Hotplug.setLinuxBlocked(isBlocked) }
        try hotplug?.setBlocked(isBlocked)
    }

    /// Limits the encryption keys that the kernel offers on an adapter, to 16 bytes again at the end.
    func setMaximumKeySize(_ size: UInt8, _ adapter: KernelAdapter) throws {
        let set = Self.isLinux ? Hotplug.setLinuxMaximumKeySize : hotplug?.setMaximumKeySize
        try set?(size, adapter)
        atEnd { try? set?(16, adapter) }
    }

    // MARK: Opening

    /// Opens a raw HCI socket.
    func openHCI(_ adapter: KernelAdapter, filter: HCISocketFilter? = .allEvents) async throws -> HCIUser {
        let user = try await HCIUser(kernel, adapter.index, filter: filter)
        atEnd { user.close() }
        return user
    }

    /// Starts to connect.
    func connect(
        from adapter: BluetoothAddress, to peer: BluetoothAddress, channel: L2CAPChannel = .attribute,
        options: L2CAPOptions = L2CAPOptions()
    ) async throws -> ChannelEnd {
        try await kernel.onLoop {
            let events = SocketRecorder()
            let socket = try kernel.connectL2CAP(to: peer, channel: channel, from: adapter, options: options) {
                events.handle($0)
            }
            return keep(ChannelEnd(kernel: kernel, socket: socket, events: events))
        }
    }

    /// A connected channel. An attempt that coincides with a restart of the advertising fails at once with some
    /// controllers (0x3E, Connection Failed to be Established) and is repeated.
    func connected(from adapter: BluetoothAddress, to peer: BluetoothAddress) async throws -> ChannelEnd {
        for _ in 1...4 {
            let end = try await connect(from: adapter, to: peer)
            let events = try #require(await end.recordedEvents { !$0.isEmpty })
            if events.first == .writable { return end }
        }
        return try await connect(from: adapter, to: peer)
    }

    /// Listens.
    func listen(
        on adapter: BluetoothAddress, channel: L2CAPChannel = .attribute, options: L2CAPOptions = L2CAPOptions()
    ) async throws -> Listening {
        try await kernel.onLoop {
            let accepted = Journal<ChannelEnd>()
            let listener = try kernel.listenL2CAP(channel: channel, on: adapter, options: options) { [self] socket in
                let events = SocketRecorder()
                accepted.add(keep(ChannelEnd(kernel: kernel, socket: socket, events: events)))
                return { events.handle($0) }
            }
            atEnd { listener.close() }
            return Listening(kernel: kernel, listener: listener, accepted: accepted)
        }
    }

    private func keep(_ end: ChannelEnd) -> ChannelEnd {
        end.events.attach(end.socket)
        atEnd {
            end.socket.close()
            end.events.detach()
        }
        return end
    }

    /// Makes the second adapter advertise, connectable, with a scan response.
    func advertise(_ data: [UInt8] = [5, 9] + Array("seam".utf8), response: [UInt8] = []) async throws {
        let connectableAndDiscoverable: [UInt8] = [3, 0, 0, 0]
        _ = try await management.succeed(
            .addAdvertising, on: peripheral,
            [1] + connectableAndDiscoverable + [0, 0, 0, 0, UInt8(data.count), UInt8(response.count)] + data + response)
    }

    /// A channel between the two adapters, from the first to the second.
    func link(
        channel: L2CAPChannel = .attribute, options: L2CAPOptions = L2CAPOptions()
    ) async throws -> (central: ChannelEnd, peripheral: ChannelEnd) {
        let listening = try await listen(on: peripheral.address, channel: channel, options: options)
        try await advertise()
        let central = try await connect(
            from: self.central.address, to: peripheral.address, channel: listening.listener.channel, options: options)
        try #require(await central.recordedEvents { $0 == [.writable] } == [.writable])
        let accepted = try #require(await listening.first())
        return (central, accepted)
    }
}

/// One end of a channel, with its recorded events.
struct ChannelEnd: Sendable {
    let kernel: any BluetoothKernel
    let socket: any L2CAPSocket
    let events: SocketRecorder

    /// The recorded events, once they meet `condition`; nil if they never do.
    func recordedEvents(
        limit: Duration = .seconds(60), until condition: @escaping @Sendable ([SocketRecorder.Entry]) -> Bool
    ) async -> [SocketRecorder.Entry]? {
        await events.journal.wait(on: kernel.loop, limit: limit, until: condition)
    }

    /// The received packets, once there are `count`; nil if there never are.
    func packets(_ count: Int) async -> [[UInt8]]? {
        let events = events
        let reached = await recordedEvents { entries in
            entries.reduce(0) { if case .packet = $1 { $0 + 1 } else { $0 } } >= count
        }
        return reached == nil ? nil : events.packets
    }

    /// The error it ended with; nil if it does not end.
    func end() async -> KernelError? {
        let entries = await recordedEvents { if case .closed = $0.last { true } else { false } }
        guard case .closed(let error) = entries?.last else { return nil }
        return error
    }

    func send(_ packet: [UInt8]) async -> SendOutcome {
        await kernel.onLoop { socket.send(packet) }
    }

    func close() async {
        await kernel.onLoop { socket.close() }
    }
}

/// A listening socket with the connections it accepted.
struct Listening: Sendable {
    let kernel: any BluetoothKernel
    let listener: any L2CAPListener
    let accepted: Journal<ChannelEnd>

    /// The first connection accepted; nil if none comes.
    func first() async -> ChannelEnd? {
        await accepted.wait(on: kernel.loop) { !$0.isEmpty }?.first
    }
}
