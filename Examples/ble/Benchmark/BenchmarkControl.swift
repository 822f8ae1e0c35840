import BluetoothLE
import BluetoothPrimitives

/// A value written to Control: the version of the protocol, an operation, the run, and the operation's parameters.
///
/// | operation | bytes |
/// | --- | --- |
/// | receive | 2, 1, run |
/// | send | 2, 2, run, size (2 bytes), count (4 bytes, 0 until stopped) |
/// | stop | 2, 3, run |
enum BenchmarkControl: Hashable, Sendable {
    /// Counts the packets written to Sink, from 0.
    case receive(run: UInt8)
    /// Sends `count` packets of `size` bytes, with 0 until it is stopped; then the end packet.
    case send(run: UInt8, size: UInt16, count: UInt32)
    /// Ends sending. Without an effect if the run has ended.
    case stop(run: UInt8)

    static let version: UInt8 = 2
    /// The error of a value with another version.
    static let unsupportedVersion = ATTErrorCode(0x80)
    /// The error of an unknown operation.
    static let unknownOperation = ATTErrorCode(0x81)

    init(_ bytes: [UInt8]) throws(ATTErrorCode) {
        var reader = ByteReader(bytes.span.bytes)
        let control: Result<BenchmarkControl, ATTErrorCode>
        do throws(TruncatedBytes) {
            control = try Self.read(&reader)
        } catch {
            throw .invalidAttributeValueLength
        }
        self = try control.get()
        guard reader.isAtEnd else { throw .invalidAttributeValueLength }
    }

    private static func read(
        _ reader: inout ByteReader
    ) throws(TruncatedBytes) -> Result<BenchmarkControl, ATTErrorCode> {
        guard try reader.readUInt8() == version else { return .failure(unsupportedVersion) }
        let operation = try reader.readUInt8()
        guard (1...3).contains(operation) else { return .failure(unknownOperation) }
        let run = try reader.readUInt8()
        switch operation {
        case 1: return .success(.receive(run: run))
        case 2:
            return .success(.send(run: run, size: try reader.readUInt16(), count: try reader.readUInt32()))
        default: return .success(.stop(run: run))
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .receive(let run): [Self.version, 1, run]
        case .send(let run, let size, let count): [Self.version, 2, run] + littleEndian(size) + littleEndian(count)
        case .stop(let run): [Self.version, 3, run]
        }
    }
}

/// The value read from Control: what Sink has received in the last run.
///
/// The version, run, received packets (4 bytes), their bytes (8), corrupted packets (4).
struct BenchmarkReport: Hashable, Sendable {
    var run: UInt8 = 0
    var counts = PacketCounts()

    init(run: UInt8 = 0, counts: PacketCounts = PacketCounts()) {
        (self.run, self.counts) = (run, counts)
    }

    /// Nil for truncated bytes and for another version; bytes that a later version adds are ignored.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes.span.bytes)
        do throws(TruncatedBytes) {
            guard try reader.readUInt8() == BenchmarkControl.version else { return nil }
            run = try reader.readUInt8()
            counts.received = try reader.readUInt32()
            counts.bytes = try reader.readUInt64()
            counts.corrupted = try reader.readUInt32()
        } catch {
            return nil
        }
    }

    var bytes: [UInt8] {
        [BenchmarkControl.version, run] + littleEndian(counts.received) + littleEndian(counts.bytes)
            + littleEndian(counts.corrupted)
    }
}

/// The bytes of a number, least significant first.
func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}
