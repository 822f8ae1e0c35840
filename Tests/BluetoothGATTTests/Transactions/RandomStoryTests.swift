import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothGATT

/// Callers appear and give up, the channel is congested, the peer responds at random times: in every order, each caller
/// receives one result of its own, and the peer's state is consistent.
@Suite struct RandomStoryTests {
    @Test("every operation ends with its own result", .seeded, arguments: SeededGenerator.seeds(200))
    func drained(seed: UInt64) throws {
        var story = try Story(seed: seed)
        for _ in 0..<200 { try story.step() }
        while try story.deliver() || story.send() {}
        #expect(story.bearer.engine.requestInFlight == nil)
        try story.checkEverythingEnded()
        #expect(story.server.server.preparedWrites.writes.isEmpty)
        #expect(story.bearer.engine.strayResponseCount == 0)
    }

    @Test("every operation ends with the bearer", .seeded, arguments: SeededGenerator.seeds(60))
    func cutShort(seed: UInt64) throws {
        var story = try Story(seed: seed)
        for _ in 0..<Int.random(in: 0...100, using: &story.generator) { try story.step() }
        if story.generator.oneIn(2) {
            story.bearer.engine.close()
        } else {
            story.bearer.engine.timeOut()
        }
        let sent = story.send()
        #expect(!sent)
        try story.checkEverythingEnded()
    }
}

/// A bearer with the package's server at its other end.
private struct Story {
    /// A caller, its possible results, and its write.
    struct Caller {
        var name: String
        var expected: [String]
        var giveUp: () -> Void
        var ending: () -> String?
        var hasGivenUp = false
    }

    let bearer = Bearer()
    var server: ServerFixture
    var generator: SeededGenerator
    private var callers: [Caller] = []
    /// The PDUs that the server has sent and the client has not received.
    private var answers: [String] = []
    private var commands: [String] = []
    private var sentCommands: [String] = []
    /// The values written to each of the two writable attributes.
    private var written: [AttributeHandle: [[UInt8]]] = [0x0007: [[0x07]], 0x0009: [[0x09]]]
    private let tree: String
    private var isFull = false

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        let values: [GATTCharacteristic] = [
            GATTCharacteristic(0xFFF1, properties: .read, value: .stored([1])),
            GATTCharacteristic(0xFFF2, properties: .read, value: .stored([UInt8](repeating: 2, count: 50))),
            GATTCharacteristic(0xFFF3, properties: [.read, .write], value: .stored([7])),
            GATTCharacteristic(0xFFF4, properties: [.read, .write], value: .stored([9]), valueLengths: 0...30),
        ]
        server = try ServerFixture([GATTService(0xFFF0, characteristics: values)])
        tree = ending(try expectedTree(of: server.database))
    }

    /// Performs a random event.
    mutating func step() throws {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: read(0x0003, "value 01")
        case 1: read(0x0005, "value " + String(repeating: "02", count: 50))
        case 2: read(0x0099, "refused 01")
        case 3: write(0x0007, longest: 100)
        case 4: write(0x0009, longest: 60)
        case 5: request(DatabaseDiscovery(), "discovery", [tree])
        case 6: command()
        case 7, 8: giveUp()
        case 9: isFull.toggle()
        case 10: _ = send()
        default: _ = try deliver()
        }
    }

    /// Sends one PDU, unless the channel is congested; returns whether there was one.
    @discardableResult
    mutating func send() -> Bool {
        if isFull, !bearer.engine.isClosed {
            _ = bearer.offer()
            isFull = false
            return true
        }
        guard let pdu = bearer.sendOne() else { return false }
        if pdu.hasPrefix("52") {
            sentCommands.append(pdu)
            return true
        }
        #expect(answers.isEmpty, "a request while another waits for its answer")
        answers.append(server.send(pdu))
        return true
    }

    /// Receives the server's PDUs; returns whether there were any.
    mutating func deliver() throws -> Bool {
        guard !answers.isEmpty else { return false }
        let lives = bearer.receive(answers.removeFirst())
        #expect(lives)
        return true
    }

    /// Checks every caller's result and the server's values.
    func checkEverythingEnded() throws {
        for caller in callers {
            let ending = caller.ending()
            if caller.hasGivenUp {
                #expect(ending == nil)
            } else if bearer.engine.isClosed {
                #expect((caller.expected + ["closed", "timed out"]).contains(ending ?? "nothing"), "\(caller.name)")
            } else {
                #expect(caller.expected.contains(ending ?? "nothing"), "\(caller.name): \(ending ?? "nothing")")
            }
        }
        // In order; abandoned ones may be missing.
        var rest = commands[...]
        for command in sentCommands {
            let position = try #require(rest.firstIndex(of: command))
            rest = rest[(position + 1)...]
        }
        // All parts of one write, never parts of two.
        for (handle, values) in written {
            let value = try #require(server.database.attribute(at: handle)?.storedValue)
            #expect(values.contains(value))
        }
    }

    private mutating func request(_ procedure: some ClientProcedure, _ name: String, _ expected: [String]) {
        let request = bearer.request(procedure, name)
        callers.append(
            Caller(name: name, expected: expected, giveUp: { request.isAbandoned = true }, ending: { request.ending }))
    }

    private mutating func read(_ handle: AttributeHandle, _ expected: String) {
        request(ValueRead(handle), "read \(handle)", [expected])
    }

    /// Writes a value that no other write has.
    private mutating func write(_ handle: AttributeHandle, longest: Int) {
        let count = Int.random(in: 2...longest, using: &generator)
        let value = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let fits = count <= server.database.attribute(at: handle)?.valueLengths.upperBound ?? 0
        if fits { written[handle, default: []].append(value) }
        request(
            ReliableWrite(value, to: handle), "write of \(count) bytes to \(handle)", [fits ? "done" : "refused 0D"])
    }

    private mutating func command() {
        let value = hexadecimal(commands.count, digits: 4)
        commands.append("520300" + value)
        let message = bearer.command(value)
        callers.append(
            Caller(
                name: "command \(value)", expected: ["sent"], giveUp: { message.isAbandoned = true },
                ending: { message.ending }))
    }

    private mutating func giveUp() {
        guard let index = callers.indices.randomElement(using: &generator), callers[index].ending() == nil else {
            return
        }
        callers[index].hasGivenUp = true
        callers[index].giveUp()
    }
}
