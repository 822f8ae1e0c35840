import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives

@testable import BluetoothLE

let queues = [
    FuzzTarget("slots", shareRoom), FuzzTarget("subscriptions", arbitrate), FuzzTarget("channel-writes", segment),
]

private let end = BluetoothError.cancelled(.init("fuzz"))

/// Connects that wait for room: the one that has waited longest has the first claim, and each has its turn.
@Sendable private func shareRoom(_ source: inout ByteSource) {
    var (queue, now, ids) = (SlotQueue(), KernelInstant(nanoseconds: 0), [UInt64]())
    var waiting: [UInt64: Promise<Void, BluetoothError>] = [:]
    func checkAdmitted() {
        let admitted = waiting.filter { $0.value.isResolved }.keys
        for id in admitted { waiting[id] = nil }
        if let last = admitted.max(), let first = waiting.keys.min() { require(last < first, "\(last) is admitted") }
        require(queue.waitingCount >= waiting.count && (queue.isClaimed || waiting.isEmpty), "\(queue)")
    }
    while !source.isEmpty {
        let (id, count) = (source.choose(ids), queue.waitingCount)
        switch source.number(below: 10) {
        case 0, 1: ids.append(queue.enter())
        case 2, 3: if let id, waiting[id] == nil { waiting[id] = queue.wait(id) }
        case 4: if let id, waiting[id] == nil { queue.refused(id) }
        case 5, 6:
            guard let id else { continue }
            ids.removeAll { $0 == id }
            waiting.removeValue(forKey: id)?.fail(end)
            queue.leave(id, hasLink: source.flag(), at: now)
        case 7:
            queue.linkEnded(at: now)
            require(queue.waitingCount == max(0, count - 1), "the end of a link admits \(count - queue.waitingCount)")
        case 8:
            queue.passOn(at: now)
            require(queue.nextDeadline.map { $0 > now } ?? true, "a slice does not end: \(queue)")
        case 9 where source.byte() > 0xE0:
            queue.fail(end)
            require(queue.waitingCount == 0, "\(queue) after the end")
        default: now = now.advanced(by: source.duration())
        }
        checkAdmitted()
    }
    for _ in 0..<queue.waitingCount { queue.linkEnded(at: now) }
    checkAdmitted()
    require(waiting.isEmpty, "a connect waits for ever: \(queue)")
}

/// Subscribers of one characteristic: each is live once, while the peer has its configuration, or is removed.
@Sendable private func arbitrate(_ source: inout ByteSource) {
    typealias Kind = ClientCharacteristicConfiguration
    let hasDescriptor = source.byte() != 0xFF
    var arbiter = SubscriptionArbiter(descriptor: hasDescriptor ? 7 : nil)
    var (peer, written, isSent, count) = (Kind(), Kind?.none, false, UInt64(0))
    var (present, live) = ([UInt64: Kind](), Set<UInt64>())
    func advance() {
        let decision = arbiter.next(isSent: isSent)
        if decision.isAbandoned {
            require(written != nil && !isSent, "a write is taken back: \(arbiter)")
            written = nil
        }
        if let value = decision.write {
            require(hasDescriptor && written == nil && value == arbiter.requested, "\(value) is written: \(arbiter)")
            (written, isSent) = (value, false)
        }
        for id in decision.live {
            require(live.insert(id).inserted, "\(id) is live twice: \(arbiter)")
            require(!hasDescriptor || present[id]?.isSubset(of: peer) == true, "\(id) is not configured: \(arbiter)")
        }
    }
    func finish(_ outcome: SubscriptionArbiter.Outcome, isWritten: Bool) {
        guard let value = written.take() else { return }
        if isWritten { peer = value }
        for id in arbiter.didEnd(outcome) {
            require(!live.contains(id) && present.removeValue(forKey: id) != nil, "\(id) is removed: \(arbiter)")
        }
    }
    while !source.isEmpty {
        switch source.number(below: 8) {
        case 0, 1:
            count += 1
            present[count] = source.choose([.notification, .indication, [.notification, .indication]])
            arbiter.add(count, present[count] ?? [])
        case 2:
            guard let id = source.choose(present.keys.sorted()) else { continue }
            present[id] = nil
            arbiter.remove(id)
        case 3: isSent = written != nil
        case 4: finish(.refused, isWritten: false)
        case 5: finish(.unknown, isWritten: source.flag())
        default: finish(.accepted, isWritten: true)
        }
        advance()
    }
    for _ in 0..<4 {
        finish(.accepted, isWritten: true)
        advance()
    }
    require(written == nil && live.isSuperset(of: present.keys), "\(present) are not live: \(arbiter)")
}

/// A channel that takes packets, or not, as the input has it.
private final class InputChannel: HostChannel, @unchecked Sendable {
    // Unchecked: it is used on the input's thread alone.
    var outcome = ChannelSend.sent
    var (sent, mustReport) = ([[UInt8]](), false)
    var (peer, maximumTransmissionUnits, isOpen) = (BluetoothAddress.zero, (receive: Int, send: Int)?.none, true)

    func send(_ packet: RawSpan) -> ChannelSend {
        if outcome == .sent { sent.append([UInt8](packet)) }
        return outcome
    }
    func notifyWhenWritable() { mustReport = true }
    func setReading(_ isOn: Bool) {}
    func takeWaiting() -> [UInt8]? { nil }
    func attach() -> (any HostLink)? { nil }
    func security() throws(BluetoothError) -> LinkSecurity { throw end }
    func raiseSecurity(to _: SecurityLevel?, owing: OutstandingTransactions, isBegun: Bool) -> SecurityEvent? { nil }
    func close(_: BluetoothError?, owing: OutstandingTransactions, whenDown: Promise<Void, BluetoothError>?) {}
}

/// Writes to a channel: SDUs have their bytes in order, none is lost or sent twice, and each write ends.
@Sendable private func segment(_ source: inout ByteSource) {
    let (limit, channel) = (source.number(below: 30) + 1, InputChannel())
    var writer = ChannelWriter()
    var writes: [(write: ChannelWrite, bytes: [UInt8])] = []
    func add(_ write: ChannelWrite, _ bytes: [UInt8]) {
        guard (try? writer.add(write)) != nil else { return require(writes.count == 1024, "a short queue is full") }
        writes.append((write, bytes))
    }
    func checkSent() {
        for sdu in channel.sent {
            while let first = writes.first, first.bytes.isEmpty {
                require(first.write.call.isResolved, "\(sdu) is sent ahead")
                writes.removeFirst()
            }
            guard let first = writes.first else { return fault("\(sdu) is sent") }
            require(first.bytes.prefix(limit).elementsEqual(sdu), "\(sdu) is sent, not \(first.bytes)")
            writes[0].bytes.removeFirst(sdu.count)
        }
        channel.sent = []
        while let first = writes.first, first.write.call.isResolved {
            require(first.bytes.isEmpty, "\(first.bytes) are not sent")
            writes.removeFirst()
        }
        require(writes.isEmpty || channel.mustReport, "a write waits for nothing")
    }
    while !source.isEmpty {
        switch source.number(below: 7) {
        case 0, 1:
            let bytes = source.bytes(atMost: 80)
            add(ChannelWrite(bytes, .init("write")), bytes)
        case 2: add(ChannelWrite(flush: .init("flush")), [])
        case 3:
            guard let index = source.choose(Array(writes.indices)) else { continue }
            writes.remove(at: index).write.fail(end)
        case 4: channel.outcome = source.flag() ? .sent : .wouldBlock
        default:
            guard channel.mustReport else { continue }
            channel.mustReport = false
            writer.channelCanSend(channel, upTo: limit)
        }
        writer.advance(channel, upTo: limit)
        checkSent()
    }
    writer.end(end)
    require(writes.allSatisfy { $0.write.call.isResolved }, "a write has no end")
}
