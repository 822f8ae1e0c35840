import BluetoothLE
import BluetoothSockets
import Testing

extension Conformance {
    /// Programs that close a channel as soon as they have written: Docs/Guide/Central/Channels.md.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct ClosedChannelStories {
        /// Around every multiple of the credits of the simulated kernel, which suffice for five SDUs of 2048 bytes and
        /// a part of the next; a real kernel grants others.
        private static let sizes: [Int] = {
            let multiples = [1, 2, 3, 4].map { $0 * 10_240 }
            return [1, 2047, 2048, 2049] + multiples.flatMap { [$0 - 1, $0, $0 + 1, $0 + 2049] }
                + [50_000, 100_000, 200_000]
        }()

        private static func open(_ fixture: Fixture, _ adapter: KernelAdapter) async throws -> Adapter {
            try await Adapter.open(
                .address(adapter.address), configuration: .init(bonds: .store(MemoryBondStore())), on: fixture.kernel)
        }

        private static func everything(from channel: ConnectionOrientedChannel) async throws -> [UInt8] {
            var all: [UInt8] = []
            for try await sdu in channel { all += sdu }
            return all
        }

        @Test(arguments: [true, false]) func whatWasWrittenArrivesBeforeTheEnd(_ isFlushed: Bool) async throws {
            try await Fixture.run { fixture in
                let (central, server) = (
                    try await Self.open(fixture, fixture.central), try await Self.open(fixture, fixture.peripheral)
                )
                let listener = try await server.listen(psm: 0x0085)
                let advertising = try await server.advertise(AdvertisementContent(localName: "channel"))
                // It keeps the link.
                let connection = try await central.connect(
                    to: fixture.peripheral.address, trying: SecurityOptions())
                var accepted = listener.makeAsyncIterator()
                for size in Self.sizes {
                    let channel = try await connection.openChannel(psm: 0x0085)
                    let other = try #require(try await accepted.next())
                    async let received = Self.everything(from: other)
                    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
                    try await channel.write(bytes)
                    if isFlushed { try await channel.flush() }
                    await channel.close()
                    let arrived = try await received
                    #expect(arrived.count == size)
                    #expect(arrived == Array(bytes.prefix(arrived.count)))
                }
                await connection.disconnect()
                await central.close()
                await server.close()
                withExtendedLifetime(advertising) {}
            }
        }
    }
}
