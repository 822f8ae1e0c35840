import BluetoothPrimitives

/// A packet of a measurement: its kind, the run, the sequence number, and bytes to be checked.
///
/// | kind | bytes |
/// | --- | --- |
/// | data | 0, run, sequence number (4 bytes, from 0), then the bytes `(sequence number × 31 + index) mod 256` with the index from 0 |
/// | end | 1, run, number of packets sent (4 bytes) |
enum BenchmarkPacket: Hashable, Sendable {
    /// A packet with content, of `size` bytes altogether.
    case data(run: UInt8, number: UInt32, size: Int)
    /// The end of what the source has sent.
    case end(run: UInt8, sent: UInt32)

    private static let headerSize = 6
    /// The least size of a data packet: two bytes are checked.
    static let leastSize = 8
    /// The greatest, since no value is longer.
    static let greatestSize = 512

    /// Nil for what is not a packet, and for one with other content than its number has.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes.span.bytes)
        do throws(TruncatedBytes) {
            let kind = try reader.readUInt8()
            let (run, number) = (try reader.readUInt8(), try reader.readUInt32())
            switch kind {
            case 0:
                guard (Self.leastSize...Self.greatestSize).contains(bytes.count) else { return nil }
                var expected = Self.firstByte(of: number)
                for byte in bytes[Self.headerSize...] {
                    guard byte == expected else { return nil }
                    expected &+= 1
                }
                self = .data(run: run, number: number, size: bytes.count)
            case 1 where reader.isAtEnd: self = .end(run: run, sent: number)
            default: return nil
            }
        } catch {
            return nil
        }
    }

    /// The bytes; a data packet has at least those of the header.
    var bytes: [UInt8] {
        switch self {
        case .data(let run, let number, let size):
            var bytes: [UInt8] = [0, run] + littleEndian(number)
            bytes.reserveCapacity(max(size, bytes.count))
            var next = Self.firstByte(of: number)
            while bytes.count < size {
                bytes.append(next)
                next &+= 1
            }
            return bytes
        case .end(let run, let sent): return [1, run] + littleEndian(sent)
        }
    }

    private static func firstByte(of number: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: number &* 31) }
}
