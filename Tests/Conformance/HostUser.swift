import BluetoothAdvertising
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI
import Logging
import TestSupport
import Testing

/// A user of an adapter's host, like a session, that records its events.
actor HostUser: LoopActor {
    nonisolated let loop: EventLoop
    /// The events: `advertising 1 settled`, `report 00:… NAME`, `channel writable`, `adapter off`.
    nonisolated let told = Journal<String>()
    /// The adapter's address after its preparation.
    nonisolated let address: BluetoothAddress
    let directory: any HostDirectory
    let adapterRecord: AdapterRecord
    let host: any Host
    /// Retained for the host.
    private let store: IdentityStore
    let receiver: Receiver
    private let directoryReceiver: DirectoryJournal
    var listener: (any HostChannelListener)?
    var channel: (any HostChannel)?
    /// The link's channel, while another of its channels is in use.
    var first: (any HostChannel)?
    private var request: LinkRequest?
    var link: (any HostLink)?

    /// The receiver of the host's events, and of the channel's packets and events.
    final class Receiver: HostReceiver, ChannelReceiver, PairingReceiver {
        private let told: Journal<String>
        private let pairing: any HostPairing

        init(_ told: Journal<String>, _ pairing: any HostPairing) { (self.told, self.pairing) = (told, pairing) }

        func receive(_ reports: AdvertisingReports) {
            var reports = reports
            while let report = try? reports.next() {
                let name = AdvertisementData(report.data).localName ?? ""
                if let address = report.address { told.add("report \(address) \(name)") }
            }
        }
        func receive(_ event: HostEvent) {
            switch event {
            case .ended(let reason, let isForGood): told.add("host ended \(reason.code) \(isForGood)")
            case .resumed: told.add("host resumed")
            case .scanEnded(let reason, _): told.add("scan ended \(reason.code)")
            case .advertising(let id, .state(let state)): told.add("advertising \(id) \(state)")
            case .advertising(let id, .applied(let error)):
                told.add("advertising \(id) settled \(error.map { "\($0.code)" } ?? "well")")
            case .advertising(let id, .removed): told.add("advertising \(id) removed")
            case .linkEnded: told.add("link ended")
            case .problem(let problem, let isCertain): told.add("problem \(problem) \(isCertain)")
            case .scanStopped, .advertising(_, .parameters): break
            }
        }

        func receive(_ packet: RawSpan) { told.add("packet \([UInt8](packet).hexadecimal)") }
        func channelIsWritable() { told.add("channel writable") }
        func channelEnded(_ reason: BluetoothError) {
            told.add("channel closed \(reason.disconnectReason.map { "\($0)" } ?? "\(reason.code)")")
        }

        func receive(_ event: PairingEvent, of links: [any ChannelReceiver]) {
            switch event {
            case .question(let question, let peer):
                told.add("question \(question)")
                pairing.reply(.yes, to: question, peer)
            case .security(.encrypted(let security)):
                told.add(security.map { "encrypted \($0.level)" } ?? "link encrypted")
            case .failed: told.add("pairing failed")
            case .keys(let made, let isStored):
                told.add("key made, kept: \(isStored)")
                if isStored { told.add("keys of \(made.identity)") }
            case .keysForgotten: told.add("keys forgotten")
            case .security, .linkEnded: break
            }
        }
    }

    /// Prepares an adapter.
    @discardableResult
    static func make(
        _ fixture: Fixture, _ adapter: KernelAdapter, store: IdentityStore = IdentityStore()
    ) async throws -> HostUser {
        let loop = fixture.kernel.loop
        let opening = Opening(loop)
        let user = try await opening.open(fixture.kernel, adapter.index, store)
        fixture.atEnd { user.assumeIsolated { $0.close() } }
        return user
    }

    private init(_ directory: any HostDirectory, _ information: AdapterInformation, _ store: IdentityStore) {
        (self.directory, loop, address) = (directory, directory.loop, information.address)
        adapterRecord = AdapterRecord(information)
        receiver = Receiver(told, directory.pairing)
        directoryReceiver = DirectoryJournal(told, adapterRecord)
        self.store = store
        host = directory.makeHost(of: adapterRecord)
        host.start(receiver)
        directory.receiver = directoryReceiver
        directory.pairing.receiver = receiver
    }

    /// Records the adapter's state as its directory reports it.
    private final class DirectoryJournal: DirectoryReceiver {
        private let told: Journal<String>
        private let adapter: AdapterRecord

        init(_ told: Journal<String>, _ adapter: AdapterRecord) { (self.told, self.adapter) = (told, adapter) }

        func receive(_ event: DirectoryEvent) {
            switch event {
            case .changed(let change) where change.adapter.id == adapter.information.id:
                adapter.update(change.adapter)
                adapter.state = change.state
                told.add("adapter \(change.state)")
            case .changed: break
            case .ended(let reason): told.add("directory ended \(reason.code)")
            }
        }
    }

    /// Performs the part of initialisation that waits on the loop.
    private actor Opening: LoopActor {
        nonisolated let loop: EventLoop

        init(_ loop: EventLoop) { self.loop = loop }

        func open(_ kernel: any BluetoothKernel, _ index: UInt16, _ store: IdentityStore) async throws -> HostUser {
            let directory = try await kernel.provider().makeDirectory(log: Logger(label: "test"))
            let found = try #require(directory.adapter(AdapterID(hci: index)))
            let ready = try await directory.bring(found, to: .ready(.init(power: .powerOn)), store: store)
            return HostUser(directory, ready, store)
        }
    }

    /// Waits for an event, and returns whether it occurred.
    nonisolated func isTold(_ what: String, times: Int = 1, limit: Duration = .seconds(30)) async -> Bool {
        await told.wait(on: loop, limit: limit) { $0.count { $0.hasPrefix(what) } >= times } != nil
    }

    func close() {
        first?.close()
        channel?.close()
        listener?.close()
        let reason = BluetoothError(.cancelled, .init("use the adapter"), "The story is over.")
        host.adapterChanged(.closing(reason))
        host.close(reason)
        directory.pairing.close()
        directory.close(reason)
    }

    // MARK: Roles

    func scan() async throws {
        let timing = LEScanTiming(type: .active, interval: 0x60, window: 0x60)
        try await host.scanning.scan(ScanSettings(le1M: timing), .init("scan"))
    }

    func stopScan() { host.scanning.setScan(nil) }

    func advertise(_ name: String, as id: UInt64 = 1) {
        let content = AdvertisementContent(localName: name)
        let request = AdvertisingRequest(AdvertisingPayloads(content.fields), of: content, AdvertisingOptions())
        host.advertising.advertise(request, as: id)
    }

    func stopAdvertising(_ id: UInt64 = 1) {
        host.advertising.stop(id, BluetoothError(.cancelled, .init("advertise"), "Enough."))
    }

    func listen() throws {
        listener = try host.channels.listen(.attribute, L2CAPOptions(), .init("listen")) { [self] channel in
            take(channel)
            return receiver
        }
    }

    /// Prepares the request of the next connect.
    func prepare(
        to peer: BluetoothAddress, _ parameters: LEConnectionParameters? = nil, on phys: LEPHYSet = []
    ) async throws {
        let request = LinkRequest(
            to: peer, .attribute, .init("connect"), until: loop.now.advanced(by: .seconds(10)))
        (request.parameters, request.phys) = (parameters, phys)
        self.request = request
        try await host.channels.prepare(request)
        request.deadline = nil
    }

    /// Starts to connect; events report the result.
    func connect(to peer: BluetoothAddress, _ parameters: LEConnectionParameters? = nil) async throws {
        try await prepare(to: peer, parameters)
        try connectAsPrepared()
    }

    func endRequest() { request?.end() }

    func connectAsPrepared() throws {
        if let request { channel = try host.channels.connect(request, receiver) }
    }

    /// Ends the link, as after a failed pairing.
    func disconnect(_ peer: BluetoothAddress) { directory.pairing.disconnect(peer, connectedAs: peer) }

    func take(_ channel: any HostChannel) {
        first = first ?? self.channel
        self.channel = channel
        told.add("channel from \(channel.peer)")
    }

    // MARK: The link

    func send(_ packet: [UInt8]) -> ChannelSend? { channel?.send(packet.span.bytes) }

    func closeChannel() { channel?.close() }

    /// Follows the link; returns its known state.
    func attach() throws -> String {
        link = channel?.attach()
        return link?.parameters.map { "\($0)" } ?? "nothing"
    }

    func rssi() async throws -> Int? {
        let link = try #require(link)
        return try await link.rssi(.init("read the RSSI"), timeout: .seconds(5))
    }

    /// Calls `body` with the adapter's pairing.
    func onPairing<Value: Sendable>(_ body: @Sendable (any HostPairing) -> Value) -> Value { body(directory.pairing) }

    /// Removes all keys from the host, including those of earlier tests, and applies settings for pairing.
    func preparePairing(_ settings: PairingSettings = PairingSettings()) async throws {
        let (pairing, operation) = (directory.pairing, Self.pair)
        pairing.loadKeys(evenIfEmpty: true)
        try await pairing.loadKeys(evenIfEmpty: false).value(operation, timeout: nil, on: loop)
        #expect(pairing.keyStatus == .loaded)
        try await pairing.change(to: settings, operation)
        try await pairing.apply().value(operation, timeout: nil, on: loop)
    }

    func hasKey(of peer: BluetoothAddress) -> Bool { directory.pairing.hasKey([.zero, peer]) }

    private static let pair = BluetoothError.Operation("pair")

    /// Waits until the adapter is bondable, or until it is not.
    func isSoon(bondable: Bool) async throws -> Bool {
        for _ in 1...500 where try information().activeFeatures.contains(.bondable) != bondable {
            _ = await loop.sleep(for: .milliseconds(10))
        }
        return try information().activeFeatures.contains(.bondable) == bondable
    }

    /// Removes a device's keys, and ends its link.
    func unpair(_ peer: BluetoothAddress) async throws {
        try await directory.pairing.removeKeys(of: peer, disconnect: true).value(Self.pair, timeout: nil, on: loop)
    }

    func makeOutOfBandData() async throws -> OutOfBandData { try await directory.pairing.makeOutOfBandData(Self.pair) }

    /// Returns the level to raise a link to.
    func set(_ data: OutOfBandData?, of peer: BluetoothAddress) async throws -> SecurityLevel {
        try await directory.pairing.setOutOfBandData(data, of: peer).value(Self.pair, timeout: nil, on: loop)
    }

    /// Raises the link's security.
    func raise(to level: SecurityLevel) { _ = channel?.raiseSecurity(to: level) }

    func security() throws -> LinkSecurity? { try channel?.security() }

    // MARK: The adapter

    func setPowered(_ isOn: Bool) async throws {
        let adapter = try #require(directory.adapter(adapterRecord.information.id))
        try await directory.bring(adapter, to: isOn ? .ready(.init(power: .powerOn)) : .off, store: nil)
    }

    func leave() {
        let reason = BluetoothError(.adapterOff, .init("use the adapter"), "off")
        host.adapterChanged(.left(reason))
        host.adapterChanged(.unavailable(reason, comesBack: true))
    }

    func resume() { host.adapterChanged(.available) }
}
