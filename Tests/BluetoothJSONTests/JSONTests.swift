import BluetoothJSON
import TestSupport
import Testing

@Suite struct JSONTests {
    @Test(
        arguments: [
            (.null, "null"), (.bool(true), "true"), (.integer(-7), "-7"), (.number(1.5), "1.5"),
            (.number(.infinity), "null"),
            (.string("a\"\\\n\r\t\u{1}\u{7F}é\u{2028}"), #""a\"\\\n\r\t\u0001\u007fé\u2028""#),
            (.string("a\u{202E}\u{2069}\u{200F}\u{61C}\u{5D0}"), #""a\u202e\u2069\u200f\u061c\#u{5D0}""#),
            (.array([.integer(1), .null]), "[1,null]"), (.array([]), "[]"),
            (.object([("b", .integer(1)), ("a\"", .string(""))]), #"{"b":1,"a\"":""}"#), (.object([]), "{}"),
        ] as [(JSONValue, String)])
    func itIsWrittenAsTheStandardHasIt(value: JSONValue, text: String) {
        #expect(value.description == text)
    }

    /// A device can have all of them in its name.
    @Test func invisibleCharactersAreEscaped() throws {
        var count = 0
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let category = scalar.properties.generalCategory
            guard category == .control || category == .format else { continue }
            count += 1
            let text = JSONValue.string(String(scalar)).description
            #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "U+\(String(value, radix: 16))")
            #expect(try JSONValue(reading: Array(text.utf8)).text == String(scalar))
        }
        #expect(count >= 230)
        #expect(JSONValue.string("a\u{200B}b\u{E0041}").description == #""a\u200bb\udb40\udc41""#)
        #expect(JSONValue.string("Zürich 漢 😀").description == #""Zürich 漢 😀""#)
    }

    @Test(
        arguments: [
            (" {\"a\" : [1, -2.5, true, false, null, \"x\"]}\n", #"{"a":[1,-2.5,true,false,null,"x"]}"#),
            (#""\u00e9\ud83d\ude00\/\b\f\n\r\t""#, #""é😀/\u0008\u000c\n\r\t""#), ("1e3", "1000.0"), ("[ ]", "[]"),
            ("[-0, 0.5, 1E+2]", "[0,0.5,100.0]"), ("18446744073709551615", "18446744073709551615"),
            (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
        ])
    func itIsRead(text: String, written: String) throws {
        #expect(try JSONValue(reading: Array(text.utf8)).description == written)
    }

    @Test(
        arguments: [
            ("", 1), ("{", 1), ("[1,\n2,\n]", 3), ("{\n\"a\" 1}", 2), ("[1] 2", 1), (#"["\x"]"#, 1), (#""\ud83d""#, 1),
            ("\"a", 1), ("nul", 1), ("[1,,2]", 1), (String(repeating: "[", count: 1000), 1), ("\"\u{1}\"", 1),
            ("01", 1), ("+1", 1), ("1.", 1), (".5", 1), ("-", 1), ("1e", 1), ("1e400", 1), ("1-2", 1), ("NaN", 1),
        ])
    func whatIsNoneSaysWhere(text: String, line: Int) {
        let problem = #expect(throws: JSONProblem.self) { try JSONValue(reading: Array(text.utf8)) }
        #expect(problem?.line == line)
    }

    @Test func noInputStopsIt() {
        for bytes in mutations(of: Array(#"{"a":[1,-2.5,true,null,"\u00e9x"]}"#.utf8)) {
            _ = try? JSONValue(reading: bytes)
        }
    }

    @Test func fieldsAndElementsAreFound() throws {
        let value = try JSONValue(reading: Array(#"{"a":["x",1]}"#.utf8))
        #expect(value["a"]?.elements?.first?.text == "x")
        #expect(value["a"]?.elements?.last?.text == nil)
        #expect(value["b"] == nil && value["a"]?["a"] == nil)
    }
}
