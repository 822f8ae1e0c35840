import BluetoothPrimitives

/// The record type of a capture of Apple's PacketLogger.
package struct PacketLoggerType: RawRepresentable, Hashable, Sendable {
    /// The byte after the record's time.
    package let rawValue: UInt8

    /// The type with the value `rawValue`.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    private static let hciKinds: [UInt8: CapturedPacketKind] = [
        0x00: .command, 0x01: .event, 0x02: .aclSent, 0x03: .aclReceived, 0x08: .synchronousSent,
        0x09: .synchronousReceived,
    ]

    private static let names: [UInt8: String] = [
        0x0A: "LMP sent", 0x0B: "LMP received", 0xF7: "system log", 0xF8: "kernel", 0xF9: "kernel debug",
        0xFA: "error", 0xFB: "power", 0xFC: "note", 0xFD: "configuration", 0xFE: "new controller",
    ]

    /// The kind of the HCI packet; nil for other records.
    package var packetKind: CapturedPacketKind? { Self.hciKinds[rawValue] }

    /// Whether the record is text: a log message, a note or a change of the controller.
    package var isText: Bool { rawValue >= 0xF7 && Self.names[rawValue] != nil }

    /// Whether PacketLogger is known to write this type.
    package var isKnown: Bool { Self.hciKinds[rawValue] != nil || Self.names[rawValue] != nil }
}

extension PacketLoggerType: CustomStringConvertible {
    /// The name of the type.
    package var description: String {
        packetKind?.description ?? Self.names[rawValue] ?? "type 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The capture format of Apple's PacketLogger: records without a file header, in one of two byte orders.
package enum PacketLogger {
    /// The size of a record up to its packet in bytes: the length, the seconds, the microseconds and the type.
    static var headerByteCount: Int { 13 }
    /// The part of the header that the length counts.
    static var countedByteCount: Int { 9 }

    /// Whether the numbers of a file are big-endian; nil if it is no PacketLogger file.
    ///
    /// No field identifies the format, so the first record decides: a length below 64 KiB, microseconds below a million
    /// and a known type.
    static func isBigEndian(_ start: [UInt8]) -> Bool? {
        guard start.count >= headerByteCount else { return nil }
        for isBigEndian in [true, false] {
            let length = number(start, at: 0, isBigEndian)
            guard length >= countedByteCount, length <= 0xFFFF, number(start, at: 8, isBigEndian) < 1_000_000,
                PacketLoggerType(rawValue: start[12]).isKnown
            else { continue }
            return isBigEndian
        }
        return nil
    }

    /// The number in the four bytes from `offset` on.
    static func number(_ bytes: [UInt8], at offset: Int, _ isBigEndian: Bool) -> Int {
        let four = bytes[offset..<offset + 4]
        return isBigEndian ? four.reduce(0) { $0 << 8 | Int($1) } : four.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
