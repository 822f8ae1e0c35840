import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct HexadecimalTests {
    @Test(arguments: [
        ("", [] as [UInt8]), ("0x", []), ("00ff", [0, 255]), ("0x00Ff", [0, 255]),
        ("01 02\n03\t04\r\n05:06", [1, 2, 3, 4, 5, 6]),
        (" a0 ", [0xA0]), ("::", []),
    ])
    func pairsOfDigitsAreRead(_ text: String, _ bytes: [UInt8]) {
        #expect([UInt8](hexadecimal: text) == bytes)
    }

    @Test(arguments: ["0", "0 0", "000", "0g", "0x0", "00 0x01", "x0", "-1", "0,1", "ａ0"])
    func otherTextIsRefused(_ text: String) {
        #expect([UInt8](hexadecimal: text) == nil)
    }

    @Test func bytesArePrintedInCapitalsWithNothingBetween() {
        #expect(hex("00 09 0A 9F F0 FF").hexadecimal == "00090A9FF0FF")
        #expect([UInt8]().hexadecimal == "")
        #expect([UInt8](hexadecimal: ([UInt8](0...255)).hexadecimal) == [UInt8](0...255))
    }

    @Test func numbersArePaddedAndCutToTheirDigits() {
        #expect(hexadecimal(0x1 as UInt8, digits: 2) == "01")
        #expect(hexadecimal(0xABCD as UInt16, digits: 2) == "CD")
        #expect(hexadecimal(-1 as Int8, digits: 2) == "FF")
        #expect(hexadecimal(UInt64.max, digits: 16) == "FFFFFFFFFFFFFFFF")
        #expect(hexadecimal(5, digits: 0) == "")
        #expect(hexadecimal(5, digits: -3) == "")
    }

    @Test func bytesOfASpanAreCopied() {
        let bytes = hex("010203")
        #expect([UInt8](bytes.span.bytes) == bytes)
        let none: [UInt8] = []
        #expect([UInt8](none.span.bytes) == [])
    }
}
