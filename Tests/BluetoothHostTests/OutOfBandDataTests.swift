import BluetoothHost
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct OutOfBandDataTests {
    private static let confirmation = "000102030405060708090A0B0C0D0E0F"
    private static let random = "101112131415161718191A1B1C1D1E1F"
    private static let address = "081B563412E598C001"
    private static let role = "021C02"
    private static let structures = address + role + "1122" + confirmation + "1123" + random
    private static let type = "6170706C69636174696F6E2F766E642E626C7565746F6F74682E6C652E6F6F62"
    private static let data = OutOfBandData(
        confirmation: SecurityKey(hex(confirmation)) ?? .zero, random: SecurityKey(hex(random)) ?? .zero,
        address: BluetoothAddress(0xC098_E512_3456, kind: .random))

    private static func reason(_ body: () throws(BluetoothError) -> Void) -> BluetoothError? {
        do throws(BluetoothError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func theDataHaveThreeForms() throws {
        #expect(Self.data.structures == hex(Self.structures))
        #expect(Self.data.nfcMessage == hex("D22030" + Self.type + Self.structures))
        #expect(Self.data.text == "BLE-OOB:" + Self.structures)
        #expect(try OutOfBandData(Self.data.structures) == Self.data)
        #expect(try OutOfBandData(Self.data.nfcMessage) == Self.data)
        #expect(try OutOfBandData(text: Self.data.text) == Self.data)
        #expect(try OutOfBandData(text: " ble-oob:\(Self.structures.lowercased())\n") == Self.data)
        #expect(try OutOfBandData(text: Self.structures) == Self.data)
        #expect(try OutOfBandData(text: "D22030" + Self.type + Self.structures) == Self.data)
        var public_ = Self.data
        public_.address = BluetoothAddress(0x001A_7DDA_7113, kind: .public)
        #expect(try OutOfBandData(public_.structures) == public_)
        public_.address = nil
        #expect(public_.structures == hex(String(Self.structures.dropFirst(Self.address.count))))
        #expect(try OutOfBandData(public_.structures) == public_)
    }

    private static let others = [
        "\(r)\(c)", "020106\(c)0409414243\(r)", "\(c)\(r)0000", "1110\(random)\(c)\(r)",
        // A record of text before it, and a long record with an identifier.
        "91010355027A7A522024\(type)\(c)\(r)", "CA200000002401\(type)30\(c)\(r)",
    ]

    /// As phones and other stacks write them: other fields, other orders, other records.
    @Test(arguments: others) func otherFormsAreRead(_ text: String) throws {
        var data = Self.data
        data.address = nil
        #expect(try OutOfBandData(hex(text)) == data)
    }

    private static let c = "1122\(confirmation)"
    private static let r = "1123\(random)"
    private static let malformed: [(String, String)] = [
        ("", "lack"), (c, "lack"), ("1110\(confirmation)", "legacy pairing only"), ("05", "end in the middle"),
        ("\(c)\(r.dropLast(2))", "end in the middle"),
        ("1022\(confirmation.dropLast(2))\(r)", "15 bytes instead of 16"),
        ("\(c)\(c)\(r)", "same value twice"), ("\(address)\(address)\(c)\(r)", "two addresses"),
        ("081B00000000000001\(c)\(r)", "malformed address"), ("071B563412E598C0\(c)\(r)", "malformed address"),
        ("081B563412E598C002\(c)\(r)", "malformed address"),
        ("\(c)112300000000000000000000000000000000", "a value of zero"), ("D2", "without a whole record"),
        ("D22030\(type)", "without a whole record"), ("D1010355027A7A", "without a whole record"),
        ("C2FFFFFFFFFF", "without a whole record"),
    ]

    @Test(arguments: malformed) func malformedDataAreRejectedWithTheReason(_ text: String, reason: String) {
        let error = Self.reason { () throws(BluetoothError) in _ = try OutOfBandData(hex(text)) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "none")")
    }

    @Test func truncatedAndArbitraryBytesNeverTrap() {
        for bytes in [Self.data.structures, Self.data.nfcMessage] {
            for count in bytes.indices { _ = try? OutOfBandData(Array(bytes.prefix(count))) }
            for index in bytes.indices {
                for value: UInt8 in [0, 0x7F, 0x80, 0xFF] {
                    var bytes = bytes
                    bytes[index] = value
                    _ = try? OutOfBandData(bytes)
                }
            }
        }
        for text in ["", "BLE-OOB:", "BLE-OOB:0", "x", "BLE-OOB:zz", "é"] {
            #expect(Self.reason { () throws(BluetoothError) in _ = try OutOfBandData(text: text) } != nil)
        }
    }

    @Test func noDescriptionShowsTheValues() {
        var dumped = ""
        dump(Self.data, to: &dumped)
        for text in ["\(Self.data)", String(reflecting: Self.data), dumped, "\([Self.data])"] {
            for secret in [Self.confirmation, Self.random, "0x0F", "15"] { #expect(!text.contains(secret), "\(text)") }
        }
    }
}
