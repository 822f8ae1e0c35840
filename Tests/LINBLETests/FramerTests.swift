import LINBLE
import TestSupport
import Testing

@Suite struct FramerTests {
    /// Feeds `stream` in the given pieces and returns every frame and error in order.
    private func run(_ framer: some Framer, _ pieces: [[UInt8]]) throws -> [Result<[UInt8], FramingError>] {
        var framer = framer
        var results: [Result<[UInt8], FramingError>] = []
        for piece in pieces {
            try framer.append(piece)
            while true {
                do throws(FramingError) {
                    guard let frame = try framer.next() else { break }
                    results.append(.success(frame))
                } catch {
                    results.append(.failure(error))
                }
            }
        }
        return results
    }

    /// All splits of `stream` into two and into three pieces, and into single bytes.
    private func cuts(of stream: [UInt8]) -> [[[UInt8]]] {
        var all: [[[UInt8]]] = [[stream], stream.map { [$0] }]
        for first in 0...stream.count {
            for second in first...stream.count {
                all.append([Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...])])
            }
        }
        return all
    }

    private func expect(_ framer: some Framer, finds frames: [[UInt8]], in stream: [UInt8]) throws {
        for pieces in cuts(of: stream) {
            #expect(try run(framer, pieces) == frames.map { .success($0) })
        }
    }

    @Test func lengthPrefixFindsTheSameFramesHoweverTheStreamIsCut() throws {
        let frames = ["", "01", "0203", "040506"].map(hex)
        try expect(LengthPrefixFramer(width: .one), finds: frames, in: hex("00 01 01 02 0203 03 040506"))
        try expect(
            LengthPrefixFramer(width: .two), finds: frames, in: hex("0000 0001 01 0002 0203 0003 040506"))
        try expect(
            LengthPrefixFramer(width: .two, isLittleEndian: true, countsItself: true), finds: frames,
            in: hex("0200 0300 01 0400 0203 0500 040506"))
        try expect(
            LengthPrefixFramer(width: .four, isLittleEndian: true), finds: [hex("AA"), []],
            in: hex("01000000 AA 00000000"))
    }

    @Test func delimiterFindsTheSameFramesHoweverTheStreamIsCut() throws {
        try expect(DelimiterFramer(), finds: ["4142", "", "43"].map(hex), in: hex("4142 0A 0A 43 0A"))
        try expect(
            DelimiterFramer(delimiter: hex("0D0A")), finds: ["410D", "0A", ""].map(hex),
            in: hex("410D 0D0A 0A 0D0A 0D0A 42"))
        try expect(DelimiterFramer(delimiter: hex("0101 02")), finds: ["01"].map(hex), in: hex("01 0101 02"))
    }

    @Test func fixedLengthFindsTheSameFramesHoweverTheStreamIsCut() throws {
        try expect(FixedLengthFramer(frameLength: 3), finds: ["010203", "040506"].map(hex), in: hex("01020304050607"))
        try expect(FixedLengthFramer(frameLength: 0), finds: ["01", "02"].map(hex), in: hex("0102"))
    }

    @Test func whatIsEncodedIsFound() throws {
        func check(_ framer: some Framer, _ frames: [[UInt8]]) throws {
            try expect(framer, finds: frames, in: try frames.flatMap { try framer.encode($0) })
        }
        try check(LengthPrefixFramer(width: .one, countsItself: true), [[], [1], [2, 3]])
        try check(LengthPrefixFramer(width: .four, isLittleEndian: true), [[], [1], [2, 3]])
        try check(DelimiterFramer(delimiter: [0x0D, 0x0A]), [[], [1], [2, 0x0A]])
        try check(FixedLengthFramer(frameLength: 2), [[1, 2], [3, 4]])
    }

    @Test func aFrameThatIsTooLongIsReportedOnceAndPassedOver() throws {
        let prefixed = LengthPrefixFramer(width: .one, maximumFrameLength: 2)
        for pieces in cuts(of: hex("01 AA 04 01020304 01 BB")) {
            #expect(
                try run(prefixed, pieces) == [
                    .success([0xAA]), .failure(.frameTooLong(length: 4, maximum: 2)), .success([0xBB]),
                ])
        }
        for pieces in cuts(of: hex("AA 0A 01020304 0A BB 0A")) {
            let results = try run(DelimiterFramer(maximumFrameLength: 2), pieces)
            try #require(results.count == 3)
            #expect(results[0] == .success([0xAA]))
            #expect(throws: FramingError.self) { try results[1].get() }
            #expect(results[2] == .success([0xBB]))
        }
    }

    @Test func aLengthThatNoFrameCanHaveIsReportedAndPassedOver() throws {
        let minimum = LengthPrefixFramer(width: .one, minimumFrameLength: 1)
        #expect(try run(minimum, [hex("00 01 AA")]) == [.failure(.invalidLength(0)), .success([0xAA])])
        let counting = LengthPrefixFramer(width: .two, countsItself: true)
        #expect(try run(counting, [hex("0001 0003 AA")]) == [.failure(.invalidLength(1)), .success([0xAA])])
    }

    @Test func theLargestLengthFieldIsPassedOverWithoutMemory() throws {
        var framer = LengthPrefixFramer(width: .four, maximumFrameLength: 16)
        try framer.append(hex("FFFFFFFF 01"))
        #expect(throws: FramingError.frameTooLong(length: 0xFFFF_FFFF, maximum: 16)) { try framer.next() }
        for _ in 0..<100 { try framer.append(Array(repeating: 0, count: 60_000)) }
        #expect(try framer.next() == nil)
    }

    @Test func anErrorHasItsNumbers() {
        let long = FramingError.frameTooLong(length: 3, maximum: 2)
        #expect(long.frameTooLong?.length == 3)
        #expect(long.frameTooLong?.maximum == 2)
        #expect(long.invalidLength == nil)
        #expect(FramingError.invalidLength(4).invalidLength == 4)
        #expect(FramingError.overflow(capacity: 5).overflow == 5)
        #expect(FramingError.notFramable.frameTooLong == nil)
        #expect(FramingError.notFramable.overflow == nil)
    }

    @Test func bytesThatNobodyTakesOutAreRefused() throws {
        var framer = FixedLengthFramer(frameLength: 4)
        try framer.append(Array(repeating: 7, count: 65_536))
        #expect(throws: FramingError.overflow(capacity: 65_536)) { try framer.append([1]) }
        #expect(try framer.next() == [7, 7, 7, 7])
        try framer.append([1])
    }

    @Test func aFrameThatTheFramingCannotExpressIsRefused() {
        #expect(throws: FramingError.notFramable) { try DelimiterFramer().encode([1, 0x0A]) }
        #expect(throws: FramingError.notFramable) { try DelimiterFramer(delimiter: [1, 1, 2]).encode([1, 1, 2]) }
        #expect(throws: FramingError.notFramable) { try FixedLengthFramer(frameLength: 2).encode([1]) }
        #expect(throws: FramingError.frameTooLong(length: 256, maximum: 255)) {
            try LengthPrefixFramer(width: .one).encode(Array(repeating: 0, count: 256))
        }
        #expect(throws: FramingError.frameTooLong(length: 255, maximum: 254)) {
            try LengthPrefixFramer(width: .one, countsItself: true).encode(Array(repeating: 0, count: 255))
        }
        #expect(throws: FramingError.invalidLength(0)) {
            try LengthPrefixFramer(width: .one, minimumFrameLength: 1).encode([])
        }
    }

    @Test func resetForgetsAnUnfinishedFrame() throws {
        var framer = LengthPrefixFramer(width: .one)
        try framer.append(hex("05 01"))
        framer.reset()
        try framer.append(hex("01 AA"))
        #expect(try framer.next() == [0xAA])
    }
}
