// The snippets of Docs/Guide/Central.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central.md
enum CentralPage {
    /// The snippets
    static func theSnippets() async throws {
        let adapter = try await Adapter.open(power: .powerOn)
        let connection = try await adapter.connect { $0.localName == "Pulse-Z1" }
        let address = connection.peer
        print(adapter.information.name, "is connected to", address)
    }

    /// Time limits, and the event loop
    static func timeLimitsAndTheEventLoop(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let name = try await withTimeLimit(.seconds(10)) {
            let connection = try await adapter.connect(to: address)
            return try await connection.read(.deviceName, in: .genericAccess)
        }
        print(String(decoding: name, as: UTF8.self))
    }

    /// Time limits, and the event loop
    static func timeLimitsAndTheEventLoop2(_ adapter: Adapter, _ connection: Connection) async throws {
        let sum = try await adapter.run {
            var sum = 0
            for _ in 0..<1000 { sum += try await connection.read(.batteryLevel, in: .battery).count }
            return sum
        }
        print(sum)
    }
}
