// The snippets of Docs/Guide/Central/Channels.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Channels.md
enum ChannelsPage {
    /// Opening one
    static func openingOne(_ connection: Connection) async throws {
        let channel = try await connection.openChannel(psm: 0x0085)
        try await channel.write(Array("hello".utf8))
        if let answer = try await channel.read() { print(answer.count, "bytes") }
        await channel.close()
    }

    /// Opening one
    static func openingOne2(_ adapter: Adapter, _ connection: Connection) async throws {
        let channel = try await adapter.openChannel(to: connection.peer, psm: 0x0085)
        for try await piece in channel { print(piece.count, "bytes") }
    }

    /// Writing
    static func writing(_ adapter: Adapter, _ connection: Connection) async throws {
        let channel = try await connection.openChannel(psm: 0x0085)
        let image = [UInt8](repeating: 0xA5, count: 1 << 20)
        try await adapter.run {
            try await channel.write(image, timeout: .seconds(120))
            try await channel.flush()
        }
        await channel.close()
    }

    /// Offering a service
    static func offeringAService(_ adapter: Adapter) async throws {
        @Sendable func serve(_ channel: ConnectionOrientedChannel) async {
            do {
                while let piece = try await channel.read() { try await channel.write(piece) }
            } catch {
                print(channel.peer, error)
            }
        }
        let listener = try await adapter.listen(psm: 0x0085, backlog: 4)
        try await adapter.run {
            try await withThrowingDiscardingTaskGroup { group in
                for try await channel in listener {
                    group.addTask { await serve(channel) }
                }
            }
        }
    }

    /// Attributes over more bearers
    static func attributesOverMoreBearers(_ connection: Connection) async throws {
        let count = try await connection.openEnhancedBearers(count: 3)
        print("\(count) more, \(await connection.bearerCount) in all")
    }
}
