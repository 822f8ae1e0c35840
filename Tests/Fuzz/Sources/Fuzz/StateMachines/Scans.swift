import BluetoothAdvertising
import BluetoothHCI
import BluetoothLoop
import BluetoothPrimitives

@testable import BluetoothLE

let scans = [FuzzTarget("advertising-streams", join), FuzzTarget("scans", scan)]

extension ByteSource {
    fileprivate mutating func address() -> BluetoothAddress? {
        let number = byte() & 7
        // The last is resolvable and private.
        return number == 0 ? nil : BluetoothAddress(number == 7 ? 0x4000_0012_3456 : UInt64(number), kind: .random)
    }
}

/// Reports of several devices in fragments: what is joined is what was sent, and few devices are remembered.
@Sendable private func join(_ source: inout ByteSource) {
    struct Key: Hashable {
        let device: UInt64
        let isScanResponse: Bool
    }
    var joiner = AdvertisementJoiner(deviceLimit: source.number(below: 4) + 1)
    var (chains, recent, last) = ([Key: [UInt8]](), [UInt64](), [UInt64: UInt64]())
    while !source.isEmpty {
        if source.byte() > 0xFA {
            joiner.removeFragments()
            chains = [:]
        }
        let (address, set) = (source.address(), source.flag() ? source.byte() & 1 : nil)
        var properties = ReceivedReport.Properties(rawValue: UInt16(source.byte()))
        // A directed legacy packet has no data, which its device may have nevertheless.
        if properties.contains(.legacy) { properties.remove(.directed) }
        let status = ReceivedReport.DataStatus(rawValue: source.byte() % 3) ?? .complete
        // A repeated byte, so that a short input fills the memory.
        var data = source.bytes(atMost: 60)
        if let first = data.first, first > 0xF0 { data = [UInt8](repeating: first, count: 229) }
        let device = AdvertisementJoiner.key(address, set)
        let key = Key(device: device, isScanResponse: properties.contains(.scanResponse))
        recent = recent.filter { $0 != device } + [device]
        if recent.count > joiner.deviceLimit {
            let forgotten = recent.removeFirst()
            chains = chains.filter { $0.key.device != forgotten }
            last[forgotten] = nil
        }
        let report = ReceivedReport(
            address: address, properties: properties, dataStatus: status, advertisingSetID: set, data: data.span.bytes)
        let state = joiner.process(report)
        require(joiner.count <= joiner.deviceLimit, "\(joiner.count) devices")
        // The state of devices without an address is not kept.
        guard address != nil else { continue }
        let all = (chains[key] ?? []) + data
        let whole = Array(all.prefix(AdvertisementDataBuilder.extendedCapacity))
        chains[key] = status == .more ? whole : nil
        require((state == nil) == (status == .more), "\(report.description) is reported, or is not")
        guard let state else { continue }
        require(state.state >= last[device] ?? 0 && state.birth <= state.state, "the state goes back")
        last[device] = state.state
        let joined = joiner.advertisement(of: state, report)
        let found = [UInt8](key.isScanResponse ? joined.data.scanResponse : joined.data.advertising)
        // A part of what is known is no news.
        let isCut = status == .truncated || all.count > whole.count
        require(isCut ? found.starts(with: whole) : found == whole, "\(found) is joined of \(whole)")
    }
}

/// The loop of channels that nobody waits on.
private final class IdleDriver: EventLoopDriver {
    let now = KernelInstant(nanoseconds: 0)
    let isOnLoopThread = true
    func start(_ body: @escaping @Sendable () -> Void) {}
    func wait(until deadline: KernelInstant?) {}
    func wake() {}
}

/// Several scans of the same reports: each delivers what its filter lets pass, as often as its policy says.
@Sendable private func scan(_ source: inout ByteSource) {
    let loop = EventLoop(driver: IdleDriver())
    var subscribers = ScanSubscribers()
    var (table, identities, now) = (DeviceTable(capacity: 3), DeviceIdentities(), KernelInstant(nanoseconds: 0))
    if let key = SecurityKey([UInt8](0..<16)) {
        identities.setKeys([IdentityResolvingKey(address: BluetoothAddress(9, kind: .public), value: key)])
    }
    var scans: [(filter: ScanFilter, isOnce: Bool, channel: StreamChannel<Advertisement>, seen: Set<UInt64>)] = []
    for id in 0..<UInt64(source.number(below: 3) + 1) {
        let filters: [ScanFilter] = [
            .any, .connectable, .service(0x180F), .namePrefix("A") || .rssi(atLeast: -60), !.name("B"),
            .manufacturer(CompanyIdentifier(rawValue: 2)) && .connectable,
        ]
        var options = ScanOptions(filter: source.choose(filters) ?? .any)
        options.duplicates = source.choose([.all, .once, .merge]) ?? .all
        options.scanResponseTimeout = .milliseconds(Int(source.byte()))
        guard let settings = ScanSettings(options, hasCoded: false) else { return }
        let channel = StreamChannel<Advertisement>(
            capacity: 4, policy: .dropOldest, operation: .init("scan"), from: loop)
        subscribers.add(ScanSession(id: id, options: options, settings: settings, channel: channel), deviceLimit: 64)
        scans.append((options.filter, options.duplicates == .once, channel, []))
    }
    func drain() {
        for index in scans.indices {
            var call: UInt64 = 0
            while case .success(let advertisement?) = scans[index].channel.poll(orNumber: &call) {
                require(scans[index].filter.matches(advertisement), "\(advertisement) passes a filter")
                let isNew = scans[index].seen.insert(advertisement.id).inserted
                require(isNew || !scans[index].isOnce || advertisement.address == nil, "\(advertisement) comes again")
                _ = table.record(advertisement).history.advertisingInterval
                require(table.count <= 3, "\(table.count) devices")
            }
        }
    }
    while !source.isEmpty {
        var event = AdvertisingReportEvent(layout: source.flag() ? .extended : .legacy)
        for _ in 0...source.number(below: 3) {
            let (address, data) = (source.address(), source.bytes(atMost: 31))
            let report = AdvertisingReport(
                address: address, properties: .init(rawValue: source.byte() & 0x1F),
                dataStatus: .init(rawValue: source.byte() % 3) ?? .complete,
                advertisingSetID: source.flag() ? source.byte() & 3 : nil, rssi: Int8(bitPattern: source.byte()),
                data: data.span.bytes)
            try? event.append(report)
        }
        var packet = event.packet
        if source.byte() > 0xF0 { packet += source.bytes(atMost: 20) }
        if let reports = try? HCIEventPacket(decoding: packet.span.bytes).advertisingReports() {
            _ = subscribers.receive(reports, at: now, identities) { _ in }
        }
        now = now.advanced(by: source.duration())
        subscribers.releaseHeld(at: now)
        require(subscribers.nextDeadline.map { $0 > now } ?? true, "a held report is late")
        if source.byte() > 0xF0 { subscribers.scanStopped() }
        drain()
    }
    for id in 0..<UInt64(scans.count) { subscribers.finish(id) }
    drain()
    require(subscribers.isEmpty && scans.allSatisfy { !$0.channel.isOpen }, "a scan does not end")
}
