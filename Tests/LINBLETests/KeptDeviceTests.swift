import BluetoothLE
import BluetoothSimulation
import LINBLESimulation
import Synchronization
import TestSupport
import Testing

@testable import LINBLE

/// A UART that outlives links, with a device that refuses, sends on its own, or comes back as another one.
@Suite(.timeLimit(.minutes(2))) struct KeptDeviceTests {
    /// A device that sends words that count, one chunk each 10 ms while a link is up.
    private struct CountingDevice: AttachedDevice {
        static let interval = Duration.milliseconds(10)
        var next: UInt32 = 0
        var isStarted = false

        mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
            defer { isStarted = true }
            return isStarted ? [] : [.setTimer(Self.interval)]
        }

        mutating func timerExpired() -> [AttachedDeviceAction] {
            let words = (next..<next + 20).flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            }
            next += 20
            return [.send(words), .setTimer(Self.interval)]
        }

        mutating func disconnected() -> [AttachedDeviceAction] {
            isStarted = false
            return [.setTimer(nil)]
        }
    }

    @Test(arguments: [1, 3, 10, 37])
    func whatADeviceSendsOnItsOwnKeepsItsOrderOverLinks(_ tenths: Int) async throws {
        try await KeptFixture.run(.init(attached: CountingDevice())) { fixture in
            let kept = fixture.keep()
            async let received = {
                var bytes: [UInt8] = []
                while let more = try await kept.read() { bytes += more }
                return bytes
            }()
            for _ in 1...5 {
                try await fixture.settle(kept)
                try await kept.send([1])
                try await fixture.radio.sleep(for: .milliseconds(100 * tenths + 7))
                fixture.linble.peripheral.breakLinks()
                try await fixture.settle(kept, isOnline: false)
            }
            await kept.disconnect()
            let bytes = try await received
            // Each word is whole, and follows an earlier one; none is doubled or invented.
            let words = CountingWords.words(bytes)
            #expect(words.count * 4 == bytes.count && words.count >= 5 * 20)
            #expect(zip(words, words.dropFirst()).allSatisfy { $0 < $1 })
            let device = try #require(fixture.linble.attached as? CountingDevice)
            #expect(words.allSatisfy { $0 < Int(device.next) })
            // All that the machine has received is delivered.
            #expect(bytes.count == fixture.faults.notifiedByteCount)
            #expect(await kept.statistics.receivedByteCount == bytes.count)
        }
    }

    @Test func aDeviceComesBackWithAnotherProfile() async throws {
        try await KeptFixture.run(.init(attached: RecordingDevice())) { fixture in
            let kept = fixture.keep(uart: UARTOptions(profiles: UARTProfile.known))
            try await kept.send([1, 2])
            #expect(try await kept.read(2) == [1, 2])
            try await kept.flush()
            fixture.linble.peripheral.remove()
            try await fixture.settle(kept, isOnline: false)
            let other = SimulatedLINBLE(on: fixture.radio, .init(profile: .nordic, attached: RecordingDevice()))
            try await kept.send([3, 4])
            #expect(try await kept.read(2) == [3, 4])
            try await kept.flush()
            #expect(await kept.connection?.profile == .nordic)
            #expect((other.attached as? RecordingDevice)?.bytes == [3, 4])
            await kept.disconnect()
        }
    }

    /// The same address, so that a stored database would be used.
    @Test(arguments: [23, 100, 517])
    func aDeviceComesBackWithAnotherDatabaseAndATTMTU(_ mtu: Int) async throws {
        let address = try #require(BluetoothAddress("C0:98:E5:12:34:56", kind: .random))
        try await KeptFixture.run(.init(address: address, attached: RecordingDevice())) { fixture in
            let bytes = CountingWords.bytes(2000)
            let kept = fixture.keep(.address(address), uart: UARTOptions(profiles: UARTProfile.known))
            try await kept.send(bytes)
            #expect(try await kept.read(bytes.count) == bytes)
            try await kept.flush()
            fixture.linble.peripheral.remove()
            try await fixture.settle(kept, isOnline: false)
            let other = SimulatedLINBLE(
                on: fixture.radio,
                .init(address: address, profile: .nordic, attached: RecordingDevice(), receiveMTU: mtu))
            try await kept.send(bytes)
            #expect(try await kept.read(bytes.count) == bytes)
            try await kept.flush()
            #expect(await kept.connection?.maximumChunkLength == min(2 * 251 - 7, mtu - 3))
            #expect((other.attached as? RecordingDevice)?.bytes == bytes)
            #expect(await kept.statistics.unconfirmedByteCount == 0)
            await kept.disconnect()
        }
    }

    /// The bytes of the refused chunk and those after it are not lost from sight: they count as buffered.
    @Test(arguments: [ATTErrorCode.insufficientResources, .writeRequestRejected])
    func aRefusedWriteEndsItAndCountsWhatTheDeviceHasTaken(_ refusal: ATTErrorCode) async throws {
        try await KeptFixture.run { fixture in
            var profile = UARTProfile.linble
            profile.writeType = .request
            let server = try SimulatedGATTServer([profile.offeredService()])
            let taken = Mutex<[UInt8]>([])
            server.onWrite { writes, _ in
                taken.withLock { taken in
                    let bytes = writes.flatMap(\.value)
                    guard taken.count + bytes.count <= 600 else { return .refuse(refusal) }
                    taken += bytes
                    return .accept
                }
            }
            let peripheral = SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [try SimulatedAdvertisement(fields: [.localName("Refusing")])], gatt: server)
            let kept = fixture.keep(.name("Refusing"), uart: UARTOptions(profiles: [profile]))
            var events = KeptEvents(await kept.events())
            let bytes = CountingWords.bytes(4000)
            try await kept.send(bytes)
            let error = await failure { try await kept.flush() }
            #expect(error?.code == .attributeProtocol)
            #expect(error?.cause == .attribute(refusal))
            #expect(await failureCode { try await kept.send([1]) } == .attributeProtocol)
            // A write behind too many calls is none of this.
            #expect(!KeptDriver.isFinal(BluetoothError(.overflow, .init("send"), "Many wait.", isRetryable: true)))
            #expect(await failureCode { _ = try await kept.read() } == .attributeProtocol)
            #expect(try await events.next() == "connecting 1")
            #expect(try await events.next() == "online")
            #expect(try await events.next() == "offline attributeProtocol 0")
            #expect(await failureCode { _ = try await events.next() } == .attributeProtocol)
            let accepted = taken.withLock { $0 }
            #expect(accepted == Array(bytes.prefix(accepted.count)) && !accepted.isEmpty)
            let statistics = await kept.statistics
            #expect(statistics.confirmedByteCount == accepted.count && statistics.unconfirmedByteCount == 0)
            #expect(statistics.bufferedByteCount == bytes.count - accepted.count)
            try await fixture.radio.settle { fixture.kernel.links(adapter: 0).isEmpty }
            peripheral.remove()
        }
    }
}
