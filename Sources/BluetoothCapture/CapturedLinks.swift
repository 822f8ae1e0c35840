import BluetoothPrimitives

/// The links of a capture, with the attributes of both sides and their channels.
///
/// Memory is bounded: beyond ``capacity`` links or servers the least recently used one is forgotten, and what is known
/// of it with it.
struct CapturedLinks: Sendable {
    /// A connection handle of an adapter.
    struct Key: Hashable, Sendable {
        var adapter: UInt16
        var handle: UInt16
    }

    /// A link.
    struct Link: Sendable {
        var peer: BluetoothAddress?
        var dialog = AttributeDialog()
        var channels = CapturedChannels()
    }

    /// A server: a peer's, kept after its link since clients store what they discovered, or an adapter's own.
    private enum Server: Hashable, Sendable {
        case local(adapter: UInt16)
        case peer(BluetoothAddress, adapter: UInt16)
        case unknown(Key)
    }

    static let capacity = 64

    private var links = Recent<Key, Link>(capacity: capacity)
    private var servers = Recent<Server, AttributeNames>(capacity: capacity)

    /// The peer of a link, if the capture contains its beginning.
    func peer(of key: Key) -> BluetoothAddress? { links.value(of: key)?.peer }

    /// Begins a link, which replaces an earlier one with its handle.
    mutating func begin(_ key: Key, peer: BluetoothAddress) {
        links.use(key, orInsert: Link()) { $0 = Link(peer: peer) }
    }

    /// Ends a link.
    mutating func end(_ key: Key) {
        links.remove { $0 == key }
        servers.remove { $0 == .unknown(key) }
    }

    /// Ends all links of an adapter.
    mutating func endAll(of adapter: UInt16) {
        links.remove { $0.adapter == adapter }
        servers.remove {
            if case .unknown(let key) = $0 { key.adapter == adapter } else { false }
        }
    }

    /// Processes a PDU of the Attribute Protocol on a link.
    mutating func receive(
        _ pdu: [UInt8], on key: Key, isSent: Bool, isFromClient: Bool
    ) -> CapturedAttributePDU {
        let server: Server =
            isSent != isFromClient
            ? .local(adapter: key.adapter) : peer(of: key).map { .peer($0, adapter: key.adapter) } ?? .unknown(key)
        return links.use(key, orInsert: Link()) { link in
            servers.use(server, orInsert: AttributeNames()) { names in
                link.dialog.receive(pdu.span.bytes, isSent: isSent, names: &names)
            }
        }
    }

    /// Stores the channels of a signalling command.
    mutating func record(_ channels: SignallingText.Channels, on key: Key, isSent: Bool) {
        links.use(key, orInsert: Link()) { $0.channels.record(channels, isSent: isSent) }
    }

    /// The PSM of a channel; nil if the capture lacks its beginning.
    func psm(of channel: UInt16, on key: Key, isSent: Bool) -> UInt16? {
        links.value(of: key)?.channels.psm(of: channel, isSent: isSent)
    }
}

/// The connection-oriented channels of a link.
struct CapturedChannels: Sendable {
    /// A channel identifier of the receiver, or the identifier of a request, in a direction.
    private struct Identifier: Hashable, Sendable {
        var number: UInt16
        var isSent: Bool
    }

    private var psms = Recent<Identifier, UInt16>(capacity: 64)
    private var requests = Recent<Identifier, UInt16>(capacity: 16)

    /// Stores the channels of a command.
    mutating func record(_ channels: SignallingText.Channels, isSent: Bool) {
        switch channels {
        case .requested(let psm, let identifiers, let id):
            requests.use(Identifier(number: UInt16(id), isSent: isSent), orInsert: psm) { $0 = psm }
            store(psm, identifiers, isSent: !isSent)
        case .accepted(let identifiers, let id):
            guard let psm = requests.value(of: Identifier(number: UInt16(id), isSent: !isSent)) else { return }
            store(psm, identifiers, isSent: !isSent)
        case .closed(let identifiers): psms.remove { identifiers.contains($0.number) }
        }
    }

    private mutating func store(_ psm: UInt16, _ identifiers: [UInt16], isSent: Bool) {
        for identifier in identifiers {
            psms.use(Identifier(number: identifier, isSent: isSent), orInsert: psm) { $0 = psm }
        }
    }

    func psm(of channel: UInt16, isSent: Bool) -> UInt16? {
        psms.value(of: Identifier(number: channel, isSent: isSent))
    }
}

/// A dictionary of limited size that forgets the least recently used value; few values only, since that takes a search.
private struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var entries: [Key: (value: Value, lastUse: UInt64)] = [:]
    private var useCount: UInt64 = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    func value(of key: Key) -> Value? { entries[key]?.value }

    @discardableResult
    mutating func use<Result>(
        _ key: Key, orInsert value: @autoclosure () -> Value, _ body: (inout Value) -> Result
    ) -> Result {
        useCount += 1
        // Moved out, so that a change copies nothing.
        var entry = entries.removeValue(forKey: key) ?? (value(), 0)
        if entries.count >= capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            entries[oldest.key] = nil
        }
        entry.lastUse = useCount
        defer { entries[key] = entry }
        return body(&entry.value)
    }

    mutating func remove(where shouldRemove: (Key) -> Bool) {
        for key in entries.keys.filter(shouldRemove) { entries[key] = nil }
    }
}
