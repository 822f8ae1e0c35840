import ATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import GATT

/// Whatever a server answers, a procedure does not trap, and it ends.
///
/// The proof of the end is that each request is further on than the one before: discovery asks from a higher handle or
/// for the next kind of attribute, a read and a long write go on from a higher offset or to the next kind of request.
/// There are four kinds and 65 536 places at most.
@Suite struct HostileServerTests {
    static let transcripts: [Transcript] =
        ServiceDiscoveryTests.all + ServiceDiscoveryTests.byUUID + CharacteristicDiscoveryTests.characteristics
        + CharacteristicDiscoveryTests.descriptors + DatabaseDiscoveryTests.transcripts + ValueProcedureTests.mtus
        + ValueProcedureTests.reads + ValueProcedureTests.writes + ValueProcedureTests.longWrites

    /// How far a procedure is that sends `request`.
    static func progress(of request: [UInt8]) throws -> Int {
        let place: (kind: Int, position: UInt16) =
            switch try ATTClientPDU(decoding: request.span.bytes) {
            case .readByGroupTypeRequest(let range, _): (0, range.start.rawValue)
            case .findByTypeValueRequest(let range, _, _): (0, range.start.rawValue)
            case .readByTypeRequest(let range, _): (1, range.start.rawValue)
            case .findInformationRequest(let range): (2, range.start.rawValue)
            case .readRequest: (0, 0)
            case .readBlobRequest(_, let offset): (1, offset)
            case .exchangeMTURequest, .writeRequest: (0, 0)
            case .prepareWriteRequest(_, let offset, _): (0, offset)
            case .executeWriteRequest(.writeAll): (1, 0)
            case .executeWriteRequest: (2, 0)
            default: throw UnexpectedRequest(bytes: request)
            }
        return place.kind << 16 | Int(place.position)
    }

    struct UnexpectedRequest: Error { var bytes: [UInt8] }

    /// Answers every request with what `answer` makes of it until the procedure ends; returns how many it took.
    @discardableResult
    static func drive(
        _ conversation: Conversation, limit: Int = 4 << 16, _ answer: (_ request: [UInt8]) -> [UInt8]
    ) throws -> Int {
        var conversation = conversation
        var count = 0
        var last = -1
        while let request = conversation.request {
            let now = try progress(of: request)
            guard now > last, count < limit else {
                Issue.record("request \(count), \(request.hexadecimal), leads nowhere")
                return count
            }
            last = now
            count += 1
            conversation.answer(answer(request))
        }
        return count
    }

    /// Every truncation and every single-byte change; of the bytes of a long value, which nobody looks at, only some.
    private static func wrongForms(of answer: [UInt8]) -> [[UInt8]] {
        guard answer.count > 64 else { return mutations(of: answer) }
        return (0..<answer.count).map { Array(answer.prefix($0)) }
            + mutations(of: Array(answer.prefix(8))).filter { $0.count == 8 }.map { $0 + answer.dropFirst(8) }
    }

    @Test("every truncation and every single-byte change of every answer is survived", arguments: transcripts)
    func mutatedAnswers(_ transcript: Transcript) throws {
        var conversation = Conversation(transcript.procedure, mtu: transcript.mtu)
        // Of long exchanges of the same kind the first and the last are enough.
        let interesting = Set(transcript.exchanges.indices.prefix(2) + transcript.exchanges.indices.suffix(2))
        for (index, exchange) in transcript.exchanges.enumerated() {
            let answer = hex(exchange.answer)
            if interesting.contains(index) {
                // A server that gives the same wrong answer for ever.
                for mutation in Self.wrongForms(of: answer) { try Self.drive(conversation) { _ in mutation } }
            }
            conversation.answer(answer)
        }
        #expect(conversation.ending == transcript.ending)
    }

    @Test("one wrong answer among the right ones is survived", arguments: transcripts)
    func oneWrongAnswer(_ transcript: Transcript) throws {
        // What the server knows of the requests it expects; of others it knows nothing.
        let answers = Dictionary(
            transcript.exchanges.map { (hex($0.request), hex($0.answer)) }, uniquingKeysWith: { first, _ in first })
        var conversation = Conversation(transcript.procedure, mtu: transcript.mtu)
        guard let exchange = transcript.exchanges.first else { return }
        for mutation in Self.wrongForms(of: hex(exchange.answer)) {
            var isFirst = true
            try Self.drive(conversation) { request in
                defer { isFirst = false }
                if isFirst { return mutation }
                return answers[request] ?? [0x01, request[0], 0, 0, 0x0A]
            }
        }
        conversation.answer(hex(exchange.answer))
    }

    @Test("any answer out of the blue is survived", arguments: 0..<40)
    func randomAnswers(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for transcript in Self.transcripts {
            let conversation = Conversation(transcript.procedure, mtu: 23)
            try Self.drive(conversation) { Self.plausibleAnswer(to: $0, &generator) }
        }
    }

    /// An answer of the right kind with handles not far from those asked for, and sometimes something else.
    private static func plausibleAnswer(to request: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        guard let opcode = request.first, !generator.oneIn(40) else {
            return (0..<Int.random(in: 0...23, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
        }
        if generator.oneIn(40) {
            return [0x01, opcode, 0, 0, .random(in: 0...0x13, using: &generator)]
        }
        var start = request.count >= 3 ? Int(request[1]) | Int(request[2]) << 8 : 1
        func handle(_ generator: inout SeededGenerator) -> [UInt8] {
            start += generator.oneIn(60) ? -1 : Int.random(in: 0...(generator.oneIn(4) ? 5_000 : 2), using: &generator)
            return [UInt8(truncatingIfNeeded: start), UInt8(truncatingIfNeeded: start >> 8)]
        }
        let uuid = hex(generator.oneIn(3) ? longUUID : "0D18")
        var answer: [UInt8] = [opcode + 1]
        switch opcode {
        case 0x04: answer.append(uuid.count == 2 ? 1 : 2)
        case 0x08: answer.append(UInt8(5 + uuid.count))
        case 0x10: answer.append(UInt8(4 + uuid.count))
        case 0x06: break
        case 0x0A, 0x0C: return answer + [UInt8](repeating: 7, count: generator.oneIn(30) ? 21 : 22)
        case 0x16: return answer + request.dropFirst()
        default: return answer
        }
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            answer += handle(&generator)
            if opcode == 0x08 { answer.append(.random(in: 0...255, using: &generator)) }
            if opcode != 0x04 { answer += handle(&generator) }
            if opcode != 0x06 { answer += uuid }
        }
        return answer
    }
}

/// Servers that answer by the book and as slowly as they can: every procedure ends after as many requests as there
/// are handles or bytes.
@Suite struct SlowServerTests {
    /// The bytes of the handle `offset` above the one that `request` asks from.
    private static func handle(_ request: [UInt8], _ offset: UInt16 = 0) -> [UInt8] {
        let handle = (UInt16(request[1]) | UInt16(request[2]) << 8) &+ offset
        return [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
    }

    /// One service, characteristic or descriptor an answer, each as small as can be.
    private static func answer(_ request: [UInt8]) -> [UInt8] {
        switch request[0] {
        case 0x04: [0x05, 0x01] + handle(request) + [0x01, 0x29]
        case 0x06: [0x07] + handle(request) + handle(request)
        case 0x08: [0x09, 0x07] + handle(request) + [0x02] + handle(request, 1) + [0x00, 0x2A]
        case 0x10: [0x11, 0x06] + handle(request) + handle(request) + [0x00, 0x18]
        default: [0x01, request[0], 0, 0, 0x06]
        }
    }

    static let discoveries: [(procedure: any ClientProcedure, requests: Int)] = [
        (ServiceDiscovery(), 65_535), (ServiceDiscoveryByUUID(uuid: 0x1800), 65_535),
        (CharacteristicDiscovery(in: .all), 32_767), (DescriptorDiscovery(in: .all), 65_535),
        // No service has room for a characteristic.
        (DatabaseDiscovery(), 65_535),
    ]

    @Test("a service, characteristic or descriptor at every handle", arguments: discoveries)
    func everyHandle(_ procedure: any ClientProcedure, requests: Int) throws {
        let conversation = Conversation(procedure, mtu: 23)
        #expect(try HostileServerTests.drive(conversation) { Self.answer($0) } == requests)
    }

    @Test("a database of one service that is full of characteristics, and of one that is full of descriptors")
    func fullDatabase() throws {
        let characteristics = Conversation(DatabaseDiscovery(), mtu: 23)
        let count = try HostileServerTests.drive(characteristics) { request in
            request[0] == 0x10 ? hex("11 06 0100 FFFF 0018") : Self.answer(request)
        }
        // The last has one handle left for a descriptor.
        #expect(count == 1 + 32_767 + 1)

        let descriptors = Conversation(DatabaseDiscovery(), mtu: 23)
        let other = try HostileServerTests.drive(descriptors) { request in
            switch request[0] {
            case 0x10: hex("11 06 0100 FFFF 0018")
            case 0x08: request[1] == 1 ? hex("09 07 0200 02 0300 002A") : hex("01 08 0400 0A")
            default: Self.answer(request)
            }
        }
        #expect(other == 1 + 2 + 65_532)
    }

    @Test("values without an end", arguments: [(23, 24), (24, 23), (247, 3), (517, 1)])
    func endlessValue(mtu: Int, requests: Int) throws {
        let conversation = Conversation(ValueRead(0x0003), mtu: mtu)
        let count = try HostileServerTests.drive(conversation) { request in
            [request[0] + 1] + [UInt8](repeating: 0, count: mtu - 1)
        }
        #expect(count == requests)
    }
}
