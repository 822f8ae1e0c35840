import BluetoothGATT
import BluetoothLE
import BluetoothLinux
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization
import Testing

/// Connections over connected channels of the kernel.
@Suite(.timeLimit(.minutes(1)))
struct ChannelTests {
    @Test func twoConnectionsOverAPairOfSocketsReadEachOther() async throws {
        let kernel = try LinuxKernel()
        let (here, there) = (HandlerPlace(on: kernel.loop), HandlerPlace(on: kernel.loop))
        let sockets = try await HandlerPlace.pair(on: kernel, here, there)
        let service = GATTService(
            0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([87]))])
        let database = try AttributeDatabase([service])
        let server = try await Connection(
            over: { there.set($0, sockets.second) }, to: sockets.second.peer, on: kernel.loop, database: database,
            receiveMTU: 100)
        let client = try await Connection(
            over: { here.set($0, sockets.first) }, to: sockets.first.peer, on: kernel.loop)

        try await client.exchangeMTU(offering: 247)
        #expect(await client.maximumTransmissionUnit == 100)
        #expect(await server.maximumTransmissionUnit == 100)
        let services = try await client.discover()
        let level = try #require(services.first?.characteristic(0x2A19))
        #expect(try await client.read(level) == [87])

        await client.disconnect()
        #expect(await server.disconnected().code == .disconnected)
        kernel.loop.stop()
    }

    @Test func aConnectionReportsWhyItGotNoChannel() async {
        let failure = KernelError("connect", .connectionRefused)
        await #expect(throws: failure) {
            _ = try await Connection(
                over: { _ throws(KernelError) in throw failure }, to: .zero, on: try LinuxKernel.shared.loop)
        }
    }
}

/// A handler that is set after its socket was created.
private final class HandlerPlace: Sendable {
    private let loop: EventLoop

    private struct Content {
        var handler: LoopBound<SocketHandler>?
    }

    private let content = Mutex(Content())

    init(on loop: EventLoop) { self.loop = loop }

    func set(_ handler: @escaping SocketHandler, _ socket: any L2CAPSocket) -> any L2CAPSocket {
        let handler = LoopBound(handler, on: loop)
        content.withLock { $0.handler = handler }
        return socket
    }

    static func pair(
        on kernel: LinuxKernel, _ first: HandlerPlace, _ second: HandlerPlace
    ) async throws -> (first: any L2CAPSocket, second: any L2CAPSocket) {
        try await withTaskExecutorPreference(kernel.loop) {
            try kernel.unixPair(
                { event in first.content.withLock { $0 }.handler?.value(event) },
                { event in second.content.withLock { $0 }.handler?.value(event) })
        }
    }
}
