// The snippets of Docs/Guide/ComingFrom.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/ComingFrom.md
enum ComingFromPage {
    /// Bleak (Python)
    static func bleakPython(_ adapter: Adapter) async throws {
        let found = try await adapter.firstAdvertisement(timeout: .seconds(10)) { $0.localName == "Pulse-Z1" }
        let connection = try await adapter.connect(to: found)
        let services = try await connection.discover()
        print("ATT_MTU", await connection.maximumTransmissionUnit)
        if let level = services.characteristic(.batteryLevel, in: .battery) {
            print("battery", try await connection.read(level))
        }
        if let control = services.characteristic(0xFFE1, in: 0xFFE0) {
            try await connection.writeCommand([1], to: control)
        }
        if let rate = services.characteristic(.heartRateMeasurement, in: .heartRate) {
            for try await value in try await connection.subscribe(to: rate) {
                print("rate", value)
                break
            }
        }
        await connection.disconnect()
    }

    /// Core Bluetooth
    static func coreBluetooth(_ adapter: Adapter) async throws {
        let level = LocalCharacteristic(.batteryLevel) { 97 }
        let published = try await adapter.publish { LocalService(.battery) { level } }
        let advertising = try await adapter.advertise(AdvertisementContent(localName: "Battery", services: [.battery]))
        for try await connection in try await adapter.incomingConnections() {
            print(connection.peer, "connected")
            for try await subscription in await connection.peerSubscriptions() where !subscription.configuration.isEmpty {
                try await published.notify(96, of: .batteryLevel)
                break
            }
            _ = await connection.disconnected()
            break
        }
        await advertising.close()
    }
}
