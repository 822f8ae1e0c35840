import BluetoothPrimitives

/// A reader of the records of a btsnoop file, whose bytes it borrows.
///
/// ```swift
/// var reader = try BTSnoopReader(file)
/// while let record = try reader.next() { … }
/// ```
///
/// Iteration returns the records before a truncated one, throws there, and then ends.
public struct BTSnoopReader: ~Escapable {
    /// The datalink type of the file.
    public let datalink: BTSnoopDatalink
    private var reader: ByteReader
    private var hasFailed = false

    /// A reader at the beginning of `file`.
    ///
    /// - Throws: ``BTSnoopError`` when it is not a btsnoop file or has an unsupported format.
    @_lifetime(copy file)
    public init(_ file: RawSpan) throws(BTSnoopError) {
        var reader = ByteReader(file)
        let identification: [UInt8]
        let version: UInt32
        do throws(TruncatedBytes) {
            identification = [UInt8](try reader.read(BTSnoop.identification.count))
            version = try reader.readUInt32().byteSwapped
            datalink = BTSnoopDatalink(rawValue: try reader.readUInt32().byteSwapped)
        } catch {
            throw .notBTSnoop
        }
        guard identification == BTSnoop.identification else { throw .notBTSnoop }
        guard version == BTSnoop.version else { throw .unsupportedVersion(version) }
        guard [.hci, .h4, .monitor].contains(datalink) else { throw .unsupportedDatalink(datalink) }
        self.reader = reader
    }

    /// A reader of records without the file header before them.
    @_lifetime(copy records)
    init(records: RawSpan, as datalink: BTSnoopDatalink) {
        self.datalink = datalink
        reader = ByteReader(records)
    }

    /// The next record, or nil after the last; skips packets with an unassigned packet indicator.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() throws(BTSnoopError) -> BTSnoopRecord? {
        while !reader.isAtEnd, !hasFailed {
            do throws(TruncatedBytes) {
                if let record = try read() { return record }
            } catch {
                hasFailed = true
                throw .truncated(error)
            }
        }
        return nil
    }

    @_lifetime(copy self)
    @_lifetime(self: copy self)
    private mutating func read() throws(TruncatedBytes) -> BTSnoopRecord? {
        let originalCount = try reader.readUInt32().byteSwapped
        let count = try reader.readUInt32().byteSwapped
        let flags = try reader.readUInt32().byteSwapped
        let drops = try reader.readUInt32().byteSwapped
        let time = Int64(bitPattern: try reader.readUInt64().byteSwapped &- BTSnoop.unixEpoch)
        var bytes = ByteReader(try reader.read(Int(count)))
        let kind: CapturedPacketKind?
        switch datalink {
        case .monitor: kind = CapturedPacketKind(rawValue: UInt16(truncatingIfNeeded: flags))
        case .h4:
            guard !bytes.isAtEnd else { return nil }
            kind = CapturedPacketKind(packetType: try bytes.readUInt8(), isReceived: flags & 1 == 1)
        default:
            let packetType: UInt8 = flags & 2 == 0 ? 2 : flags & 1 == 0 ? 1 : 4
            kind = CapturedPacketKind(packetType: packetType, isReceived: flags & 1 == 1)
        }
        guard let kind else { return nil }
        let adapter = datalink == .monitor ? UInt16(truncatingIfNeeded: flags >> 16) : 0
        return BTSnoopRecord(
            CapturedPacket(adapter: adapter, kind: kind, payload: bytes.readRemaining()), time: time, drops: drops,
            truncatedByteCount: originalCount > count ? Int(originalCount - count) : 0)
    }
}
