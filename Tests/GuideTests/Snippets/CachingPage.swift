// The snippets of Docs/Guide/Central/Caching.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Caching.md
enum CachingPage {
    /// Known devices
    static func knownDevices(_ connection: Connection) async throws {
        let services = try await connection.discover()
        print(services.service(.battery)?.characteristics.map(\.uuid) ?? [])
    }

    /// Storage
    static func storage(_ adapter: Adapter) async throws {
        await adapter.setAttributeCache(try .files())                        // ~/.cache/swift-bluetooth-le/attributes
        await adapter.setAttributeCache(try .files(in: "/var/lib/sensors"))
        await adapter.setAttributeCache(nil)                                 // nothing
    }

    /// When the device changes
    static func whenTheDeviceChanges(_ connection: Connection) async throws {
        for try await handles in await connection.serviceChanges() {
            print("changed:", handles)
            let services = try await connection.discover()
            print(services.count, "services now")
        }
    }
}
