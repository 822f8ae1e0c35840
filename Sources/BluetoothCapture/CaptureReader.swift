import BluetoothPrimitives

/// A record of a capture file, with its own bytes.
package struct CaptureRecord: Hashable, Sendable {
    /// What a record contains.
    package enum Kind: Hashable, Sendable {
        /// A packet, or another record of the monitor channel.
        case packet(CapturedPacketKind)
        /// A log message or note of PacketLogger.
        case log(PacketLoggerType)
        /// A record of PacketLogger that is neither an HCI packet nor text.
        case other(PacketLoggerType)
        /// A packet with an unassigned packet indicator, or without one.
        case unknown
    }

    /// The number of the record in the file, from 1.
    package var number: Int
    /// The time of capture in microseconds since 1970 in UTC.
    package var time: Int64
    /// The index of the adapter; 0 in files of one adapter.
    package var adapter: UInt16
    /// What the record contains.
    package var kind: Kind
    /// The bytes, as far as the file contains them; HCI packets without their packet indicator.
    package var payload: [UInt8]
    /// The number of bytes missing at the end of the packet.
    package var missingByteCount = 0
    /// The number of packets lost since the beginning of the capture.
    package var drops: UInt32 = 0
}

/// The format of a capture file.
package enum CaptureFormat: Hashable, Sendable, CustomStringConvertible {
    /// btsnoop, with its datalink type.
    case btsnoop(BTSnoopDatalink)
    /// Apple's PacketLogger; its older versions write big-endian numbers.
    case packetLogger(isBigEndian: Bool)

    /// The name of the format.
    package var description: String {
        switch self {
        case .btsnoop(let datalink): "btsnoop (\(datalink))"
        case .packetLogger(let isBigEndian): "PacketLogger (\(isBigEndian ? "big-endian" : "little-endian"))"
        }
    }
}

/// An error for bytes that are not a readable capture file.
package enum CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file has no bytes.
    case empty
    /// The file is in another format, and begins with these bytes, at most 8.
    case unknownFormat([UInt8])
    /// The btsnoop file has another version than 1.
    case unsupportedVersion(UInt32)
    /// The btsnoop file has an unsupported datalink type.
    case unsupportedDatalink(BTSnoopDatalink)
    /// The file ends within its header or within a record.
    case truncated(record: Int, offset: Int, needed: Int, available: Int)
    /// A record has a length that no packet has.
    case invalidLength(record: Int, offset: Int, Int)

    /// The error as text.
    package var description: String {
        switch self {
        case .empty: return "it is empty"
        case .unknownFormat(let start):
            let bytes = start.map { hexadecimal($0, digits: 2) }.joined(separator: " ")
            return
                "it is neither btsnoop nor PacketLogger, but \(Self.otherFormat(start).name): it begins with \(bytes)"
        case .unsupportedVersion(let version): return "it is btsnoop of version \(version), not 1"
        case .unsupportedDatalink(let datalink): return "it is btsnoop with \(datalink), not 1001, 1002 or 2001"
        case .truncated(0, _, let needed, let available):
            return "it ends after \(available) of the \(needed) bytes of its header"
        case .truncated(let record, let offset, let needed, let available):
            return "it ends within record \(record) at byte \(offset), after \(available) of \(needed) bytes"
        case .invalidLength(let record, let offset, let length):
            return "record \(record) at byte \(offset) has an impossible length of \(length) bytes"
        }
    }

    /// The command that makes a readable file of one in another format; nil if none is known.
    package var remedy: String? {
        guard case .unknownFormat(let start) = self else { return nil }
        return Self.otherFormat(start).remedy
    }

    private static func otherFormat(_ start: [UInt8]) -> (name: String, remedy: String?) {
        let conversion = "If it has HCI packets, convert it with: tshark -r IN -F btsnoop -w OUT"
        switch start.prefix(4) {
        case [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D]:
            return ("pcap", conversion)
        case [0x0A, 0x0D, 0x0D, 0x0A]: return ("pcapng", conversion)
        case Array("====".utf8)[...], Array("--- ".utf8)[...]:
            return (
                "the text of an Android bug report (btsnooz)",
                "Extract its packets with Android's script: python3 btsnooz.py IN > OUT"
            )
        case let start where start.prefix(2) == [0x1F, 0x8B]: return ("gzip", "Unpack it with: gunzip IN.gz")
        default: return ("another format", nil)
        }
    }
}

/// A reader of btsnoop and PacketLogger files in pieces of any size, as they arrive.
///
/// ```swift
/// reader.append(bytes)
/// try reader.read { record in … }
/// // After the last bytes:
/// try reader.finish()
/// ```
///
/// Memory is bounded by the bytes appended at once and the longest permitted record.
package struct CaptureReader: Sendable {
    /// The maximum length of a record in bytes; HCI packets have at most 65,539.
    package static var maximumRecordByteCount: Int { 262_144 }
    /// The number of bytes of an unknown format in the error, whatever the size of the first piece.
    private static var shownByteCount: Int { 8 }

    /// The format of the file, once its beginning was read.
    package private(set) var format: CaptureFormat?
    /// The number of records read.
    package private(set) var recordCount = 0
    private var buffer: [UInt8] = []
    /// The offset in the file of the first byte in ``buffer``.
    private var offset = 0
    private var hasFailed = false

    /// A reader at the beginning of a file.
    package init() {}

    /// Appends the next bytes of the file; ignores them after an error.
    package mutating func append(_ bytes: [UInt8]) {
        if !hasFailed { buffer += bytes }
    }

    /// The records that the appended bytes complete, in order.
    ///
    /// - Parameter body: Called with each record.
    /// - Throws: ``CaptureError``, after the records before the error.
    package mutating func read(_ body: (CaptureRecord) -> Void) throws(CaptureError) {
        var position = 0
        defer { consume(position) }
        do throws(CaptureError) {
            while !hasFailed, let (record, count) = try next(at: position) {
                position += count
                if let record { body(record) }
            }
        } catch {
            hasFailed = true
            throw error
        }
    }

    /// Checks that the file ends after a record.
    package mutating func finish() throws(CaptureError) {
        guard !hasFailed else { return }
        hasFailed = true
        guard let format else {
            let start = Array(buffer.prefix(16))
            if start.isEmpty { throw .empty }
            guard Self.isBTSnoop(start) else { throw Self.unknownFormat(start) }
            throw .truncated(record: 0, offset: 0, needed: BTSnoop.headerByteCount, available: start.count)
        }
        guard !buffer.isEmpty else { return }
        let needed =
            switch format {
            case .btsnoop: try btsnoopLength(at: 0) ?? BTSnoop.recordHeaderByteCount
            case .packetLogger(let isBigEndian): try packetLoggerLength(at: 0, isBigEndian) ?? 4
            }
        throw .truncated(record: recordCount + 1, offset: offset, needed: needed, available: buffer.count)
    }

    private mutating func consume(_ count: Int) {
        buffer.removeFirst(count)
        offset += count
    }

    private static func unknownFormat(_ start: [UInt8]) -> CaptureError {
        .unknownFormat(Array(start.prefix(shownByteCount)))
    }

    private static func isBTSnoop(_ start: [UInt8]) -> Bool {
        start.starts(with: BTSnoop.identification.prefix(start.count))
    }

    /// The record at `position` and its length in the file, nil if it is incomplete; the file header has no record.
    private mutating func next(at position: Int) throws(CaptureError) -> (record: CaptureRecord?, count: Int)? {
        switch format {
        case nil: return try readHeader().map { (nil, $0) }
        case .btsnoop(let datalink): return try nextBTSnoop(at: position, datalink)
        case .packetLogger(let isBigEndian): return try nextPacketLogger(at: position, isBigEndian)
        }
    }

    /// Determines the format; returns the size of the file header.
    private mutating func readHeader() throws(CaptureError) -> Int? {
        let start = Array(buffer.prefix(BTSnoop.headerByteCount))
        if Self.isBTSnoop(start) {
            guard start.count == BTSnoop.headerByteCount else { return nil }
            let version = UInt32(PacketLogger.number(start, at: 8, true))
            guard version == BTSnoop.version else { throw .unsupportedVersion(version) }
            let datalink = BTSnoopDatalink(rawValue: UInt32(PacketLogger.number(start, at: 12, true)))
            guard [.hci, .h4, .monitor].contains(datalink) else { throw .unsupportedDatalink(datalink) }
            format = .btsnoop(datalink)
            return BTSnoop.headerByteCount
        }
        guard start.count >= PacketLogger.headerByteCount else { return nil }
        guard let isBigEndian = PacketLogger.isBigEndian(start) else { throw Self.unknownFormat(start) }
        format = .packetLogger(isBigEndian: isBigEndian)
        return 0
    }

    private func checked(_ count: Int, at position: Int, least: Int) throws(CaptureError) -> Int {
        guard count >= least, count <= Self.maximumRecordByteCount else {
            throw .invalidLength(record: recordCount + 1, offset: offset + position, count)
        }
        return count
    }

    /// The length of a btsnoop record with its header; nil before its length was received.
    private func btsnoopLength(at position: Int) throws(CaptureError) -> Int? {
        guard buffer.count - position >= 8 else { return nil }
        let count = PacketLogger.number(buffer, at: position + 4, true)
        return try checked(BTSnoop.recordHeaderByteCount + count, at: position, least: BTSnoop.recordHeaderByteCount)
    }

    private mutating func nextBTSnoop(
        at position: Int, _ datalink: BTSnoopDatalink
    ) throws(CaptureError) -> (record: CaptureRecord?, count: Int)? {
        guard let count = try btsnoopLength(at: position), buffer.count - position >= count else { return nil }
        recordCount += 1
        func number(_ offset: Int) -> UInt32 { UInt32(PacketLogger.number(buffer, at: position + offset, true)) }
        let (original, included, flags) = (number(0), number(4), number(8))
        let time = (UInt64(number(16)) << 32 | UInt64(number(20))) &- BTSnoop.unixEpoch
        var record = CaptureRecord(
            number: recordCount, time: Int64(bitPattern: time), adapter: 0, kind: .unknown,
            payload: Array(buffer[position + BTSnoop.recordHeaderByteCount..<position + count]))
        let isReceived = flags & 1 == 1
        let kind: CapturedPacketKind? =
            switch datalink {
            case .monitor: CapturedPacketKind(rawValue: UInt16(truncatingIfNeeded: flags))
            case .h4: record.payload.first.flatMap { CapturedPacketKind(packetType: $0, isReceived: isReceived) }
            default: CapturedPacketKind(packetType: flags & 2 == 0 ? 2 : isReceived ? 4 : 1, isReceived: isReceived)
            }
        // Without a known indicator the record is no more than its bytes.
        guard let kind else { return (record, count) }
        record.kind = .packet(kind)
        record.drops = number(12)
        record.missingByteCount = original > included ? Int(original - included) : 0
        if datalink == .monitor { record.adapter = UInt16(flags >> 16) }
        if datalink == .h4 { record.payload.removeFirst() }
        return (record, count)
    }

    /// The length of a PacketLogger record with its length field; nil before that was received.
    private func packetLoggerLength(at position: Int, _ isBigEndian: Bool) throws(CaptureError) -> Int? {
        guard buffer.count - position >= 4 else { return nil }
        let count = PacketLogger.number(buffer, at: position, isBigEndian)
        return try checked(count, at: position, least: PacketLogger.countedByteCount) + 4
    }

    private mutating func nextPacketLogger(
        at position: Int, _ isBigEndian: Bool
    ) throws(CaptureError) -> (record: CaptureRecord?, count: Int)? {
        guard let count = try packetLoggerLength(at: position, isBigEndian), buffer.count - position >= count else {
            return nil
        }
        recordCount += 1
        let seconds = Int64(PacketLogger.number(buffer, at: position + 4, isBigEndian))
        let microseconds = Int64(PacketLogger.number(buffer, at: position + 8, isBigEndian))
        let type = PacketLoggerType(rawValue: buffer[position + 12])
        let kind: CaptureRecord.Kind =
            type.packetKind.map { .packet($0) } ?? (type.isText ? .log(type) : .other(type))
        let payload = Array(buffer[position + PacketLogger.headerByteCount..<position + count])
        let record = CaptureRecord(
            number: recordCount, time: seconds * 1_000_000 + microseconds, adapter: 0, kind: kind, payload: payload)
        return (record, count)
    }
}
