/// What a receiver has counted.
struct PacketCounts: Hashable, Sendable {
    /// The packets received, each once, with the right content.
    var received: UInt32 = 0
    /// Their bytes.
    var bytes: UInt64 = 0
    /// Those of them with a lower number than one before.
    var outOfOrder: UInt32 = 0
    /// The packets received again.
    var duplicates: UInt32 = 0
    /// The packets with wrong content, or of another run.
    var corrupted: UInt32 = 0

    /// How many of `sent` packets are missing.
    func lost(of sent: Int) -> Int { max(0, sent - Int(received)) }
}

/// A receiver of numbered packets: counts them in a fixed amount of memory.
///
/// The last 64 numbers are remembered. A packet that comes later than that cannot be distinguished from one that is
/// received again, and counts as a duplicate.
struct PacketCounter: Sendable {
    private(set) var counts = PacketCounts()
    private let run: UInt8
    /// The greatest number so far.
    private var newest: UInt32?
    /// Bit `n` is set if the number `newest - n` was received.
    private var seen: UInt64 = 0

    init(run: UInt8) {
        self.run = run
    }

    /// Counts the bytes of a packet.
    mutating func receive(_ bytes: [UInt8]) {
        receive(BenchmarkPacket(bytes))
    }

    /// Counts a packet; nil is one that was corrupted.
    mutating func receive(_ packet: BenchmarkPacket?) {
        guard case .data(run, let number, let size)? = packet else {
            counts.corrupted.increment()
            return
        }
        guard let newest else {
            self.newest = number
            seen = 1
            return add(size)
        }
        if number > newest {
            let step = number - newest
            seen = step < 64 ? seen << UInt64(step) | 1 : 1
            self.newest = number
            return add(size)
        }
        let age = newest - number
        guard age < 64, seen & (1 << UInt64(age)) == 0 else {
            counts.duplicates.increment()
            return
        }
        seen |= 1 << UInt64(age)
        counts.outOfOrder.increment()
        add(size)
    }

    private mutating func add(_ size: Int) {
        counts.received.increment()
        counts.bytes &+= UInt64(size)
    }
}

extension UInt32 {
    /// Adds one, up to the greatest number.
    fileprivate mutating func increment() {
        if self < .max { self += 1 }
    }
}
