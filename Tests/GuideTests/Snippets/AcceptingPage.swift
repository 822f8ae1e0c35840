// The snippets of Docs/Guide/Peripheral/Accepting.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Peripheral/Accepting.md
enum AcceptingPage {
    /// A loop
    static func aLoop(_ adapter: Adapter) async throws {
        let incoming = try await adapter.incomingConnections()
        try await adapter.withAdvertising(AdvertisementContent(localName: "Thermometer")) { _ in
            for try await connection in incoming {
                print(connection.peer, "is here; this side is the", connection.role)
            }
        }
    }

    /// A device
    static func aDevice(_ adapter: Adapter) async throws {
        for try await connection in try await adapter.incomingConnections() {
            let services = try await connection.discover()
            if let name = services.characteristic(.deviceName, in: .genericAccess) {
                print(try await connection.read(name))
            }
            print(try await connection.rssi(), "dBm")
            break
        }
    }

    /// A device
    static func aDevice2(_ adapter: Adapter) async throws {
        for try await connection in try await adapter.incomingConnections() {
            await connection.disconnect()
            print("ended:", await connection.disconnected().disconnectReason as Any)
            break
        }
    }

    /// Several requests at a time
    static func severalRequestsAtATime(_ adapter: Adapter) async throws {
        let incoming = try await adapter.incomingConnections(IncomingConnectionOptions(enhancedBearers: 3))
        for try await connection in incoming {
            print(connection.peer, "has", await connection.bearerCount, "bearers")
            break
        }
    }
}
