import BluetoothLE
import Glibc
import Testing

/// The emulated radio with its devices, and the machine's real adapter on it.
struct Fixture: Sendable {
    /// A device on the emulated radio.
    struct Device: Sendable {
        let name: String
        let address: BluetoothAddress
    }

    /// The adapter, powered.
    let adapter: Adapter
    /// All devices.
    let devices: [Device]
    private let control: ControlSocket

    private static let path = getenv("BLUETOOTH_PEERS").map { String(cString: $0) }
    /// Whether the emulated radio is available.
    static let isThere = path != nil
    /// Whether this machine's controller is one of Bluetooth 4.2.
    static let isLegacy = getenv("BLUETOOTH_PEERS_PROFILE").map { String(cString: $0) } == "legacy"

    /// Runs a test in a defined state: every device advertises, none has a link, the first adapter is open and powered.
    ///
    /// The kernel has the keys of the bonds in `bonds` and no others, so that a test begins without keys unless it
    /// supplies some. Afterwards the adapter is closed, and this process must have no more sockets open than before.
    static func run(
        _ selector: AdapterSelector = .first, bonds: MemoryBondStore = MemoryBondStore(),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ story: @Sendable (Fixture) async throws -> Void
    ) async throws {
        let control = try ControlSocket(try #require(path))
        _ = try await control.ask("calm")
        let devices = try await control.ask("list").split(separator: "; ").map(Device.init)
        // Process-wide descriptors, such as the event loop's, exist once an adapter has been opened.
        await (try Adapter.open(selector, power: .powerOn, configuration: .init(bonds: .disabled))).close()
        let before = openSockets()
        let adapter = try await Adapter.open(selector, power: .powerOn, configuration: .init(bonds: .store(bonds)))
        let fixture = Fixture(adapter: adapter, devices: devices, control: control)
        do {
            try await story(fixture)
        } catch {
            await adapter.close()
            throw error
        }
        await adapter.close()
        try await fixture.wait(for: "no socket left open", limit: .seconds(5), sourceLocation: sourceLocation) {
            openSockets() <= before
        }
    }

    /// The address of a device by its name.
    subscript(name: String) -> BluetoothAddress {
        get throws {
            try #require(devices.first { $0.name == name }, "no device \(name) on the emulated radio").address
        }
    }

    /// Sends a command to the emulated radio, and returns its answer; `Tests/Kernel/radio/radio --help` has the
    /// commands.
    /// - Throws: ``FixtureError`` with the radio's message.
    @discardableResult
    func ask(_ line: String) async throws -> String {
        try await control.ask(line)
    }

    /// The same, while the answer to another command is outstanding.
    @discardableResult
    func askAside(_ line: String) async throws -> String {
        try await ControlSocket(try #require(Self.path)).ask(line)
    }

    /// Waits for an event of the emulated radio or the kernel; fails when it does not occur.
    func wait(
        for what: String, limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while !(try await condition()) {
            guard ContinuousClock.now < deadline else {
                throw FixtureError(description: "not within \(limit): \(what)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Connects to a device by its name, with the default options.
    func connect(
        to name: String, options: ConnectionOptions = ConnectionOptions(timeout: .seconds(60))
    ) async throws -> Connection {
        try await adapter.connect(to: self[name], options: options)
    }

    /// Lets an emulated central connect to this machine.
    func beConnected(by name: String) async throws {
        let address = adapter.information.address
        try await ask("call \(name) connect \(address.digits) \(address.kind == .public ? "public" : "random")")
    }

    /// The number of the device's links.
    func links(of name: String) async throws -> Int {
        try #require(Int(try await ask("links \(name)")))
    }

    /// The state of this machine's controller: `links`, `scan` and `adv`; nil when it is not plugged in.
    ///
    /// It need not be hci0: the kernel gives an adapter that is plugged in again the lowest free index.
    func chip() async throws -> [String: Int]? {
        let name = adapter.information.name
        for entry in try await ask("stat").split(separator: " ") where entry.hasPrefix("\(name):") {
            let pairs = entry.dropFirst(name.count + 1).split(separator: ",").map { $0.split(separator: "=") }
            return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? -1) })
        }
        return nil
    }

    /// The device's database, as the device itself reports it.
    func database(of name: String) async throws -> [TrueAttribute] {
        try await ask("database \(name)").split(separator: ";").map(TrueAttribute.init)
    }
}

extension Fixture.Device {
    /// Parses `NAME ADDRESS public|random`.
    init(_ line: some StringProtocol) throws {
        let words = line.split(separator: " ")
        try #require(words.count == 3, "not a device: \(line)")
        name = String(words[0])
        address = try #require(BluetoothAddress(words[1], kind: words[2] == "public" ? .public : .random))
    }
}

/// The number of this process's sockets.
func openSockets() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    var target = [CChar](repeating: 0, count: 64)
    while let entry = readdir(folder) {
        let number = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        let length = readlink("/proc/self/fd/\(number)", &target, target.count)
        if length > 7, target.prefix(7).map({ UInt8(bitPattern: $0) }) == Array("socket:".utf8) { count += 1 }
    }
    return count
}
