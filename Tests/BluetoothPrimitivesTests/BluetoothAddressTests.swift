import BluetoothPrimitives
import Foundation
import Testing

/// A generator that returns the given numbers in a cycle.
struct FixedNumbers: RandomNumberGenerator {
    var numbers: [UInt64]
    private var index = 0

    init(_ numbers: [UInt64]) { self.numbers = numbers }

    mutating func next() -> UInt64 {
        defer { index += 1 }
        return numbers[index % numbers.count]
    }
}

@Suite struct BluetoothAddressTests {
    @Test func textIsReadAndPrinted() throws {
        let address = try #require(BluetoothAddress("c0:98:E5:12:34:56", kind: .random))
        #expect(address.value == 0xC098_E512_3456)
        #expect(address.kind == .random)
        #expect(address.digits == "C0:98:E5:12:34:56")
        #expect(BluetoothAddress("00:00:00:00:00:01", kind: .public)?.digits == "00:00:00:00:00:01")
        #expect(BluetoothAddress("FF:FF:FF:FF:FF:FF", kind: .public)?.value == 0xFFFF_FFFF_FFFF)
    }

    @Test(arguments: [
        "", "C0", "C0:98:E5:12:34", "C0:98:E5:12:34:5", "C0:98:E5:12:34:56:", "C0:98:E5:12:34:56:78",
        "C098E5123456", "C0-98-E5-12-34-56", "C0:98:E5:12:34:5G", ":C0:98:E5:12:34:56", "C0:98:E5:12::456",
        " C0:98:E5:12:34:56", "C0:98:E5:12:34:56 ", "C0:98:E5:12:34:５",
    ])
    func otherTextIsNoAddress(_ text: String) {
        #expect(BluetoothAddress(text, kind: .public) == nil)
        #expect(BluetoothAddress("\(text)/random" as String) == nil)
    }

    @Test(arguments: [
        "C0:98:E5:12:34:56", "C0:98:E5:12:34:56/", "C0:98:E5:12:34:56/Random", "C0:98:E5:12:34:56/public ", "/public",
        "C0:98:E5:12:34:56/random/public", "C0:98:E5:12:34:56public",
    ])
    func anAddressWithoutItsTypeIsNone(_ text: String) {
        #expect(BluetoothAddress(text) == nil)
    }

    @Test(arguments: BluetoothAddress.Kind.allCases)
    func theTextHasTheTypeAndIsReadAgain(_ kind: BluetoothAddress.Kind) throws {
        let address = BluetoothAddress(0xC098_E512_3456, kind: kind)
        let text = String(address)
        #expect(text == "C0:98:E5:12:34:56/\(kind)")
        #expect(address.description == text)
        #expect(BluetoothAddress(text) == address)
        let literal: BluetoothAddress = "C0:98:E5:12:34:56/random"
        #expect((literal == address) == (kind == .random))
    }

    @Test func addressesAndUUIDsAreEncodedAsText() throws {
        let addresses = [BluetoothAddress(0xC098_E512_3456, kind: .random), BluetoothAddress(1, kind: .public)]
        let data = try JSONEncoder().encode(addresses.map(\.description))
        let decoded = try JSONDecoder().decode([BluetoothAddress].self, from: data)
        #expect(decoded == addresses)
        let again = try JSONDecoder().decode([String].self, from: JSONEncoder().encode(addresses))
        #expect(again == ["C0:98:E5:12:34:56/random", "00:00:00:00:00:01/public"])
        let uuids: [BluetoothUUID] = [0x180D, "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"]
        let texts = try JSONDecoder().decode([String].self, from: JSONEncoder().encode(uuids))
        #expect(texts == ["180D", "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"])
        let read = try JSONDecoder().decode([BluetoothUUID].self, from: JSONEncoder().encode(texts))
        #expect(read == uuids)
        for text in ["\"C0:98:E5:12:34:56\"", "7", "\"\""] {
            let bytes = Data(text.utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(BluetoothAddress.self, from: bytes) }
            let isUUID = (try? JSONDecoder().decode(BluetoothUUID.self, from: bytes)) != nil
            #expect(!isUUID)
        }
    }

    @Test func theSameBitsInTwoSpacesAreTwoDevices() {
        let open = BluetoothAddress(1, kind: .public)
        let random = BluetoothAddress(1, kind: .random)
        #expect(open != random)
        #expect(open < random)
        #expect(!(random < open))
        #expect(random < BluetoothAddress(2, kind: .public))
    }

    @Test func onlyTheLow48BitsCount() {
        #expect(BluetoothAddress(.max, kind: .public).value == 0xFFFF_FFFF_FFFF)
        #expect(BluetoothAddress(1 << 48, kind: .public).isZero)
        #expect(BluetoothAddress.zero.isZero)
        #expect(!BluetoothAddress(1, kind: .public).isZero)
    }

    @Test(arguments: [
        ("C0:00:00:00:00:01", BluetoothAddress.RandomKind.static), ("FF:00:00:00:00:01", .static),
        ("70:81:94:0D:FB:AA", .resolvablePrivate), ("40:00:00:00:00:01", .resolvablePrivate),
        ("3F:00:00:00:00:01", .nonResolvablePrivate), ("80:00:00:00:00:01", .reserved),
        ("BF:00:00:00:00:01", .reserved),
    ])
    func theTwoTopBitsTellTheRandomKind(_ text: String, _ kind: BluetoothAddress.RandomKind) {
        #expect(BluetoothAddress(text, kind: .random)?.randomKind == kind)
        #expect(BluetoothAddress(text, kind: .public)?.randomKind == nil)
    }

    @Test(arguments: [[0, 1 << 32, 0x1234_5678_9ABC_DEF0], [UInt64.max], [0x1234_5678_9ABC_DEF0]])
    func aRandomStaticAddressHasARandomPartThatIsNeitherAllZerosNorAllOnes(_ numbers: [UInt64]) {
        var generator = FixedNumbers(numbers)
        let address = BluetoothAddress.randomStatic(using: &generator)
        #expect(address.kind == .random)
        #expect(address.randomKind == .static)
        let randomPart = address.value & 0x3FFF_FFFF_FFFF
        #expect(randomPart != 0)
        #expect(randomPart != 0x3FFF_FFFF_FFFF)
    }
}
