import BluetoothLE
import ExampleSupport
import Testing

@Suite struct AttributeSelectorTests {
    @Test(
        arguments: [
            ("2A19", .uuid("2A19")), ("0x2A19", .handle(0x2A19)), ("0x1", .handle(1)),
            ("CA010001-1234-5678-9ABC-DEF012345678", .uuid("CA010001-1234-5678-9ABC-DEF012345678")),
            ("180F/2A19", .path(service: "180F", characteristic: "2A19", descriptor: nil)),
            ("180F/2A19/2904", .path(service: "180F", characteristic: "2A19", descriptor: "2904")),
            ("", nil), ("0x0", nil), ("0x10000", nil), ("0x", nil), ("2A1", nil), ("/", nil), ("180F/", nil),
            ("180F/2A19/", nil), ("180F/2A19/2904/1", nil), ("xyz", nil), ("battery/nothing", nil), ("-", nil),
            ("battery-level", AttributeName("battery-level").map { .name($0) }),
            ("Device Information", .uuid("180A")),
            ("Battery/Battery Level", .path(service: "180F", characteristic: "2A19", descriptor: nil)),
            (
                "battery/2A19/Characteristic-Presentation_Format",
                .path(service: "180F", characteristic: "2A19", descriptor: "2904")
            ),
        ] as [(String, AttributeSelector?)])
    func theNotationIsParsed(text: String, selector: AttributeSelector?) {
        #expect(AttributeSelector(text) == selector)
    }

    @Test func aSelectorIsResolvedInADatabase() throws {
        let battery = RemoteCharacteristic(
            uuid: "2A19", properties: [.read], declarationHandle: 2, valueHandle: 3, endHandle: 4,
            descriptors: [RemoteDescriptor(uuid: "2904", handle: 4)])
        let other = RemoteCharacteristic(
            uuid: "2A19", properties: [.read], declarationHandle: 6, valueHandle: 7, endHandle: 7)
        let services = [
            RemoteService(uuid: "180F", handles: AttributeHandleRange(start: 1, end: 4), characteristics: [battery]),
            RemoteService(uuid: "1815", handles: AttributeHandleRange(start: 5, end: 7), characteristics: [other]),
        ]
        func chosen(_ text: String) throws -> ChosenAttribute? { try AttributeSelector(text)?.resolve(in: services) }
        #expect(try chosen("180F/2A19")?.attributeHandle == 3)
        #expect(try chosen("1815/2A19")?.attributeHandle == 7)
        #expect(try chosen("2904")?.attributeHandle == 4)
        #expect(try chosen("180F/2A19/2904")?.attributeHandle == 4)
        #expect(try chosen("0x0007")?.characteristic == other)
        #expect(try chosen("0x0009")?.attributeHandle == 9)
        #expect(try chosen("presentation format")?.attributeHandle == 4)
        let ambiguous = #expect(throws: ProgramError.self) { try chosen("Battery Level") }
        #expect(
            ambiguous?.message.contains("2A19 Battery Level 0x0003 in 180F, 2A19 Battery Level 0x0007 in 1815") == true)
        #expect(ambiguous?.message.hasPrefix("'Battery Level' matches 2 attributes: ") == true)
        for (text, message, remedy) in [
            ("180F", "180F Battery is a service.", "Name one of its characteristics: 180F/2A19"),
            ("180A/2A19", "The device has no attribute 180A/2A19.", "2A19 is here: 180F/2A19, 1815/2A19"),
            ("1815/2A19/2904", "The device has no attribute 1815/2A19/2904.", "2904 is here: 180F/2A19/2904"),
            ("180F/2A1A", "The device has no attribute 180F/2A1A.", "List its attributes with: ble explore"),
        ] {
            let error = #expect(throws: ProgramError.self) { try chosen(text) }
            #expect(error?.message == message)
            #expect(error?.remedy == remedy)
        }
        #expect(throws: ProgramError.self) { try chosen("heart-rate") }
        #expect(throws: ProgramError.self) { try chosen("2A19") }
        #expect(throws: ProgramError.self) { try chosen("2A1A") }
        #expect(throws: ProgramError.self) { try chosen("1815/2904") }
    }

    @Test func ofSeveralAttributesTheOnlyOneThatCanIsChosen() throws {
        let reports = [CharacteristicProperties.read, [.read, .notify], .write].enumerated().map { index, properties in
            let handle = AttributeHandle(UInt16(2 * index + 2))
            return RemoteCharacteristic(
                uuid: "2A4D", properties: properties, declarationHandle: handle,
                valueHandle: AttributeHandle(handle.rawValue + 1), endHandle: AttributeHandle(handle.rawValue + 1))
        }
        let services = [
            RemoteService(uuid: "1812", handles: AttributeHandleRange(start: 1, end: 7), characteristics: reports)
        ]
        let selector = try #require(AttributeSelector("2A4D"))
        let chosen = try selector.resolve(in: services, needing: [.notify, .indicate])
        #expect(chosen.attributeHandle == 5)
        #expect(chosen.typed == "2A4D")
        #expect(try selector.resolve(in: services, needing: .write).attributeHandle == 7)
        for needed in [CharacteristicProperties.read, .indicate, []] {
            #expect(throws: ProgramError.self) { try selector.resolve(in: services, needing: needed) }
        }
    }

    @Test(
        arguments: [
            ("Battery Level", ["2A19"], ["2A19"]), ("BATTERYLEVEL", ["2A19"], ["2A19"]), ("battery", [], ["2A19"]),
            ("Temperature", ["2A6E"], ["2A1C", "2A1D", "2A1E", "2A6E"]), ("bat lev", [], ["2A19"]),
            ("rate heart", [], ["2A37", "2A39", "2A7E"]),
        ] as [(String, Set<BluetoothUUID>, Set<BluetoothUUID>)])
    func aNameSelectsItsAttributes(_ text: String, _ exact: Set<BluetoothUUID>, _ partial: Set<BluetoothUUID>) throws {
        let name = try #require(AttributeName(text))
        #expect(name.exact == exact)
        #expect(name.partial == partial)
    }

    @Test(
        arguments: [
            ([], nil, "(empty)"), ([0x41, 0x42], nil, "41 42  \"AB\""), ([0x41, 0], nil, "41 00  \"A\""),
            ([0x1B, 0x5B], nil, "1B 5B"), ([0x61], "2A19", "61  97 %"), ([0x61, 0x62], "2A19", "61 62  \"ab\""),
            ([1, 0x2C, 1], "2A37", "01 2C 01  300 beats/min"), ([1, 0x2C], "2A37", "01 2C"), ([0x41], "2A00", "\"A\""),
            ([0, 1, 0, 0, 0x7F], "2A1C", "00 01 00 00 7F  1e127 °C"), ([0x9C, 0xFF], "2A6E", "9C FF  -1.00 °C"),
            (Array(repeating: 0xFF, count: 30), nil, String(repeating: "FF ", count: 24) + "… (30 bytes)"),
        ] as [([UInt8], BluetoothUUID?, String)])
    func valuesAreShownWithTheirMeaning(value: [UInt8], uuid: BluetoothUUID?, text: String) {
        #expect(ValueText.describe(value, of: uuid) == text)
    }

    @Test func aProblemHasItsJSONFields() {
        let problem = DatabaseProblem(
            .invalidValueHandle, .characteristic, at: 5, declared: AttributeHandleRange(start: 0, end: 0), uuid: "2A37")
        let fields = problem.jsonFields.map { "\($0.0): \($0.1)" }.joined(separator: ", ")
        #expect(problem.jsonFields.map(\.0) == ["reason", "type", "handle", "uuid", "start", "end", "text"])
        #expect(fields.contains("invalidValueHandle"))
        #expect(fields.contains("its value handle 0x0000 does not follow the declaration"))
        let limit = DatabaseProblem(.tooManyRequests, .primaryService, at: 9).jsonFields
        #expect(limit.map(\.0) == ["reason", "type", "handle", "text"])
    }

    @Test func aTreeIsDrawn() {
        let tree = Tree("a", [Tree("b", [Tree("c")]), Tree("d", [Tree("e"), Tree("f")])])
        let lines = tree.rows.map { $0.branches + $0.content }
        #expect(lines == ["a", "├─ b", "│  └─ c", "└─ d", "   ├─ e", "   └─ f"])
    }
}
