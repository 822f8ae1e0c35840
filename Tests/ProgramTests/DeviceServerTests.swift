import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Testing

@testable import BluetoothLE
@testable import ble

/// What `ble serve FILE` sends and accepts.
@Suite struct DeviceServerTests {
    private static let file = """
        {"name": "Twins", "services": [
            {"uuid": "FFF0", "handle": 32, "characteristics": [
                {"uuid": "FFF1", "handle": 34, "properties": ["notify", "indicate"], "notifications": [
                    {"hex": "01", "after": 0.1}, {"hex": "02", "after": 0.2}, {"hex": "03", "after": 0.3}]},
                {"uuid": "FFF2", "handle": 37, "properties": ["read", "write"], "hex": "AA"},
                {"uuid": "FFF2", "handle": 39, "properties": ["read", "write"], "hex": "BB"}]}]}
        """

    private func served(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws {
        try await withFolder { folder in
            #expect(await shell("printf '%s' '\(Self.file)' >\(folder)/device.json") == 0)
            let device = try ServedDevice("\(folder)/device.json")
            let console = Console(try CommonOptions.parse(["--json"]))
            let radio = SimulatedRadio()
            let (own, visitor) = (radio.makeKernel(), radio.makeKernel())
            try await radio.run(limit: .seconds(600)) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await DeviceServer(device, on: Adapter.open(on: own), console).run(once: false)
                    }
                    group.addTask {
                        let connection = try await Adapter.open(on: visitor).connect { $0.localName == "Twins" }
                        try await body(connection)
                        await connection.disconnect()
                    }
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    /// Core Vol 3 Part G §3.3.3.3 allows both bits.
    @Test func aClientThatAskedForBothReceivesEachValueOnce() async throws {
        try await served { connection in
            let database = try await connection.discover()
            let characteristic = try #require(database.characteristics("FFF1").first)
            let configuration = try #require(characteristic.descriptors.first { $0.uuid == "2902" })
            var received: [[UInt8]] = []
            let values = try await connection.subscribe(to: characteristic)
            try await connection.write([3, 0], to: configuration)
            for try await value in values {
                received.append(value)
                if received.count == 6 { break }
            }
            #expect(received == [[1], [2], [3], [1], [2], [3]])
        }
    }

    @Test func equalTypesAreServedEach() async throws {
        try await served { connection in
            let twins = try await connection.discover().characteristics("FFF2")
            #expect(twins.count == 2)
            var values: [[UInt8]] = []
            for twin in twins { values.append(try await connection.read(twin)) }
            #expect(values == [[0xAA], [0xBB]])
        }
    }

    /// Core Vol 3 Part F §3.4.6.3: a part beyond the end is refused with Invalid Offset.
    @Test func aPartBeyondTheEndIsRefused() throws {
        let target = DefinitionID()
        let characteristic = LocalCharacteristic("FFF2", properties: .write, value: [1, 2, 3])
        let values = ServedValues(of: [LocalService("FFF0", characteristics: [characteristic])])
        func write(_ value: [UInt8], at offset: Int, to target: DefinitionID) -> WriteRequest {
            WriteRequest(
                peer: BluetoothAddress(1, kind: .public), uuid: "FFF2", target: target, value: value, offset: offset,
                isCommand: false, security: LinkSecurity(level: .low, keySize: 0), isBonded: false)
        }
        #expect(throws: ATTErrorCode.invalidOffset) { try values.store(write([9], at: 4, to: characteristic.id)) }
        #expect(throws: ATTErrorCode.invalidOffset) { try values.store(write([9], at: 1, to: target)) }
        #expect(values[characteristic.id] == [1, 2, 3])
        try values.store(write([9], at: 3, to: characteristic.id))
        #expect(values[characteristic.id] == [1, 2, 3, 9])
        try values.store(write([7, 8], at: 1, to: characteristic.id))
        #expect(values[characteristic.id] == [1, 7, 8])
        try values.store(write([], at: 0, to: characteristic.id))
        #expect(values[characteristic.id] == [])
    }

    @Test func theVisitorReadsEachOfEqualTypes() async throws {
        try await withFolder { folder in
            #expect(await shell("printf '%s' '\(Self.file)' >\(folder)/device.json") == 0)
            let ended = try await run("ble", ["serve", "--simulate", "\(folder)/device.json", "--once", "--for", "60"])
            #expect(ended.status == 0, "\(ended.messages)")
            #expect(ended.messages.contains("reads FFF2: AA"), "\(ended.messages)")
            #expect(ended.messages.contains("reads FFF2: BB"), "\(ended.messages)")
        }
    }

    @Test func theKeyboardTypesLinesOfBothKinds() async throws {
        let ended = try await run("ble", ["serve", "keyboard", "--simulate", "--json"], input: "4006\r\n17\n")
        #expect(ended.status == 0, "\(ended.messages)")
        for text in ["4006", "17"] { #expect(ended.output.contains("\"text\":\"\(text)\""), "\(ended.output)") }
    }
}
