import BluetoothATT
import BluetoothPrimitives
import Glibc
import TestSupport
import Testing

import BluetoothGATT

/// Whatever a server responds, a procedure does not trap, and it ends.
///
/// It ends because no request is sent twice: discovery requests each type of attribute once from each handle, and a
/// read or a long write continues once from each handle and offset. There are eight types and at most 65,536 handles.
@Suite struct HostileServerTests {
    static let transcripts: [Transcript] =
        ServiceDiscoveryTests.all + ServiceDiscoveryTests.byUUID + CharacteristicDiscoveryTests.characteristics
        + CharacteristicDiscoveryTests.descriptors + IncludedServiceDiscoveryTests.transcripts
        + DatabaseDiscoveryTests.transcripts + DatabaseIncludeTests.includes + ValueProcedureTests.mtus
        + ValueProcedureTests.reads + ValueProcedureTests.writes + ValueProcedureTests.longWrites
        + SeveralValueTests.byUUID + SeveralValueTests.variable
        + SeveralValueTests.reliableWrites

    /// The request of a procedure and its position.
    struct Place: Hashable {
        var kind: UInt8
        var handle: UInt16 = 0
        var offset: UInt16 = 0

        init(of request: [UInt8]) throws {
            kind = request.first ?? 0
            switch try ATTClientPDU(decoding: request.span.bytes) {
            case .readByGroupTypeRequest(let range, _): handle = range.start.rawValue
            case .findByTypeValueRequest(let range, _, _): handle = range.start.rawValue
            case .readByTypeRequest(let range, type: let type):
                handle = range.start.rawValue
                if type == .include { kind |= 0x80 }
                if type == .clientCharacteristicConfiguration { kind |= 0x40 }
            case .findInformationRequest(let range): handle = range.start.rawValue
            case .readRequest(let attribute): handle = attribute.rawValue
            case .readBlobRequest(let attribute, let from): (handle, offset) = (attribute.rawValue, from)
            case .exchangeMTURequest: break
            case .writeRequest(let attribute, _): handle = attribute.rawValue
            case .prepareWriteRequest(let attribute, let from, _): (handle, offset) = (attribute.rawValue, from)
            case .executeWriteRequest(let flags): handle = UInt16(flags.rawValue)
            // The rest of the list shrinks.
            case .readMultipleRequest(let handles): (handle, offset) = Self.left(handles)
            case .readMultipleVariableRequest(let handles): (handle, offset) = Self.left(handles)
            default: throw UnexpectedRequest(bytes: request)
            }
        }

        /// The first handle of a list, and the number of its handles.
        private static func left(_ handles: borrowing ATTHandleList) -> (UInt16, UInt16) {
            var handles = copy handles
            let count = UInt16(handles.count)
            return (handles.next()?.rawValue ?? 0, count)
        }
    }

    struct UnexpectedRequest: Error { var bytes: [UInt8] }

    /// Responds to every request with `answer` until the procedure ends; returns the number of requests.
    @discardableResult
    static func drive(
        _ conversation: Conversation, limit: Int = 7 << 16, _ answer: (_ request: [UInt8]) -> [UInt8]
    ) throws -> Int {
        var conversation = conversation
        var count = 0
        var places: Set<Place> = []
        while let request = conversation.request {
            guard places.insert(try Place(of: request)).inserted, count < limit else {
                Issue.record("request \(count), \(request.hexadecimal), leads nowhere")
                return count
            }
            count += 1
            conversation.answer(answer(request))
        }
        return count
    }

    /// Every truncation and every single-byte change; only some of the bytes of a long value, which are not
    /// interpreted.
    private static func wrongForms(of answer: [UInt8]) -> [[UInt8]] {
        guard answer.count > 64 else { return mutations(of: answer) }
        return (0..<answer.count).map { Array(answer.prefix($0)) }
            + mutations(of: Array(answer.prefix(8))).filter { $0.count == 8 }.map { $0 + answer.dropFirst(8) }
    }

    @Test("no truncation and no single-byte change of a response does harm", arguments: transcripts)
    func mutatedAnswers(_ transcript: Transcript) throws {
        var conversation = Conversation(transcript.procedure, mtu: transcript.mtu)
        // In long exchanges the first and the last requests suffice, since the others are alike.
        let interesting = Set(transcript.exchanges.indices.prefix(2) + transcript.exchanges.indices.suffix(2))
        for (index, exchange) in transcript.exchanges.enumerated() {
            let answer = hex(exchange.answer)
            if interesting.contains(index) {
                // A server that repeats the same wrong response.
                for mutation in Self.wrongForms(of: answer) { try Self.drive(conversation) { _ in mutation } }
            }
            conversation.answer(answer)
        }
        #expect(conversation.ending == transcript.ending)
    }

    @Test("one wrong response among correct ones does no harm", arguments: transcripts)
    func oneWrongAnswer(_ transcript: Transcript) throws {
        // The server's response to each expected request; it has none to others.
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

    @Test("an unexpected response does no harm", .seeded, arguments: SeededGenerator.seeds(40))
    func randomAnswers(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for transcript in Self.transcripts {
            let conversation = Conversation(transcript.procedure, mtu: 23)
            try Self.drive(conversation) { Self.plausibleAnswer(to: $0, &generator) }
        }
    }

    /// A response of the right kind with handles near the requested ones, and sometimes another one.
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
        let isInclude = opcode == 0x08 && request.suffix(2) == [0x02, 0x28]
        var answer: [UInt8] = [opcode + 1]
        switch opcode {
        case 0x04: answer.append(uuid.count == 2 ? 1 : 2)
        case 0x08 where isInclude: answer.append(uuid.count == 2 ? 8 : 6)
        case 0x08: answer.append(UInt8(5 + uuid.count))
        case 0x10: answer.append(UInt8(4 + uuid.count))
        case 0x06: break
        case 0x0A where generator.oneIn(2): return answer + uuid
        case 0x0A, 0x0C: return answer + [UInt8](repeating: 7, count: generator.oneIn(30) ? 21 : 22)
        case 0x16: return answer + request.dropFirst()
        case 0x0E: return answer + [UInt8](repeating: 7, count: .random(in: 0...22, using: &generator))
        case 0x20:
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let count = Int.random(in: 0...(generator.oneIn(3) ? 600 : 9), using: &generator)
                answer += [UInt8(truncatingIfNeeded: count), UInt8(count >> 8)] + [UInt8](repeating: 7, count: count)
            }
            return Array(answer.prefix(23))
        default: return answer
        }
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            answer += handle(&generator)
            if opcode == 0x08, !isInclude { answer.append(.random(in: 0...255, using: &generator)) }
            if isInclude { answer += handle(&generator) }
            if opcode != 0x04 { answer += handle(&generator) }
            if opcode != 0x06, !isInclude || uuid.count == 2 { answer += uuid }
        }
        return answer
    }
}

/// Servers with valid and minimal responses: every procedure ends after at most one request for each handle or byte.
@Suite struct SlowServerTests {
    /// The bytes of the handle `offset` above the first requested one.
    private static func handle(_ request: [UInt8], _ offset: UInt16 = 0) -> [UInt8] {
        let handle = (UInt16(request[1]) | UInt16(request[2]) << 8) &+ offset
        return [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
    }

    /// One service, characteristic or descriptor in each response, each as small as possible.
    private static func answer(_ request: [UInt8]) -> [UInt8] {
        switch request[0] {
        case 0x04: [0x05, 0x01] + handle(request) + [0x01, 0x29]
        case 0x06: [0x07] + handle(request) + handle(request)
        // A 128-bit service at the same handle, which cannot be read.
        case 0x08 where request.suffix(2) == [0x02, 0x28]:
            [0x09, 0x06] + handle(request) + handle(request) + handle(request)
        // A declaration at every odd handle, with its value at the next.
        case 0x08 where request[1] & 1 == 0:
            [0x09, 0x07] + handle(request, 1) + [0x02] + handle(request, 2) + [0x00, 0x2A]
        case 0x08: [0x09, 0x07] + handle(request) + [0x02] + handle(request, 1) + [0x00, 0x2A]
        case 0x10: [0x11, 0x06] + handle(request) + handle(request) + [0x00, 0x18]
        default: [0x01, request[0], 0, 0, 0x06]
        }
    }

    static let discoveries: [(procedure: any ClientProcedure, requests: Int)] = [
        (ServiceDiscovery(), 65_535), (ServiceDiscovery(uuid: 0x1800), 65_535),
        (CharacteristicDiscovery(in: .all), 32_767), (DescriptorDiscovery(in: .all), 65_535),
        // Each service takes one request for its UUID.
        (IncludedServiceDiscovery(in: .all), 2 * 65_535),
        // No service has room for a characteristic.
        (DatabaseDiscovery(requestLimit: .max), 65_535),
    ]

    @Test("a service, characteristic or descriptor at every handle", arguments: discoveries)
    func everyHandle(_ procedure: any ClientProcedure, requests: Int) throws {
        let conversation = Conversation(procedure, mtu: 23)
        #expect(try HostileServerTests.drive(conversation) { Self.answer($0) } == requests)
    }

    @Test("a database of one service full of characteristics, and of one full of descriptors")
    func fullDatabase() throws {
        let characteristics = Conversation(DatabaseDiscovery(requestLimit: .max), mtu: 23)
        let count = try HostileServerTests.drive(characteristics) { request in
            request[0] == 0x10 ? hex("11 06 0100 FFFF 0018") : Self.answer(request)
        }
        // The first characteristic leaves room for an include after the service declaration; the last leaves one handle
        // for a descriptor.
        #expect(count == 1 + 32_767 + 2 + 1)

        let descriptors = Conversation(DatabaseDiscovery(requestLimit: .max), mtu: 23)
        let other = try HostileServerTests.drive(descriptors) { request in
            switch request[0] {
            case 0x10: hex("11 06 0100 FFFF 0018")
            case 0x08: request[1] == 1 ? hex("09 07 0200 02 0300 002A") : hex("01 08 0400 0A")
            default: Self.answer(request)
            }
        }
        #expect(other == 1 + 2 + 65_532)
    }

    @Test("secondary services that each include the next")
    func chain() throws {
        let conversation = Conversation(DatabaseDiscovery(requestLimit: .max), mtu: 23)
        let count = try HostileServerTests.drive(conversation) { request in
            switch (request[0], request.last) {
            case (0x10, _): request[1] == 1 ? hex("11 06 0100 4000 0018") : hex("01 10 4100 0A")
            // The first handle of a service includes the 64 handles that follow.
            case (0x08, 0x28) where request.suffix(2) == [0x02, 0x28] && request[1] & 0x3F == 2:
                [0x09, 0x08] + Self.handle(request) + Self.handle(request, 63) + Self.handle(request, 126) + [
                    0x34, 0x12,
                ]
            default: [0x01, request[0], 0, 0, 0x0A]
            }
        }
        // Two for services; for each of 1023 services one for characteristics and two for includes, until one includes
        // an invalid range.
        #expect(count == 2 + 1023 * 3)
    }

    /// Discovers a chain of secondary services of four handles, each of which includes the next or the previous one;
    /// returns the processor time and the result.
    private static func chain(of count: Int, isAscending: Bool) throws -> (seconds: Double, database: RemoteDatabase) {
        let top = count * 4
        let primary = isAscending ? 1 : top + 1
        func bytes(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
        var discovery = DatabaseDiscovery(requestLimit: .max)
        var request = ByteWriter(capacity: 23)
        let began = processorTime()
        while true {
            request.removeAll()
            try discovery.writeRequest(into: &request)
            let asked = request.bytes
            let start = Int(asked[1]) | Int(asked[2]) << 8
            let next = isAscending ? start + 3 : start - 5
            var answer: [UInt8] = [0x01, asked[0], 0, 0, 0x0A]
            if asked[0] == 0x10, start <= primary {
                answer = [0x11, 0x06] + bytes(primary) + bytes(primary + 3) + [0x00, 0x18]
            } else if asked[0] == 0x08, asked[5] == 0x02, start % 4 == 2, next > 0, next <= top {
                answer = [0x09, 0x08] + bytes(start) + bytes(next) + bytes(next + 3) + [0x34, 0x12]
            }
            if case .done(let database) = try discovery.receive(try ATTServerPDU(decoding: answer.span.bytes)) {
                return (processorTime() - began, database)
            }
        }
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("a chain of includes takes time linear in its length", arguments: [true, false])
    func longChain(isAscending: Bool) throws {
        let short = try Self.chain(of: 2000, isAscending: isAscending)
        let long = try Self.chain(of: 16_000, isAscending: isAscending)
        #expect(long.database.count == (isAscending ? 16_000 : 16_001))
        #expect(long.database.problems.isEmpty)
        #expect(long.database.map(\.handles.start) == long.database.map(\.handles.start).sorted())
        // Eight times the length; quadratic time would be a factor of 64.
        #expect(long.seconds < 24 * short.seconds, "\(short.seconds) s, \(long.seconds) s")
    }

    @Test("a discovery ends at its limit of requests, whatever the server has")
    func requestLimit() throws {
        let conversation = Conversation(DatabaseDiscovery(), mtu: 23)
        #expect(try HostileServerTests.drive(conversation) { Self.answer($0) } == DatabaseDiscovery.requestLimit)
    }

    @Test("invalid entries do not fill the memory", arguments: discoveries.map(\.procedure))
    func problemLimit(_ procedure: any ClientProcedure) throws {
        #expect(try Self.problemCount(procedure) <= 1000)
    }

    private static func problemCount(_ procedure: some ClientProcedure) throws -> Int {
        // One valid entry, then as many with descending handles as fit.
        func fill(_ answer: [UInt8], _ entry: [UInt8]) -> [UInt8] {
            answer + [[UInt8]](repeating: entry, count: (517 - answer.count) / entry.count).joined()
        }
        var procedure = procedure
        var request = ByteWriter(capacity: 517)
        for _ in 0..<100 {
            request.removeAll()
            try procedure.writeRequest(into: &request)
            let answer = Self.answer(request.bytes)
            // The length of the header before the entries.
            let length = [0x09: 2, 0x11: 2, 0x05: 2, 0x07: 1][Int(answer[0])] ?? answer.count
            let long = fill(answer, Array(answer.dropFirst(length)))
            guard case .next = try procedure.receive(try ATTServerPDU(decoding: long.span.bytes)) else { break }
        }
        return procedure.problems.count
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
