import BluetoothLE

/// The server's side of one central's measurements: values in, packets out.
struct BenchmarkResponder: Sendable {
    /// What the source has to send.
    private struct Sending: Sendable {
        var run: UInt8
        var size: Int
        /// 0 until stopped.
        var count: UInt32
        var sent: UInt32 = 0
        var isStopped = false
    }

    private var counter: PacketCounter?
    private var receivingRun: UInt8 = 0
    private var sending: Sending?

    /// The value of Control.
    var report: BenchmarkReport {
        BenchmarkReport(run: receivingRun, counts: counter?.counts ?? PacketCounts())
    }

    /// Starts or stops a run.
    /// - Parameters:
    ///   - mostBytes: the greatest size of a packet on this link.
    ///   - isSubscribed: whether the central has subscribed to Source.
    /// - Returns: whether a run of sending has begun: packets are then to be taken with ``nextPacket()``.
    mutating func control(
        _ control: BenchmarkControl, mostBytes: Int, isSubscribed: Bool
    ) throws(ATTErrorCode) -> Bool {
        switch control {
        case .receive(let run):
            (receivingRun, counter) = (run, PacketCounter(run: run))
            return false
        case .send(let run, let size, let count):
            guard sending == nil else { throw .procedureAlreadyInProgress }
            guard Int(size) >= BenchmarkPacket.leastSize, Int(size) <= min(mostBytes, BenchmarkPacket.greatestSize)
            else { throw .outOfRange }
            guard isSubscribed else { throw .clientCharacteristicConfigurationDescriptorImproperlyConfigured }
            sending = Sending(run: run, size: Int(size), count: count)
            return true
        case .stop(let run):
            if sending?.run == run { sending?.isStopped = true }
            return false
        }
    }

    /// Counts a value written to Sink, if a run has begun.
    mutating func receive(_ value: [UInt8]) { counter?.receive(BenchmarkPacket(value)) }

    /// The next packet of Source; after the end packet nil.
    mutating func nextPacket() -> BenchmarkPacket? {
        guard let current = sending else { return nil }
        let isOver = current.isStopped || (current.count > 0 && current.sent >= current.count) || current.sent == .max
        if isOver {
            sending = nil
            return .end(run: current.run, sent: current.sent)
        }
        sending?.sent += 1
        return .data(run: current.run, number: current.sent, size: current.size)
    }

    /// Ends sending without the end packet, since the central does not accept packets.
    mutating func abandonSending() { sending = nil }
}
