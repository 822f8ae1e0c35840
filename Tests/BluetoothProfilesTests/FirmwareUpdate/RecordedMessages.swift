import TestSupport
import Testing

@testable import BluetoothProfiles

/// A message with its encoding by an independent implementation, recorded by Tests/FirmwareMessages/record.
struct RecordedMessage: Sendable, CustomTestStringConvertible {
    static let all = vectorTable("../FirmwareMessages/messages.txt").map(RecordedMessage.init)

    var testDescription: String
    var header: SMPHeader
    /// In diagnostic notation.
    var body: String
    var bytes: [UInt8]

    private init(_ words: [String]) {
        let numbers = words[1...5].map { UInt8($0) ?? 0xFF }
        testDescription = words[0]
        header = SMPHeader(
            SMPHeader.Operation(rawValue: numbers[0]) ?? .read,
            SMPCommand(group: UInt16(numbers[2]), number: numbers[3]), sequence: numbers[4], version: numbers[1])
        (body, bytes) = (words[6], hex(words[7]))
    }
}

extension CBOR {
    /// The item in the diagnostic notation of RFC 8949 §8, without spaces and with the keys of maps in their order.
    var diagnostic: String {
        switch self {
        case .unsigned(let number): "\(number)"
        case .bytes(let bytes): "h'\(bytes.hexadecimal)'"
        case .text(let text): "\"\(text)\""
        case .array(let items): "[\(items.map(\.diagnostic).joined(separator: ","))]"
        case .map(let map):
            "{\(map.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.diagnostic)" }.joined(separator: ","))}"
        case .bool(let isTrue): "\(isTrue)"
        case .negative, .null, .other: "\(self)"
        }
    }
}
