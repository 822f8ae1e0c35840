// The snippets of Docs/Guide/Central/LocalServer.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/LocalServer.md
enum LocalServerPage {
    /// Serving attributes as a central
    static func servingAttributesAsACentral(_ adapter: Adapter) async throws {
        let currentTime = LocalCharacteristic(.currentTimeCharacteristic, properties: [.read, .notify]).onRead { request in
            print(request.peer, "reads", request.uuid)
            return [0xE8, 0x07, 1, 1, 12, 0, 0, 1, 0, 0]
        }
        let published = try await adapter.publish { LocalService(.currentTimeService) { currentTime } }
        print("at", published.handles)
    }

    /// Sending values
    static func sendingValues(_ adapter: Adapter, _ connection: Connection) async throws {
        let sample = LocalCharacteristic("FFF1", properties: .notify, value: [0])
        let published = try await adapter.publish { LocalService("FFF0") { sample } }
        for try await subscription in await connection.peerSubscriptions()
        where subscription.characteristic == published[sample].handle && subscription.configuration.contains(.notification) {
            try await published[sample].notify([1, 2, 3], to: connection)
        }
    }
}
