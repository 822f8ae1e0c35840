import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@Suite("Builders write whole entries up to the ATT_MTU")
struct ListBuilderTests {
    private var writer: ByteWriter { ByteWriter(capacity: AttributeProtocol.defaultMTU) }

    @Test("An empty list writes nothing, so an Error Response can follow")
    func empty() throws {
        var writer = ByteWriter(capacity: 4)
        var builder = ATTReadByTypeResponseBuilder(isGrouped: true)
        let value: [UInt8] = [0x00, 0x18]
        let fitted = builder.append(.first, groupEnd: .last, value: value.span.bytes, to: &writer)
        #expect(!fitted)
        #expect(builder.count == 0)
        #expect(writer.bytes.isEmpty)
    }

    @Test("Read Multiple requests (Core Vol 3 Part F §3.4.4.7, §3.4.4.11)", arguments: [false, true])
    func readMultipleRequest(variable: Bool) throws {
        var writer = writer
        var builder = ATTReadMultipleRequestBuilder(variable: variable)
        for handle in UInt16(1)...11 {
            let fitted = builder.append(AttributeHandle(handle), to: &writer)
            #expect(fitted)
        }
        let fitted = builder.append(12, to: &writer)
        #expect(!fitted)
        #expect(builder.count == 11)
        #expect(writer.count == 23)
        #expect(writer.bytes[0] == (variable ? 0x20 : 0x0E))
        #expect(try reencodedByClient(writer.bytes) == writer.bytes)
    }

    @Test("Find Information Response holds five types of 16 bits or one of 128 (Core Vol 3 Part F §3.4.3.2)")
    func findInformation() throws {
        var writer = writer
        var short = ATTFindInformationResponseBuilder()
        for handle in UInt16(1)...5 {
            let fitted = short.append(AttributeHandle(handle), type: 0x2800, to: &writer)
            #expect(fitted)
        }
        let sixth = short.append(6, type: 0x2800, to: &writer)
        #expect(!sixth)
        #expect(writer.bytes == hex("05 01 01000028 02000028 03000028 04000028 05000028"))

        writer.removeAll()
        var long = ATTFindInformationResponseBuilder()
        let first = long.append(3, type: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E", to: &writer)
        let second = long.append(4, type: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E", to: &writer)
        #expect(first && !second)
        #expect(writer.bytes == hex("05 02 0300 9ECADC240EE5A9E093F3A3B50100406E"))
    }

    @Test("Find Information Response ends where the width of the types changes (Core Vol 3 Part F §3.4.3.2)")
    func findInformationWidth() throws {
        var writer = writer
        var builder = ATTFindInformationResponseBuilder()
        let short = builder.append(1, type: 0x2803, to: &writer)
        let long = builder.append(2, type: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E", to: &writer)
        let afterGap = builder.append(3, type: 0x2902, to: &writer)
        #expect(short && !long && !afterGap)
        #expect(writer.bytes == hex("05 01 0100 0328"))
    }

    @Test("Find Information Response sends types of 32 bits in 128 (Core Vol 3 Part F §3.2.1)")
    func findInformation32() throws {
        var writer = writer
        var builder = ATTFindInformationResponseBuilder()
        let fitted = builder.append(1, type: 0x1234_5678, to: &writer)
        #expect(fitted)
        #expect(writer.bytes == hex("05 02 0100 FB349B5F80000080001000007856 3412"))
    }

    @Test("Find By Type Value Response holds five ranges (Core Vol 3 Part F §3.4.3.4)")
    func findByTypeValue() throws {
        var writer = writer
        var builder = ATTFindByTypeValueResponseBuilder()
        var fitted: [Bool] = []
        for start in stride(from: UInt16(0x10), through: 0x60, by: 0x10) {
            let range = AttributeHandleRange(start: AttributeHandle(start), end: AttributeHandle(start + 0x0F))
            fitted.append(builder.append(range, to: &writer))
        }
        #expect(fitted == [true, true, true, true, true, false])
        #expect(writer.bytes.prefix(5) == hex("07 1000 1F00")[...])
        #expect(writer.count == 21)
    }

    @Test("Read By Type Response holds three characteristics of 16-bit UUID (Core Vol 3 Part F §3.4.4.2)")
    func readByType() throws {
        var writer = writer
        var builder = ATTReadByTypeResponseBuilder()
        let value = hex("020300002A")
        var fitted: [Bool] = []
        for handle in [2, 4, 6, 8] as [AttributeHandle] {
            fitted.append(builder.append(handle, value: value.span.bytes, to: &writer))
        }
        #expect(fitted == [true, true, true, false])
        #expect(builder.count == 3)
        #expect(writer.bytes == hex("09 07 0200020300002A 0400020300002A 0600020300002A"))
    }

    @Test("Read By Type Response ends where the length changes (Core Vol 3 Part F §3.4.4.2)")
    func readByTypeLength() throws {
        var writer = writer
        var builder = ATTReadByTypeResponseBuilder()
        let two = hex("AABB")
        let one = hex("CC")
        let first = builder.append(2, value: two.span.bytes, to: &writer)
        let shorter = builder.append(3, value: one.span.bytes, to: &writer)
        let afterGap = builder.append(4, value: two.span.bytes, to: &writer)
        #expect(first && !shorter && !afterGap)
        #expect(writer.bytes == hex("09 04 0200 AABB"))
    }

    @Test("Read By Type Response accepts empty values (Core Vol 3 Part F §3.4.4.2)")
    func readByTypeEmpty() throws {
        var writer = writer
        var builder = ATTReadByTypeResponseBuilder()
        let nothing: [UInt8] = []
        let first = builder.append(2, value: nothing.span.bytes, to: &writer)
        let second = builder.append(3, value: nothing.span.bytes, to: &writer)
        #expect(first && second)
        #expect(writer.bytes == hex("09 02 0200 0300"))
    }

    @Test(
        "Read By Type Response cuts values to MTU-4 or 253 (Core Vol 3 Part F §3.4.4.2)",
        arguments: [(23, 19, 1), (247, 243, 1), (257, 253, 1), (258, 253, 1), (512, 253, 2), (517, 253, 2)])
    func readByTypeCut(mtu: Int, length: Int, entries: Int) throws {
        let value = [UInt8](repeating: 0x5A, count: 300)
        var writer = ByteWriter(capacity: mtu)
        var builder = ATTReadByTypeResponseBuilder()
        while builder.append(7, value: value.span.bytes, to: &writer) {}
        #expect(builder.count == entries)
        #expect(writer.count == 2 + entries * (2 + length))
        #expect(Int(writer.bytes[1]) == 2 + length)
        #expect(try reencodedByServer(writer.bytes) == writer.bytes)
    }

    @Test(
        "Read By Group Type Response cuts values to MTU-6 or 251 (Core Vol 3 Part F §3.4.4.10)",
        arguments: [(23, 17, 1), (247, 241, 1), (257, 251, 1), (258, 251, 1), (512, 251, 2), (517, 251, 2)])
    func readByGroupTypeCut(mtu: Int, length: Int, entries: Int) throws {
        let value = [UInt8](repeating: 0x5A, count: 300)
        var writer = ByteWriter(capacity: mtu)
        var builder = ATTReadByTypeResponseBuilder(isGrouped: true)
        while builder.append(.first, groupEnd: .last, value: value.span.bytes, to: &writer) {}
        #expect(builder.count == entries)
        #expect(writer.count == 2 + entries * (4 + length))
        #expect(Int(writer.bytes[1]) == 4 + length)
        #expect(try reencodedByServer(writer.bytes) == writer.bytes)
    }

    @Test("Read By Group Type Response keeps services of 16 and 128 bits apart (Core Vol 3 Part F §3.4.4.10)")
    func readByGroupType() throws {
        var writer = writer
        var builder = ATTReadByTypeResponseBuilder(isGrouped: true)
        let short = hex("0018")
        let long = hex("9ECADC240EE5A9E093F3A3B50100406E")
        let first = builder.append(1, groupEnd: 5, value: short.span.bytes, to: &writer)
        let second = builder.append(6, groupEnd: 9, value: short.span.bytes, to: &writer)
        let third = builder.append(10, groupEnd: 0xFFFF, value: long.span.bytes, to: &writer)
        #expect(first && second && !third)
        #expect(writer.bytes == hex("11 06 0100 0500 0018 0600 0900 0018"))
    }

    @Test("Read Multiple Response is cut at the ATT_MTU (Core Vol 3 Part F §3.4.4.8)")
    func readMultiple() throws {
        var writer = writer
        var builder = ATTReadMultipleResponseBuilder(variable: false)
        let value = [UInt8](repeating: 0xA1, count: 11)
        let first = builder.append(value.span.bytes, to: &writer)
        let second = builder.append(value.span.bytes, to: &writer)
        let third = builder.append(value.span.bytes, to: &writer)
        // Nothing follows a value that was cut, which an empty one would seem to do.
        let fourth = builder.append([UInt8]().span.bytes, to: &writer)
        #expect(first && second && !third && !fourth)
        #expect(writer.bytes == [0x0F] + value + value)
    }

    @Test("Read Multiple Response of empty values is its opcode (Core Vol 3 Part F §3.4.4.8)")
    func readMultipleEmpty() throws {
        var writer = writer
        var builder = ATTReadMultipleResponseBuilder(variable: false)
        let nothing: [UInt8] = []
        let first = builder.append(nothing.span.bytes, to: &writer)
        let second = builder.append(nothing.span.bytes, to: &writer)
        #expect(first && second)
        #expect(writer.bytes == [0x0F])
    }

    @Test(
        "Read Multiple Variable Response is cut at the ATT_MTU, in a value or in a length (Core Vol 3 Part F §3.4.4.12)",
        arguments: [(18, "0400A2A2"), (20, "0400"), (21, "04"), (22, "")])
    func readMultipleVariable(firstTuple: Int, rest: String) throws {
        var writer = writer
        var builder = ATTReadMultipleResponseBuilder(variable: true)
        let first = [UInt8](repeating: 0xA1, count: firstTuple - 2)
        let second = [UInt8](repeating: 0xA2, count: 4)
        let wholeFirst = builder.append(first.span.bytes, to: &writer)
        let wholeSecond = builder.append(second.span.bytes, to: &writer)
        let third = builder.append(second.span.bytes, to: &writer)
        #expect(wholeFirst && !wholeSecond && !third)
        #expect(writer.bytes == [0x21, UInt8(first.count), 0] + first + hex(rest))
        #expect(try reencodedByServer(writer.bytes) == writer.bytes)
    }

    @Test("Multiple Handle Value Notification accepts only values that fit (Core Vol 3 Part F §3.4.7.4)")
    func multipleNotification() throws {
        var writer = writer
        var builder = ATTMultipleHandleValueNotificationBuilder()
        let ten = [UInt8](repeating: 0xA1, count: 10)
        let four = [UInt8](repeating: 0xA2, count: 4)
        let first = builder.append(3, value: ten.span.bytes, to: &writer)
        let second = builder.append(5, value: ten.span.bytes, to: &writer)
        let third = builder.append(7, value: four.span.bytes, to: &writer)
        #expect(first && !second && third)
        #expect(builder.count == 2)
        #expect(writer.bytes == hex("23 0300 0A00") + ten + hex("0700 0400") + four)
        let tooLong = [UInt8](repeating: 0, count: 65536)
        let fourth = builder.append(9, value: tooLong.span.bytes, to: &writer)
        #expect(!fourth)
    }

    @Test("No ATT_MTU makes a builder trap or write more than fits")
    func everyCapacity() throws {
        let value = [UInt8](repeating: 0x5A, count: 600)
        for capacity in 0...600 {
            for length in [0, 1, 5, 252, 253, 254, 600] {
                let value = value.span.bytes.extracting(first: length)
                var writer = ByteWriter(capacity: capacity)
                var byType = ATTReadByTypeResponseBuilder()
                _ = byType.append(1, value: value, to: &writer)
                writer.removeAll()
                var byGroupType = ATTReadByTypeResponseBuilder(isGrouped: true)
                _ = byGroupType.append(.first, groupEnd: .last, value: value, to: &writer)
                writer.removeAll()
                var multiple = ATTReadMultipleResponseBuilder(variable: false)
                while multiple.append(value, to: &writer), length > 0 {}
                #expect(length == 0 || writer.count == capacity)
                writer.removeAll()
                var variable = ATTReadMultipleResponseBuilder(variable: true)
                while variable.append(value, to: &writer) {}
                #expect(writer.count == capacity)
            }
        }
    }
}
