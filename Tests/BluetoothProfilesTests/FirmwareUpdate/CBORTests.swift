import TestSupport
import Testing

@testable import BluetoothProfiles

/// CBOR (RFC 8949): the examples of its appendix A that SMP may use, and malformed items.
@Suite struct CBORTests {
    @Test(arguments: [
        ("00", CBOR.unsigned(0)), ("17", .unsigned(23)), ("1818", .unsigned(24)), ("1903E8", .unsigned(1000)),
        ("1A000F4240", .unsigned(1_000_000)), ("1BFFFFFFFFFFFFFFFF", .unsigned(.max)), ("20", .negative(0)),
        ("3863", .negative(99)), ("3BFFFFFFFFFFFFFFFF", .negative(.max)), ("F4", .bool(false)), ("F5", .bool(true)),
        ("F6", .null), ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")),
        ("6449455446", .text("IETF")), ("62C3BC", .text("ü")), ("80", .array([])),
        ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])), ("A0", .map([:])),
        ("A26161016162820203", .map(["a": .unsigned(1), "b": .array([.unsigned(2), .unsigned(3)])])),
    ])
    func theEncodingIsTheShortest(_ text: String, _ item: CBOR) throws {
        let decoded = try CBOR(decoding: hex(text))
        #expect(decoded == item)
        #expect(item.encoded == hex(text))
    }

    /// Forms that a peer may send and this module does not.
    @Test(arguments: [
        ("1800", CBOR.unsigned(0)), ("1B00000000000003E8", .unsigned(1000)),
        ("5F42010243030405FF", .bytes([1, 2, 3, 4, 5])),
        ("7F657374726561646D696E67FF", .text("streaming")), ("9FFF", .array([])),
        ("9F01820203FF", .array([.unsigned(1), .array([.unsigned(2), .unsigned(3)])])),
        ("BF61610161629F0203FFFF", .map(["a": .unsigned(1), "b": .array([.unsigned(2), .unsigned(3)])])),
        // A tag, a key that is no text, floating-point numbers, undefined, a simple value.
        ("C11A514B67B0", .unsigned(1_363_896_240)), ("A20102616103", .map(["a": .unsigned(3)])), ("F93C00", .other),
        ("FB3FF199999999999A", .other), ("F7", .other), ("F8FF", .other),
        // What follows the item is ignored.
        ("0001", .unsigned(0)),
    ])
    func otherFormsAreRead(_ text: String, _ item: CBOR) throws {
        let decoded = try CBOR(decoding: hex(text))
        #expect(decoded == item)
    }

    @Test(arguments: [
        // Nothing, reserved heads, an end of nothing, an indefinite number.
        "", "1C", "3D", "5E", "FC", "FF", "1F", "3F", "DF",
        // Lengths beyond the end, also those that overflow.
        "41", "5BFFFFFFFFFFFFFFFF", "7B7FFFFFFFFFFFFFFF", "81", "9BFFFFFFFFFFFFFFFF", "BBFFFFFFFFFFFFFFFF", "A1",
        "A101",
        // No UTF-8, chunks of another type or of indefinite length, an end between key and value.
        "61FF", "62C328", "5F6161FF", "7F7F6161FFFF", "BF6161FF",
    ])
    func malformedItemsThrow(_ text: String) {
        #expect(throws: MalformedValue.self) { try CBOR(decoding: hex(text)) }
    }

    @Test(arguments: [0x81, 0x9F, 0xC1] as [UInt8]) func nestingIsLimited(_ head: UInt8) throws {
        let deepest = try CBOR(decoding: [UInt8](repeating: 0x81, count: 15) + [0])
        #expect(deepest.items?.count == 1)
        #expect(throws: MalformedValue.self) { try CBOR(decoding: [UInt8](repeating: head, count: 60_000) + [0]) }
    }

    @Test func numbersThatAreNoIntAreNone() {
        #expect(CBOR.unsigned(.max).integer == nil)
        #expect(CBOR.negative(.max).integer == nil)
        #expect(CBOR.negative(UInt64(Int.max)).integer == Int.min)
        #expect(CBOR.negative(0).integer == -1)
        #expect(CBOR.bool(true).integer == nil)
    }
}
