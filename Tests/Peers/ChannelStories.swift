import BluetoothLE
import BluetoothLinux
import BluetoothSockets
import Synchronization
import TestSupport
import Testing

extension Peers {
    /// Connection-oriented channels and enhanced bearers, against the device "channel".
    @Suite struct Channels {
        private static let echo: UInt16 = 0x80
        private static let closing: UInt16 = 0x81
        private static let flooding: UInt16 = 0x82

        private static func pattern(_ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) }
        }

        @Test(arguments: [L2CAPFlowControl.leCreditBased, .enhancedCreditBased])
        func whatIsWrittenComesBack(flowControl: L2CAPFlowControl) async throws {
            try await Fixture.run { fixture in
                let options = ChannelOptions(
                    timeout: .seconds(60), maximumTransmissionUnit: 400, flowControl: flowControl)
                let channel = try await fixture.adapter.openChannel(
                    to: try fixture["channel"], psm: Self.echo, options: options)
                #expect(await channel.maximumTransmissionUnit == 400)
                #expect(await channel.peerMaximumTransmissionUnit == 500)
                let bytes = Self.pattern(20_000)
                let writer = Task { try await channel.write(bytes) }
                var received: [UInt8] = []
                while received.count < bytes.count {
                    let sdu = try #require(try await channel.read(timeout: .seconds(60)))
                    #expect(sdu.count <= 400)
                    received += sdu
                }
                #expect(received == bytes)
                try await writer.value
                await channel.close()
            }
        }

        @Test func aChannelOpensBesideTheAttributes() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "channel")
                let channel = try await connection.openChannel(psm: Self.echo)
                let other = try await connection.openChannel(psm: Self.echo)
                try await channel.send([1, 2, 3])
                try await other.send([4])
                let first = try await channel.read(timeout: .seconds(30))
                let second = try await other.read(timeout: .seconds(30))
                #expect(first == [1, 2, 3])
                #expect(second == [4])
                await connection.disconnect()
                // The link lasts as long as its last channel.
                try await Task.sleep(for: .seconds(4))
                try await channel.send([5])
                #expect(try await channel.read(timeout: .seconds(30)) == [5])
                await channel.close()
                await other.close()
            }
        }

        @Test func aReaderThatSleepsHoldsBackThePeer() async throws {
            try await Fixture.run { fixture in
                let channel = try await fixture.adapter.openChannel(
                    to: try fixture["channel"], psm: Self.flooding, options: ChannelOptions(timeout: .seconds(60)))
                // 200 000 bytes, more than the kernel's buffer takes of such SDUs.
                try await channel.send([0x40, 0x0D, 0x03, 0x00])
                try await Task.sleep(for: .seconds(5))
                var count = 0
                while count < 200_000 {
                    let sdu = try #require(try await channel.read(timeout: .seconds(60)))
                    #expect(sdu == (count..<count + sdu.count).map { UInt8(truncatingIfNeeded: $0) })
                    count += sdu.count
                }
                #expect(count == 200_000)
                await channel.close()
            }
        }

        @Test func thePeersCloseIsTheEnd() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "channel")
                let channel = try await connection.openChannel(psm: Self.closing)
                try await channel.write(Self.pattern(1000))
                #expect(try await channel.read(timeout: .seconds(30)) == nil)
                #expect(await connection.isConnected)
                #expect(await failure { try await channel.write([1]) }?.code == .disconnected)
                await connection.disconnect()
            }
        }

        @Test func aMissingServiceIsRefused() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "channel")
                for flowControl in [L2CAPFlowControl.leCreditBased, .enhancedCreditBased] {
                    let error = await failure {
                        _ = try await connection.openChannel(
                            psm: 0x99, options: ChannelOptions(flowControl: flowControl))
                    }
                    #expect(error?.code == .connectionFailed)
                }
                await connection.disconnect()
            }
        }

        @Test func attributesGoOverEnhancedBearers() async throws {
            try await Fixture.run { fixture in
                let user = try await PairingUser()
                let connection = try await fixture.connect(to: "channel")
                #expect(try await connection.openEnhancedBearers(count: 3, timeout: .seconds(60)) == 3)
                #expect(await connection.bearerCount == 4)
                let value = try await connection.find(0xFFF1)
                try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for _ in 0..<16 { group.addTask { try await connection.read(value, timeout: .seconds(60)) } }
                    for try await bytes in group { #expect(bytes == Array(0..<100)) }
                }
                await connection.disconnect()
                await user.close()
            }
        }
    }
}

/// A user who confirms every pairing, through the kernel's management interface.
private final class PairingUser: Sendable {
    private let socket = Mutex<(any PacketSocket)?>(nil)

    init() async throws {
        let kernel = try LinuxKernel.shared
        try await withTaskExecutorPreference(kernel.loop) {
            let opened = try kernel.openManagement { [weak self] event in
                if event == .readable { self?.receive() }
            }
            socket.withLock { $0 = opened }
        }
    }

    private func receive() {
        let socket = socket.withLock { $0 }
        var answer: [UInt8]?
        _ = socket?.receive { packet in
            let bytes = [UInt8](packet)
            // User Confirmation Request, answered by User Confirmation Reply for the same adapter and device.
            guard bytes.count >= 13, bytes[0] == 0x0F, bytes[1] == 0 else { return }
            answer = [0x1C, 0x00, bytes[2], bytes[3], 7, 0] + bytes[6..<13]
        }
        if let answer { _ = socket?.send(answer.span.bytes) }
    }

    func close() async {
        let opened = socket.withLock { socket in
            defer { socket = nil }
            return socket
        }
        guard let kernel = try? LinuxKernel.shared else { return }
        await withTaskExecutorPreference(kernel.loop) { opened?.close() }
    }
}
