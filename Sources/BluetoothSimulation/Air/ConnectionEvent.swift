import BluetoothHost

/// The exchanges of packets in a connection event (Core Vol 6 Part B §4.5.1, §4.5.6, §4.5.9): the central's packet,
/// T_IFS, the peripheral's, T_IFS, and so on while either side has more data, until the next anchor point less T_IFS.
///
/// A value without time of its own: moments are µs after the anchor point. What both packets of an exchange contain is
/// decided when it begins, as a controller prepares its packet before the other side's has ended: the reply to a packet
/// goes out in the next exchange at the earliest.
struct ConnectionEvent {
    /// One side's transmission, which the next connection event continues.
    struct Transmission {
        /// The bytes of the first message that the other side has received.
        fileprivate(set) var received = 0
        /// The payload of the packet that the other side has received without its acknowledgement having come back: it
        /// is sent again, and the other side ignores it.
        fileprivate(set) var unacknowledged: Int?
    }

    /// What a side has to send at the beginning of an exchange.
    struct Backlog: Equatable {
        /// The size of the first message; 0 without one.
        var first = 0
        /// Whether another one follows.
        var hasMore = false
    }

    /// The limits of one side's packets.
    struct Limits {
        var coding = LinkLayerCoding.le1M
        /// The largest payload of a packet in bytes.
        var payload = LinkLayerTiming.payloadRange.lowerBound
    }

    /// The rules of an exchange.
    struct Rules {
        var central = Limits()
        var peripheral = Limits()
        var isEncrypted = false
        /// The maximum number of exchanges; nil for as many as fit.
        var exchangeLimit: Int?
    }

    /// The messages that an exchange completes: the moments at which the last packet of each has been received.
    struct Completion {
        var centralMessage: Int?
        var peripheralMessage: Int?
        /// The end of the peripheral's packet.
        var end: Int
    }

    private(set) var central: Transmission
    private(set) var peripheral: Transmission
    /// The beginning of the next exchange.
    private(set) var time = 0
    /// Whether no exchange follows.
    private(set) var isClosed = false
    /// The latest end of the last exchange.
    private let limit: Int
    private var exchangeCount = 0
    /// The invalid packets in a row that each side has received.
    private var invalid = (atCentral: 0, atPeripheral: 0)

    /// An event in an interval of this many µs, which continues the transmissions of the last one.
    init(interval: Int, central: Transmission = Transmission(), peripheral: Transmission = Transmission()) {
        limit = interval - LinkLayerTiming.interFrameSpace
        self.central = central
        self.peripheral = peripheral
    }

    /// Adopts one side's transmission of a later state.
    mutating func adopt(_ isCentral: Bool, from later: ConnectionEvent) {
        if isCentral { central = later.central } else { peripheral = later.peripheral }
    }

    /// Whether the peripheral awaits the acknowledgement of data, so that it listens to the next event as well.
    var peripheralAwaitsAcknowledgement: Bool { (peripheral.unacknowledged ?? 0) > 0 }

    /// Performs an exchange; nil when the event is closed or nothing more fits into it.
    ///
    /// - Parameter isLost: decides whether a packet is received with an invalid CRC.
    mutating func exchange(
        central centralBacklog: Backlog, peripheral peripheralBacklog: Backlog, _ rules: Rules, isLost: () -> Bool
    ) -> Completion? {
        guard !isClosed else { return nil }
        let isCentralLost = isLost()
        // A valid packet acknowledges the other side's last one.
        var peripheralBefore = peripheral
        if !isCentralLost { peripheralBefore.unacknowledged = nil }
        guard
            let payloads = payloads(
                centralBacklog, (peripheralBefore, peripheralBacklog), rules)
        else {
            isClosed = true
            return nil
        }
        peripheral = peripheralBefore
        let centralEnd = time + duration(payloads.central, rules.central, rules)
        let end = centralEnd + LinkLayerTiming.interFrameSpace + duration(payloads.peripheral, rules.peripheral, rules)
        var completion = Completion(end: end)

        let centralHasMore = central.hasMore(after: payloads.central, centralBacklog)
        let peripheralHasMore = peripheral.hasMore(after: payloads.peripheral, peripheralBacklog)
        if !isCentralLost, central.deliver(payloads.central, of: centralBacklog) {
            completion.centralMessage = centralEnd
        }
        let isPeripheralLost = isLost()
        if !isPeripheralLost {
            if peripheral.deliver(payloads.peripheral, of: peripheralBacklog) { completion.peripheralMessage = end }
            // The reply acknowledges the central's packet.
            if !isCentralLost { central.unacknowledged = nil }
        }
        invalid = (isPeripheralLost ? invalid.atCentral + 1 : 0, isCentralLost ? invalid.atPeripheral + 1 : 0)
        exchangeCount += 1
        time = end + LinkLayerTiming.interFrameSpace
        // The MD bits of both packets decide whether another exchange follows; two invalid packets in a row close the
        // event (§4.5.6).
        isClosed =
            !(centralHasMore || (peripheralHasMore && !isPeripheralLost))
            || max(invalid.atCentral, invalid.atPeripheral) >= 2 || exchangeCount >= rules.exchangeLimit ?? .max
        return completion
    }

    /// The payloads of the next exchange's packets; nil if none fits that has data. A side whose data does not fit
    /// sends an empty packet.
    private func payloads(
        _ centralBacklog: Backlog, _ peripheral: (Transmission, Backlog), _ rules: Rules
    ) -> (central: Int, peripheral: Int)? {
        let central = self.central.payload(centralBacklog, rules.central.payload)
        let answer = peripheral.0.payload(peripheral.1, rules.peripheral.payload)
        if fits(central, answer, rules) { return (central, answer) }
        if central > 0, peripheral.0.unacknowledged == nil, fits(central, 0, rules) { return (central, 0) }
        if answer > 0, self.central.unacknowledged == nil, fits(0, answer, rules) { return (0, answer) }
        return nil
    }

    private func fits(_ central: Int, _ peripheral: Int, _ rules: Rules) -> Bool {
        time + duration(central, rules.central, rules) + LinkLayerTiming.interFrameSpace
            + duration(peripheral, rules.peripheral, rules) <= limit
    }

    private func duration(_ payload: Int, _ limits: Limits, _ rules: Rules) -> Int {
        LinkLayerTiming.duration(ofPayload: payload, limits.coding, isEncrypted: rules.isEncrypted)
    }
}

extension ConnectionEvent.Transmission {
    /// The payload of the next packet, 0 for an empty one. The host has cut the message into HCI ACL data packets,
    /// which the controller does not join.
    fileprivate func payload(_ backlog: ConnectionEvent.Backlog, _ limit: Int) -> Int {
        if let unacknowledged { return unacknowledged }
        let inBuffer = LinkCapacity.aclByteCount - received % LinkCapacity.aclByteCount
        return max(0, min(limit, inBuffer, backlog.first - received))
    }

    /// The MD bit of a packet with this payload: whether data follows it.
    fileprivate func hasMore(after payload: Int, _ backlog: ConnectionEvent.Backlog) -> Bool {
        backlog.hasMore || received + (unacknowledged == nil ? payload : 0) < backlog.first
    }

    /// Records that the other side has received a packet; returns whether it completes the first message.
    fileprivate mutating func deliver(_ payload: Int, of backlog: ConnectionEvent.Backlog) -> Bool {
        guard unacknowledged == nil else { return false }
        unacknowledged = payload
        guard payload > 0 else { return false }
        received += payload
        guard received >= backlog.first else { return false }
        received = 0
        return true
    }
}
