import BluetoothProfiles
import ExampleSupport
import Testing

/// The formats of `--format`, in both directions.
@Suite struct NumberFormatTests {
    /// A format, a value's text, and its bytes: each becomes the other.
    @Test(
        arguments: [
            ("u8", "0", [0]), ("u8", "255", [0xFF]), ("u16", "0", [0, 0]), ("u16", "65535", [0xFF, 0xFF]),
            ("u16", "1234", [0xD2, 0x04]), ("u16be", "1234", [0x04, 0xD2]), ("u16le", "1234", [0xD2, 0x04]),
            ("u24", "16777215", [0xFF, 0xFF, 0xFF]), ("u24be", "1", [0, 0, 1]),
            ("u32", "4294967295", [0xFF, 0xFF, 0xFF, 0xFF]),
            ("u64", "18446744073709551615", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
            ("i8", "-128", [0x80]), ("i8", "127", [0x7F]), ("i16", "-32768", [0x00, 0x80]),
            ("i16", "32767", [0xFF, 0x7F]), ("i16be", "-2", [0xFF, 0xFE]), ("i24", "-8388608", [0, 0, 0x80]),
            ("i24", "8388607", [0xFF, 0xFF, 0x7F]), ("i32", "-2147483648", [0, 0, 0, 0x80]),
            ("i32", "2147483647", [0xFF, 0xFF, 0xFF, 0x7F]),
            ("i64", "-9223372036854775808", [0, 0, 0, 0, 0, 0, 0, 0x80]),
            ("i64", "9223372036854775807", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            ("u8", "1 2 3", [1, 2, 3]), ("u16be", "1 2", [0, 1, 0, 2]),
            ("f32", "1.5", [0, 0, 0xC0, 0x3F]), ("f32", "0.1", [0xCD, 0xCC, 0xCC, 0x3D]),
            ("f32be", "-2.0", [0xC0, 0, 0, 0]), ("f32", "+INF", [0, 0, 0x80, 0x7F]),
            ("f32", "-INF", [0, 0, 0x80, 0xFF]),
            ("f32", "NaN", [0, 0, 0xC0, 0x7F]), ("f64", "1.5", [0, 0, 0, 0, 0, 0, 0xF8, 0x3F]),
            ("f64", "NaN", [0, 0, 0, 0, 0, 0, 0xF8, 0x7F]),
            ("f64", "1e+300", [0x9C, 0x75, 0, 0x88, 0x3C, 0xE4, 0x37, 0x7E]),
            ("sfloat", "36.6", [0x6E, 0xF1]), ("sfloatbe", "36.6", [0xF1, 0x6E]), ("sfloat", "-1", [0xFF, 0x0F]),
            ("sfloat", "0", [0, 0]), ("sfloat", "2045", [0xFD, 0x07]), ("sfloat", "-2045", [0x03, 0x08]),
            ("sfloat", "20450000000", [0xFD, 0x77]), ("sfloat", "0.00002045", [0xFD, 0x87]),
            ("sfloat", "NaN", [0xFF, 0x07]), ("sfloat", "NRes", [0x00, 0x08]), ("sfloat", "+INF", [0xFE, 0x07]),
            ("sfloat", "-INF", [0x02, 0x08]),
            ("float", "36.5", [0x6D, 0x01, 0x00, 0xFF]), ("float", "-0.25", [0xE7, 0xFF, 0xFF, 0xFE]),
            ("float", "8388605", [0xFD, 0xFF, 0x7F, 0x00]), ("float", "8388605e127", [0xFD, 0xFF, 0x7F, 0x7F]),
            ("float", "NaN", [0xFF, 0xFF, 0x7F, 0]), ("float", "NRes", [0, 0, 0x80, 0]),
            ("float", "+INF", [0xFE, 0xFF, 0x7F, 0]), ("float", "-INF", [0x02, 0, 0x80, 0]),
        ] as [(String, String, [UInt8])])
    func aValueIsEncodedAndDecoded(_ name: String, _ text: String, _ bytes: [UInt8]) throws {
        let format = try #require(ValueFormat(name))
        #expect(try format.encode(text) == bytes)
        #expect(try format.numbers(bytes).map(\.text).joined(separator: " ") == text)
    }

    /// Text that has another shape than the one in which the value is printed.
    @Test(
        arguments: [
            ("u16", "0x04D2", [0xD2, 0x04]), ("i8", "-0x80", [0x80]), ("u8", "1,2", [1, 2]), ("u8", " 1, 2 ", [1, 2]),
            ("sfloat", "nan", [0xFF, 0x07]), ("sfloat", "INF", [0xFE, 0x07]), ("sfloat", "nres", [0x00, 0x08]),
            // Rounded to the three to four digits that there is room for.
            ("sfloat", "3.14159", [0x3A, 0xE1]), ("sfloat", "2046", [0xCD, 0x10]), ("sfloat", "100", [0x64, 0x00]),
            ("sfloat", "3e9", [0x2C, 0x71]), ("sfloat", "1e-20", [0, 0]), ("f32", "1e-60", [0, 0, 0, 0]),
            ("f32", "inf", [0, 0, 0x80, 0x7F]), ("float", "1e-2", [1, 0, 0, 0xFE]),
            ("hex", "01A0", [0x01, 0xA0]), ("hex", "01 a0", [0x01, 0xA0]), ("hex", "", []),
            ("text", "hé", [0x68, 0xC3, 0xA9]),
        ] as [(String, String, [UInt8])])
    func otherNotationsAreAccepted(_ name: String, _ text: String, _ bytes: [UInt8]) throws {
        #expect(try ValueFormat(name)?.encode(text) == bytes)
    }

    @Test(
        arguments: [
            ("u8", "256", "0 to 255"), ("u8", "-1", "0 to 255"), ("u16", "65536", "0 to 65535"),
            ("u16", "70000", "u16"),
            ("i8", "128", "-128 to 127"), ("i16", "-32769", "-32768 to 32767"), ("u24", "16777216", "0 to 16777215"),
            ("u64", "18446744073709551616", "0 to 18446744073709551615"),
            ("i64", "9223372036854775808", "-9223372036854775808 to 9223372036854775807"),
            ("u8", "1.5", "'1.5'"), ("u8", "", "no number"), ("u8", ",", "no number"), ("u8", "x", "'x'"),
            ("u8", "1 x", "'x'"), ("u8", "--1", "'--1'"), ("u8", "+1", "'+1'"), ("u8", "0x", "'0x'"),
            ("u8", "0x100", "255"),
            ("u64", String(repeating: "9", count: 50), "give 0 to"), ("f32", "1e39", "3.4028235e38"),
            ("f64", "1e309", "1.7976931348623157e308"), ("f32", "0x10", "'0x10'"), ("f32", "warm", "NaN, INF or -INF"),
            ("sfloat", "1e11", "20450000000"), ("sfloat", "1e99999", "20450000000"), ("sfloat", "reserved", "NRes"),
            ("sfloat", "1e", "'1e'"), ("sfloat", ".", "'.'"), ("sfloat", "-", "'-'"), ("sfloat", "1.2.3", "'1.2.3'"),
            ("float", "1e140", "8388605e127"), ("hex", "1", "pairs of digits"), ("hex", "xy", "'xy'"),
            ("raw", "x", "file:PATH"),
        ] as [(String, String, String)])
    func aValueOutOfRangeIsRefused(_ name: String, _ text: String, _ words: String) throws {
        let format = try #require(ValueFormat(name))
        let error = #expect(throws: ValueFormatError.self) { try format.encode(text) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test(
        arguments: [
            ("u16", [1]), ("u16", []), ("u8", []), ("u24", [1, 2, 3, 4]), ("f32", [0, 0, 0]), ("sfloat", [0, 0, 0]),
            ("float", [1]), ("u64", [1, 2, 3, 4, 5, 6, 7, 8, 9]), ("hex", [1]), ("text", [0x41]), ("raw", []),
        ] as [(String, [UInt8])])
    func aValueOfAnotherLengthIsNotDecoded(_ name: String, _ bytes: [UInt8]) throws {
        let format = try #require(ValueFormat(name))
        #expect(throws: ValueFormatError.self) { try format.numbers(bytes) }
    }

    @Test func theReservedValueIsNotANumber() throws {
        #expect(try ValueFormat("sfloat")?.numbers([0x01, 0x08]).map(\.text) == ["reserved"])
        #expect(try ValueFormat("float")?.numbers([0x01, 0, 0x80, 0]).map(\.text) == ["reserved"])
        // With an exponent, the same mantissas are numbers.
        #expect(try ValueFormat("sfloat")?.numbers([0xFF, 0xF7, 0x00, 0x18]).map(\.text) == ["204.7", "-20480"])
        for bytes in [[0xFF, 0x07], [0x00, 0x08], [0xFE, 0x07], [0x02, 0x08], [0x01, 0x08]] as [[UInt8]] {
            #expect(try ValueFormat("sfloat")?.numbers(bytes).first.map { "\($0.json)" } == "null")
        }
    }

    @Test(arguments: ["", "u", "u9", "u128", "U16", "u8be", "i8le", "hexbe", "textle", "be", "f16", "double"])
    func anUnknownFormatIsRefused(_ name: String) {
        #expect(ValueFormat(name) == nil)
    }

    @Test func everyFormatHasAName() {
        #expect(ValueFormat.names.allSatisfy { ValueFormat($0)?.name == $0 })
        #expect(ValueFormat.names.count == 17)
    }

    @Test(
        arguments: [
            ("0", 0, 0, "0"), ("36.60", 3660, -2, "36.60"), ("-0.05", -5, -2, "-0.05"), (".5", 5, -1, "0.5"),
            ("5.", 5, 0, "5"), ("1e3", 1, 3, "1000"), ("1e13", 1, 13, "1e13"), ("2.5E-3", 25, -4, "0.0025"),
            ("1e-19", 1, -19, "1e-19"),
        ] as [(String, Int, Int, String)])
    func aDecimalNumberIsExact(_ text: String, _ mantissa: Int, _ exponent: Int, _ printed: String) {
        let number = DecimalNumber(text)
        #expect(number == DecimalNumber(Int128(mantissa), exponent: exponent))
        #expect(number?.text == printed)
    }

    @Test func integersOfJSONStayIntegers() throws {
        func json(_ name: String, _ bytes: [UInt8]) throws -> String? {
            try ValueFormat(name)?.numbers(bytes).first.map { "\($0.json)" }
        }
        #expect(try json("i64", [0, 0, 0, 0, 0, 0, 0, 0x80]) == "-9223372036854775808")
        #expect(try json("u64", Array(repeating: 0xFF, count: 8)) == "18446744073709551615")
        #expect(try json("f32", [0xCD, 0xCC, 0xCC, 0x3D]) == "0.1")
        #expect(try json("f32", [0, 0, 0xC0, 0x7F]) == "null")
        #expect(try json("sfloat", [0x64, 0x20]) == "10000")
    }
}
