import TestSupport
import Testing

@testable import BluetoothProfiles

/// Messages against the bytes of an independent implementation.
@Suite struct SMPMessageTests {
    @Test(arguments: RecordedMessage.all) func messagesAreEncodedAsRecorded(_ recorded: RecordedMessage) throws {
        guard case .map(let body) = try CBOR(decoding: Array(recorded.bytes.dropFirst(8))) else {
            return #expect(Bool(false), "no map")
        }
        #expect(recorded.header.message(body) == recorded.bytes)
    }

    @Test(arguments: RecordedMessage.all) func messagesAreDecodedAsRecorded(_ recorded: RecordedMessage) throws {
        var assembler = SMPAssembler(limit: 1 << 16)
        assembler.append(recorded.bytes)
        let frame = try #require(try assembler.next())
        var header = recorded.header
        header.bodyLength = recorded.bytes.count - 8
        #expect(frame.header == header)
        let body = try CBOR(decoding: frame.body)
        #expect(body.diagnostic == recorded.body)
        let rest = try assembler.next()
        #expect(rest == nil)
    }

    /// A body that ends too early is an error, wherever it ends.
    @Test(arguments: RecordedMessage.all) func everyTruncationThrows(_ recorded: RecordedMessage) {
        let body = Array(recorded.bytes.dropFirst(8))
        for count in 0..<body.count {
            #expect(throws: MalformedValue.self, "\(count) bytes") { try CBOR(decoding: Array(body.prefix(count))) }
        }
    }

    /// Whatever a peer changes, it is read or it is an error.
    @Test(arguments: RecordedMessage.all) func noChangedByteTraps(_ recorded: RecordedMessage) {
        for bytes in mutations(of: Array(recorded.bytes.prefix(200))) {
            var assembler = SMPAssembler(limit: 1 << 16)
            assembler.append(bytes)
            guard let frame = try? assembler.next(), let body = try? CBOR(decoding: frame.body) else { continue }
            _ = FirmwareStatus(body)
            _ = try? FirmwareSlot.list(body)
        }
    }

    @Test(arguments: [1, 2, 7, 8, 9, 20, 1000]) func fragmentsAreJoined(_ length: Int) throws {
        var assembler = SMPAssembler(limit: 1 << 16)
        let recorded = RecordedMessage.all
        var frames: [SMPAssembler.Frame] = []
        for fragment in recorded.flatMap(\.bytes).fragments(length) {
            assembler.append(fragment)
            while let frame = try assembler.next() { frames.append(frame) }
        }
        #expect(frames.map(\.body) == recorded.map { Array($0.bytes.dropFirst(8)) })
        #expect(frames.map(\.header.sequence) == recorded.map(\.header.sequence))
    }

    @Test func aMessageThatIsTooLongIsSkipped() throws {
        var assembler = SMPAssembler(limit: 20)
        let long = SMPHeader(.write, .echo, sequence: 1).message(["d": .text(String(repeating: "x", count: 50))])
        let short = SMPHeader(.write, .echo, sequence: 2).message(["d": .text("y")])
        var failures = 0
        var sequences: [UInt8] = []
        for fragment in (long + short).fragments(9) {
            assembler.append(fragment)
            do {
                while let frame = try assembler.next() { sequences.append(frame.header.sequence) }
            } catch {
                failures += 1
            }
        }
        #expect(failures == 1)
        #expect(sequences == [2])
    }

    @Test(arguments: 4...7 as ClosedRange<UInt8>) func anOperationWithoutAMeaningIsDropped(_ operation: UInt8) throws {
        var assembler = SMPAssembler(limit: 100)
        assembler.append([operation, 0, 0, 1, 0, 0, 1, 0, 0xA0])
        #expect(throws: MalformedValue.self) { try assembler.next() }
        assembler.append(SMPHeader(.read, .parameters, sequence: 7).message([:]))
        let next = try assembler.next()
        #expect(next?.header.sequence == 7)
    }

    @Test func errorsOfBothVersionsAreStatuses() throws {
        let first = FirmwareStatus(.map(["rc": .unsigned(8)]))
        let second = FirmwareStatus(.map(["err": .map(["group": .unsigned(1), "rc": .unsigned(9)])]))
        #expect(first == .unsupported)
        #expect(second == .noFreeSlot)
        #expect(FirmwareStatus(.map(["rc": .unsigned(0), "off": .unsigned(3)])) == nil)
        #expect(FirmwareStatus(.map([:])) == nil)
        #expect(FirmwareStatus(.map(FirmwareStatus.noFreeSlot.body(version: 1))) == .noFreeSlot)
        // The first version has no groups.
        #expect(FirmwareStatus(.map(FirmwareStatus.noFreeSlot.body(version: 0))) == .unknown)
        #expect("\(FirmwareStatus.noFreeSlot)" == "no free slot (group 1, 9)")
        #expect("\(FirmwareStatus(group: 64, code: -1))" == "status (group 64, -1)")
    }
}
