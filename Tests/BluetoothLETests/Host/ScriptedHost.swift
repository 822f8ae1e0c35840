import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI
import Logging
import TestSupport

/// A host without a kernel: it records its calls and reports the events of a test.
//
// Confined to the event loop. Calls never call back: their events follow in the loop's next turn.
final class ScriptedHost: AdapterSource, HostProvider, @unchecked Sendable {
    // Unchecked: all state but the loop is accessed on the loop alone, which `LoopBound` would check at each place.
    let loop: EventLoop
    var hostSource: HostSource { HostSource(self) }
    /// The calls, in order.
    private(set) var calls: [String] = []
    var adapterInformation = AdapterInformation(
        id: AdapterID("hci0"), publicAddress: BluetoothAddress(0x001A_7DDA_7101, kind: .public),
        manufacturer: CompanyIdentifier(rawValue: 2), version: 12,
        localName: "scripted", supportedFeatures: [.powered, .lowEnergy], activeFeatures: [.powered, .lowEnergy])

    // The receivers of events.
    fileprivate weak var adapterReceiver: (any DirectoryReceiver)?
    fileprivate var isServing = false
    fileprivate var isRemoved = false
    fileprivate weak var store: (any AdapterStore)?
    fileprivate weak var pairingReceiver: (any PairingReceiver)?
    fileprivate weak var receiver: (any HostReceiver)?
    fileprivate var accept: ((any HostChannel) -> (any ChannelReceiver)?)?
    fileprivate(set) var channels: [ScriptedChannel] = []
    /// The device's responses, by request.
    var answers: [[UInt8]: [UInt8]] = [:]

    init(on loop: EventLoop) { self.loop = loop }

    nonisolated(nonsending) func makeDirectory(log: Logger) async throws(BluetoothError) -> any HostDirectory {
        ScriptedDirectory(self)
    }

    /// The keys to load.
    var wantedKeys: [PeerKeys] { store?.keys ?? [] }

    fileprivate func note(_ call: String) { calls.append(call) }
    /// Runs `body` in the loop's next turn.
    fileprivate func later(_ body: @escaping () -> Void) { loop.executeLocally(body) }

    // MARK: Events for tests. Called on the loop.

    func setPowered(_ isOn: Bool) {
        adapterInformation.activeFeatures = isOn ? [.powered, .lowEnergy] : .lowEnergy
        adapterReceiver?.receive(.changed(.init(.changed, adapterInformation)))
    }

    func unplug() { adapterReceiver?.receive(.changed(.init(.removed, adapterInformation))) }
    func plug() { adapterReceiver?.receive(.changed(.init(.added, adapterInformation))) }
    func tell(_ event: PairingEvent, of channel: ScriptedChannel? = nil) {
        let concerned = channels.filter { $0 === channel || !$0.isClosed && $0.peer == event.peer }
        pairingReceiver?.receive(event, of: concerned.compactMap(\.receiver))
    }
    func tell(_ event: HostEvent) { receiver?.receive(event) }

    func report(_ packet: [UInt8]) throws {
        guard let reports = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else { return }
        receiver?.receive(reports)
    }

    fileprivate func makeChannel(to peer: BluetoothAddress) -> ScriptedChannel {
        channels.append(ScriptedChannel(to: peer, of: self))
        return channels[channels.count - 1]
    }

    /// Reports an incoming connection.
    func comeIn(from peer: BluetoothAddress) {
        let channel = makeChannel(to: peer)
        channel.receiver = accept?(channel)
    }
}

private final class ScriptedDirectory: HostDirectory {
    private let host: ScriptedHost
    let pairing: any HostPairing

    init(_ host: ScriptedHost) { (self.host, pairing) = (host, ScriptedPairing(host)) }
    var loop: EventLoop { host.loop }
    var adapters: [AdapterInformation] { [host.adapterInformation] }
    weak var receiver: (any DirectoryReceiver)? { didSet { host.adapterReceiver = receiver } }

    func bring(
        _ adapter: AdapterInformation, to target: AdapterTarget, store: (any AdapterStore)?
    ) async throws(BluetoothError) -> AdapterInformation {
        switch target {
        case .ready(let requirements):
            host.note("prepare \(requirements.power)")
            await store?.prepare(adapter)
            host.store = store
            if store?.keys != nil { host.note("key events of \(adapter.id)") }
        case .off: host.note("power off")
        case .restored(let former): host.note("restore \(former.activeFeatures)")
        }
        return adapter
    }

    func refresh(_ adapter: AdapterID?) {}
    func isSwitchedOff(_ adapter: AdapterID) -> Bool { false }
    func adapters(store: any AdapterStore) async -> [AdapterInformation] { adapters }

    func makeHost(of adapter: AdapterRecord) -> any Host { ScriptedRoles(host) }
    func close(_ reason: BluetoothError) { host.note("directory closed") }
}

/// All roles of a host for an adapter.
private final class ScriptedRoles: Host, HostScanning, HostAdvertising, HostChannels, HostHealth {
    private let host: ScriptedHost
    private var receiver: (any HostReceiver)?

    init(_ host: ScriptedHost) { self.host = host }
    var loop: EventLoop { host.loop }
    var channels: any HostChannels { self }
    var scanning: any HostScanning { self }
    var advertising: any HostAdvertising { self }
    var health: any HostHealth { self }
    let obstacles = HostObstacles()

    func defaults(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> AdapterDefaults {
        AdapterDefaults()
    }

    func setDefaults(
        _ defaults: AdapterDefaults, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {}

    func start(_ receiver: any HostReceiver) { (self.receiver, host.receiver) = (receiver, receiver) }

    func adapterChanged(_ step: AdapterStep) {
        guard case .left(let reason) = step else { return }
        host.note("leave")
        receiver?.receive(.scanEnded(reason, isForGood: false))
    }

    func close(_ reason: BluetoothError) {
        host.note("close")
        receiver?.receive(.scanEnded(reason, isForGood: true))
        // It retains this object's roles.
        receiver = nil
    }

    // MARK: Health

    func controllerProperties(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties {
        throw BluetoothError(.unsupported, operation, "This host does not know the controller's properties.")
    }

    func probe(then completion: @escaping (Bool) -> Void) { host.later { completion(true) } }
    func showsHang(_ failure: BluetoothError) -> Bool { false }
    func countLinks() -> Int? { nil }
    let isRecoveredElsewhere = false

    func perform(_ step: RecoveryStep, then completion: @escaping (BluetoothError?) -> Void) {
        host.later { completion(nil) }
    }

    // MARK: Scanning

    func setScan(_ wanted: ScanSettings?) { host.note(wanted == nil ? "no scan" : "scan") }
    func scan(_ wanted: ScanSettings, _ operation: BluetoothError.Operation) async throws(BluetoothError) {}
    func features(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> LEFeatures { [] }

    // MARK: Advertising

    func limits(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> AdvertisingLimits {
        AdvertisingLimits()
    }

    func advertise(_ request: AdvertisingRequest, as id: UInt64) {
        host.note("advertise \(id)")
        host.later { [host] in
            host.tell(.advertising(id, .state(.advertising)))
            host.tell(.advertising(id, .applied(nil)))
        }
    }

    func stop(_ id: UInt64, _ reason: BluetoothError) {
        host.note("stop \(id)")
        host.later { [host] in host.tell(.advertising(id, .removed)) }
    }

    func removeForeign() async throws(BluetoothError) -> Int { 0 }

    // MARK: Channels

    func followLinks() -> any AnyObject & Sendable { host }
    func prepare(_ request: LinkRequest) async throws(BluetoothError) {}

    func connect(
        _ request: LinkRequest, _ receiver: any ChannelReceiver
    ) throws(BluetoothError) -> any HostChannel {
        host.note("connect \(request.peer)")
        let channel = host.makeChannel(to: request.peer)
        channel.receiver = receiver
        host.later { receiver.channelIsWritable() }
        return channel
    }

    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions, _ operation: BluetoothError.Operation,
        _ accept: @escaping (any HostChannel) -> (any ChannelReceiver)?
    ) throws(BluetoothError) -> any HostChannelListener {
        host.note("listen")
        host.accept = accept
        return ScriptedListener(channel)
    }

    let hasOtherListener = false

    func close() {}
}

final class ScriptedPairing: HostPairing {
    private let host: ScriptedHost

    init(_ host: ScriptedHost) { self.host = host }

    let keyStatus = KeyStatus.loaded
    func hasKey(_ addresses: [BluetoothAddress]) -> Bool {
        host.wantedKeys.contains { addresses.contains($0.identity) }
    }

    private func done<Value>(_ value: Value) -> Promise<Value, BluetoothError> {
        let call = Promise<Value, BluetoothError>()
        call.succeed(value)
        return call
    }

    func setServing(_ isServing: Bool) {
        guard isServing != host.isServing else { return }
        host.isServing = isServing
        host.note(isServing ? "keys for centrals" : "no keys for centrals")
    }

    func loadKeys(evenIfEmpty: Bool) -> Promise<Void, BluetoothError> {
        host.note(evenIfEmpty ? "load keys again" : "load keys")
        return done(())
    }

    func removeKeys(of peer: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError> {
        host.note("remove \(peer)")
        return done(())
    }

    let authority = PairingAuthority.ours
    var receiver: (any PairingReceiver)? {
        get { host.pairingReceiver }
        set { host.pairingReceiver = newValue }
    }

    func change(to wanted: PairingSettings, _ operation: BluetoothError.Operation) async throws(BluetoothError) {}

    func apply() -> Promise<Void, BluetoothError> {
        host.note("pairing settings")
        return done(())
    }
    func release() {}

    func adapterChanged(removed reason: BluetoothError?) {
        if reason == nil, host.isRemoved { host.note("key events of \(host.adapterInformation.id)") }
        host.isRemoved = reason != nil
    }

    func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress) {
        host.note("\(question): \(answer)")
    }

    func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress) {}

    func makeOutOfBandData(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> OutOfBandData {
        throw BluetoothError(.unsupported, operation, "This host cannot pair with out-of-band data.")
    }

    func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) -> Promise<SecurityLevel, BluetoothError> { done(.high) }
    func close() {}
}

extension PairingEvent {
    /// The device that the event is about.
    fileprivate var peer: BluetoothAddress? {
        switch self {
        case .question(_, let peer), .failed(let peer, _): peer
        case .keys(let keys, _): keys.identity
        case .security, .keysForgotten, .linkEnded: nil
        }
    }
}

private final class ScriptedListener: HostChannelListener {
    let channel: L2CAPChannel
    init(_ channel: L2CAPChannel) { self.channel = channel }
    func close() {}
}
