// The snippets of Docs/Guide/FirmwareUpdate.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/FirmwareUpdate.md
enum FirmwareUpdatePage {
    /// From a program
    static func fromAProgram(_ connection: Connection, _ firmware: [UInt8]) async throws {
        let updater = try await FirmwareUpdater(connection)
        let image = try FirmwareImage(firmware)
        try await updater.upload(image.bytes) { count in
            print("\(count) of \(firmware.count) bytes")
        }
        try await updater.test(image.hash)
        try await updater.reset()
    }

    /// Be the device
    static func beTheDevice(_ adapter: Adapter) async throws {
        let update = FirmwareUpdateService(storingIn: MemoryFirmwareStore(running: "1.0.0"))
        let content = AdvertisementContent(localName: "Updatable", services: [.firmwareUpdate])
        try await adapter.serve(content) {
            update.service
        } while: { published, incoming in
            try await update.run(published, incoming)
        }
    }
}
