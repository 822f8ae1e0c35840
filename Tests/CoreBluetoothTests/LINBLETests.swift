import BluetoothLE
import CoreBluetooth
import CoreBluetoothTestSupport
import LINBLE
import LINBLESimulation
import Testing

@Suite struct LINBLETests {
    /// The bytes come back from the LINBLE's UART, or are counted, so that they can be compared.
    @Test(
        arguments: [(64, nil, nil), (64, nil, 4608), (1, nil, 4608), (64, 20, nil), (1, nil, nil)]
            as [(Int, Int?, Int?)])
    func aMebibyteArrives(credits: Int, chunkLength: Int?, sendBuffer: Int?) async throws {
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try await Fixture.run(writeCredits: credits, sendBuffer: sendBuffer) { fixture in
            let linble = SimulatedLINBLE(on: fixture.radio, .init(attached: .loopback, bufferCapacity: 1 << 21))
            let sender = ChunkSender(bytes, chunkLength: chunkLength, queue: fixture.queue)
            let finished = await sender.journal.wait(on: fixture.radio.loop, limit: .seconds(3000)) {
                $0.contains("all received")
            }
            #expect(finished != nil)
            #expect(linble.statistics.bytesFromHosts == 1 << 20)
            #expect(linble.statistics.bytesIgnoredOffline == 0)
            #expect(sender.received == bytes)
            #expect(sender.greatestDepth <= credits + 1)
            #expect(sender.pauses > 0)
        }
    }
}
