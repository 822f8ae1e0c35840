/// What a receiver has counted.
struct PacketCounts: Hashable, Sendable {
    /// The packets received with the right content, each after those with lower numbers.
    var received: UInt32 = 0
    /// Their bytes.
    var bytes: UInt64 = 0
    /// All others: with wrong content, of another run, received again, or late.
    var corrupted: UInt32 = 0

    /// How many of `sent` packets are missing.
    func lost(of sent: Int) -> Int { max(0, sent - Int(received)) }
}

/// A receiver of numbered packets.
struct PacketCounter: Sendable {
    private(set) var counts = PacketCounts()
    private let run: UInt8
    /// The least number that was not received, and may still be.
    private var next: UInt32? = 0

    init(run: UInt8) {
        self.run = run
    }

    /// Counts a packet; nil is one that was corrupted.
    mutating func receive(_ packet: BenchmarkPacket?) {
        guard case .data(run, let number, let size)? = packet, let next, number >= next else {
            counts.corrupted += counts.corrupted < .max ? 1 : 0
            return
        }
        self.next = number < .max ? number + 1 : nil
        counts.received += 1
        counts.bytes &+= UInt64(size)
    }
}
