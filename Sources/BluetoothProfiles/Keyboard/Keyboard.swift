import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLE
import BluetoothPrimitives
import Synchronization

/// A keyboard for the hosts that connect: phones, tablets, computers (HID over GATT Profile 1.0, HID Service 1.0).
///
/// ```swift
/// try await adapter.setPairingAgent(JustWorksPairingAgent())
/// let keyboard = Keyboard(named: "Label scanner")
/// try await keyboard.serve(on: adapter) {
///     for try await code in codes { try await keyboard.type(code + "\n") }
/// }
/// ```
/// It has the HID, Device Information and Battery services. Hosts pair before they can use it: all of HID requires encryption.
/// A bonded host keeps its subscriptions, so that it can be typed to as soon as it is connected again.
public final class Keyboard: Sendable {
    /// The name that is advertised.
    public let name: String
    /// The layout that the hosts are set to.
    public let layout: KeyboardLayout
    private let input = LocalCharacteristic(
        .report, properties: [.read, .notify], value: KeyboardReport.released.bytes,
        permissions: [.read, .readEncrypted]
    ) {
        Keyboard.encryptedConfiguration
        LocalDescriptor(.reportReference, permissions: [.read, .readEncrypted], value: [Keyboard.reportID, 1])
    }
    /// The Boot Keyboard Input Report.
    private let bootInput = LocalCharacteristic(
        "2A22", properties: [.read, .notify], value: KeyboardReport.released.bytes,
        permissions: [.read, .readEncrypted]
    ) { Keyboard.encryptedConfiguration }
    private let battery = LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [100])
    private let hosts = KeyboardHosts()
    private let lastLights = Mutex<KeyboardLights>([])
    private let onLights: @Sendable (KeyboardLights) -> Void

    /// A keyboard with this name.
    /// - Parameters:
    ///   - name: the name that hosts show.
    ///   - layout: the layout that the hosts are set to.
    ///   - onLights: called when a host switches its lights; on the adapter's loop, so it must not block.
    public init(
        named name: String = "Keyboard", layout: KeyboardLayout = .unitedStates,
        onLights: @escaping @Sendable (KeyboardLights) -> Void = { _ in }
    ) {
        self.name = name
        self.layout = layout
        self.onLights = onLights
    }

    /// What the keyboard advertises.
    public var content: AdvertisementContent {
        AdvertisementContent(localName: name, services: [.humanInterfaceDevice], appearance: .keyboard)
    }

    /// Advertises the keyboard and serves the hosts that connect while `body` runs; their links end with it. Needs
    /// CAP_NET_ADMIN.
    /// - Parameters:
    ///   - adapter: the adapter; its pairing agent answers when a host pairs, which none can without an agent.
    ///   - options: the advertising options.
    ///   - accepted: the options of incoming connections.
    ///   - body: the program's work, such as calls of ``type(_:)``.
    /// - Throws: what `body` throws and what ends advertising; `.busy` when this keyboard is served already.
    public nonisolated(nonsending) func serve(
        on adapter: Adapter, options: AdvertisingOptions = AdvertisingOptions(whenAdapterUnavailable: .resume),
        accepting accepted: IncomingConnectionOptions = IncomingConnectionOptions(),
        while body: @escaping @Sendable () async throws -> Void
    ) async throws(BluetoothError) {
        try await adapter.serve(content, options: options, accepting: accepted) {
            services
        } while: { published, incoming in
            try self.hosts.begin(
                KeyboardHosts.Service(
                    published: published, incoming: incoming, input: published[self.input],
                    bootInput: published[self.bootInput]))
            defer { self.hosts.end() }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await body()
                    return true
                }
                group.addTask {
                    try await withThrowingDiscardingTaskGroup { hosts in
                        for try await connection in incoming {
                            hosts.addTask { await self.hosts.follow(connection) }
                        }
                    }
                    return false
                }
                defer { group.cancelAll() }
                while let isOver = try await group.next(), !isOver {}
            }
        }
    }

    /// Waits until a host uses the keyboard: has connected, paired and subscribed.
    /// - Throws: `.cancelled`; `.notSubscribed` while the keyboard is not served, or no longer.
    public nonisolated(nonsending) func hostIsReady() async throws(BluetoothError) { try await hosts.wait() }

    /// Types a text: each of its characters is pressed and released at every host that uses the keyboard.
    ///
    /// The strokes of calls at the same time are mixed: type one text after the other. No key stays down when the task is
    /// cancelled.
    /// - Throws: `.invalidArgument` for a character that the layout does not have, before anything is typed; besides that
    ///   as ``send(_:)``.
    public nonisolated(nonsending) func type(_ text: String) async throws(BluetoothError) {
        var strokes: [KeyboardReport] = []
        for character in text {
            guard let report = layout.report(for: character) else {
                throw BluetoothError(
                    .invalidArgument, .init("type"), "The keyboard's layout has no \(String(reflecting: character)).")
            }
            strokes.append(report)
        }
        for stroke in strokes { try await send([stroke, .released]) }
    }

    /// Sends the state of the keys to every host that uses the keyboard.
    ///
    /// A host whose link accepts nothing for 5 s misses what follows until the link accepts data again; then its keys are
    /// released. `.released` is sent by a cancelled task too.
    /// - Throws: `.notSubscribed` while no host uses the keyboard; `.cancelled`; what sending throws when no host could be
    ///   sent to: `.timedOut` after the 5 s, and then `.busy`.
    public nonisolated(nonsending) func send(_ report: KeyboardReport) async throws(BluetoothError) {
        try await send([report])
    }

    private nonisolated(nonsending) func send(_ reports: [KeyboardReport]) async throws(BluetoothError) {
        let outcomes = await hosts.send(reports)
        let failures = outcomes.compactMap { $0 }
        if let cancelled = failures.first(where: { $0.code == .cancelled }) { throw cancelled }
        guard failures.count == outcomes.count else { return }
        throw failures.first { $0.code != .notSubscribed }
            ?? BluetoothError(.notSubscribed, .init("type"), "No host uses the keyboard.")
    }

    /// Sets the battery's level in percent, and notifies the hosts.
    /// - Throws: `.invalidArgument` for a level above 100, or while the keyboard is not served.
    public nonisolated(nonsending) func setBatteryLevel(_ percent: Int) async throws(BluetoothError) {
        guard let published = hosts.published, (0...100).contains(percent) else {
            throw BluetoothError(
                .invalidArgument, .init("set the battery level"), "Needs 0 to 100 percent, and a served keyboard.")
        }
        try published[battery].setValue([UInt8(percent)])
        try await published[battery].notify([UInt8(percent)])
    }

    /// The lights that a host has switched last.
    public var lights: KeyboardLights { lastLights.withLock { $0 } }
}

// MARK: The services

extension Keyboard {
    private static let reportID: UInt8 = 1
    private static let encrypted: AttributePermissions = [.read, .readEncrypted, .write, .writeEncrypted]
    /// A keyboard of 101 keys with five lights, as in the boot protocol (Device Class Definition for HID 1.11, Appendix B.1).
    private static let reportMap: [UInt8] = [
        0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0x85, reportID,  // Generic Desktop, Keyboard, an application's collection
        0x05, 0x07, 0x19, 0xE0, 0x29, 0xE7, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x08, 0x81, 0x02,  // modifiers
        0x95, 0x01, 0x75, 0x08, 0x81, 0x01,  // reserved
        0x95, 0x05, 0x75, 0x01, 0x05, 0x08, 0x19, 0x01, 0x29, 0x05, 0x91, 0x02,  // lights
        0x95, 0x01, 0x75, 0x03, 0x91, 0x01,  // padding
        0x95, 0x06, 0x75, 0x08, 0x15, 0x00, 0x25, 0x65, 0x05, 0x07, 0x19, 0x00, 0x29, 0x65, 0x81, 0x00,  // keys
        0xC0,
    ]
    /// A subscription tells an unpaired host nothing, and is refused so that it pairs.
    private static var encryptedConfiguration: LocalDescriptor {
        LocalDescriptor(.clientCharacteristicConfiguration, permissions: Self.encrypted)
    }

    @GATTBuilder<LocalService> private var services: [LocalService] {
        LocalService(.humanInterfaceDevice) {
            protocolMode
            input
            output(.report) {
                LocalDescriptor(.reportReference, permissions: [.read, .readEncrypted], value: [Self.reportID, 2])
            }
            LocalCharacteristic(
                .reportMap, properties: .read, value: Self.reportMap, permissions: [.read, .readEncrypted])
            bootInput
            // The Boot Keyboard Output Report.
            output("2A32") {}
            // Version 1.11, no country, wakes its host and connects again by itself (HID Service §2.10).
            LocalCharacteristic(
                .hidInformation, properties: .read, value: [0x11, 0x01, 0x00, 0x03],
                permissions: [.read, .readEncrypted])
            LocalCharacteristic(
                .hidControlPoint, properties: .writeWithoutResponse, valueLengths: 1...1,
                permissions: [.write, .writeEncrypted]
            ).onWrite { _ in }
        }
        LocalService(.deviceInformation) {
            LocalCharacteristic(.manufacturerNameString, properties: .read, value: Array("Linux".utf8))
            // The profile requires a PnP ID: vendor 0x1D6B of the USB Implementers Forum is that of Linux.
            LocalCharacteristic(.pnpID, properties: .read, value: [0x02, 0x6B, 0x1D, 0x46, 0x02, 0x00, 0x01])
        }
        LocalService(.battery) { battery }
    }

    /// Which protocol each host uses: 0 boot, 1 report (HID Service §2.2).
    private var protocolMode: LocalCharacteristic {
        LocalCharacteristic(
            .protocolMode, properties: [.read, .writeWithoutResponse], valueLengths: 1...1,
            permissions: Self.encrypted
        )
        .onRead { request in [self.hosts[isBoot: request.peer] ? 0 : 1] }
        .onWrite { request in
            guard let mode = request.value.first, mode <= 1 else { throw ATTErrorCode.valueNotAllowed }
            self.hosts[isBoot: request.peer] = mode == 0
        }
    }

    private func output(
        _ uuid: BluetoothUUID, @GATTBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor]
    ) -> LocalCharacteristic {
        LocalCharacteristic(
            uuid, properties: [.read, .write, .writeWithoutResponse], valueLengths: 1...1,
            permissions: Self.encrypted, descriptors: descriptors
        )
        .onRead { _ in [self.lights.rawValue] }
        .onWrite { request in
            guard let value = request.value.first else { throw ATTErrorCode.invalidAttributeValueLength }
            let lights = KeyboardLights(rawValue: value)
            self.lastLights.withLock { $0 = lights }
            self.onLights(lights)
        }
    }
}
