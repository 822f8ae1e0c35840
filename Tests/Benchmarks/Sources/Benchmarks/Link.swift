import BluetoothGATT
import BluetoothLE
import BluetoothLinux
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// A handler that is set after its socket was created.
final class HandlerPlace: Sendable {
    // In a structure, since a bare function in a mutex is wrapped again at every access.
    private struct Content {
        var handler: LoopBound<SocketHandler>?
    }

    private let content = Mutex(Content())
    private let loop: EventLoop

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func set(_ handler: @escaping SocketHandler) {
        let handler = LoopBound(handler, on: loop)
        content.withLock { $0.handler = handler }
    }

    var forward: SocketHandler {
        { [self] event in content.withLock { $0 }.handler?.value(event) }
    }
}

extension EventLoop {
    /// Runs `body` on the loop.
    func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async rethrows -> Result {
        try await LoopRunner(loop: self).run(body)
    }
}

/// Runs code on the loop, like an actor that lives there.
actor LoopRunner: LoopActor {
    nonisolated let loop: EventLoop

    init(loop: EventLoop) {
        self.loop = loop
    }

    func run<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
        try body()
    }

    func measure(_ body: @Sendable (isolated LoopRunner) async throws -> Measurement) async rethrows -> Measurement {
        try await body(self)
    }
}

/// The two ends of a connected channel.
typealias SocketPair = (first: any L2CAPSocket, second: any L2CAPSocket)

/// Two connections over a pair of local sockets; the peer has a database.
struct Link {
    let client: Connection
    let peer: Connection

    static func make(on kernel: LinuxKernel, _ database: AttributeDatabase) async throws -> Link {
        let mtu: UInt16 = 247
        let (here, there) = (HandlerPlace(on: kernel.loop), HandlerPlace(on: kernel.loop))
        let sockets = try await kernel.loop.run {
            try kernel.unixPair(here.forward, there.forward)
        }
        let peer = try await Connection(
            benchmarking: {
                there.set($0); return sockets.second
            }, to: sockets.second.peer, on: kernel.loop,
            database: database, receiveMTU: mtu)
        let client = try await Connection(
            benchmarking: {
                here.set($0); return sockets.first
            }, to: sockets.first.peer, on: kernel.loop)
        try await client.exchangeMTU(offering: Int(mtu))
        return Link(client: client, peer: peer)
    }
}

/// The two ends of a connection-oriented channel over a pair of local sockets.
struct ChannelPair {
    let writer: ConnectionOrientedChannel
    let reader: ConnectionOrientedChannel

    /// Ends that accept SDUs of up to `mtu` bytes.
    static func make(on kernel: LinuxKernel, mtu: UInt16) async throws -> ChannelPair {
        let (here, there) = (HandlerPlace(on: kernel.loop), HandlerPlace(on: kernel.loop))
        let sockets = try await kernel.loop.run {
            try kernel.unixPair(
                options: L2CAPOptions(receiveMTU: mtu, sendMTU: mtu), here.forward, there.forward)
        }
        let writer = try await ConnectionOrientedChannel(
            benchmarking: {
                here.set($0); return sockets.first
            }, to: sockets.first.peer, psm: 0x0085, on: kernel.loop)
        let reader = try await ConnectionOrientedChannel(
            benchmarking: {
                there.set($0); return sockets.second
            }, to: sockets.second.peer, psm: 0x0085, on: kernel.loop)
        return ChannelPair(writer: writer, reader: reader)
    }
}

extension AttributeDatabase {
    /// Ten services of five characteristics, each with a configuration descriptor: 160 handles.
    static var benchmark: AttributeDatabase {
        get throws {
            try AttributeDatabase(
                (0..<10).map { service in
                    GATTService(
                        uuid(service, 0),
                        characteristics: (1...5).map { number in
                            GATTCharacteristic(
                                uuid(service, number), properties: [.read, .write, .writeWithoutResponse, .notify],
                                value: .stored([UInt8](repeating: 0x55, count: 20)))
                        })
                })
        }
    }

    private static func uuid(_ service: Int, _ number: Int) -> BluetoothUUID {
        BluetoothUUID(high: 0x6E40_0000_B5A3_F393 + UInt64(service) << 8 + UInt64(number), low: 0xE0A9_E50E_24DC_CA9E)
    }
}

/// The server's end of a link, which counts its PDUs and sends notifications as fast as the socket accepts them.
actor NotifyingServer: LoopActor {
    nonisolated let loop: EventLoop
    private let socket: any L2CAPSocket
    private var server = GATTServer(limits: GATTServer.Limits(receiveMTU: 247))
    private var database: AttributeDatabase
    private var writer = ByteWriter(capacity: 517)
    /// The number of PDUs received and sent.
    private(set) var packetCount = 0
    private var remaining = 0
    private var value: [UInt8] = []
    private var characteristic = AttributeHandle(0)

    private init(_ socket: any L2CAPSocket, on loop: EventLoop) throws {
        self.loop = loop
        self.socket = socket
        database = try .benchmark
    }

    /// A server and a connection to it over a pair of local sockets.
    static func make(on kernel: LinuxKernel) async throws -> (server: NotifyingServer, client: Connection) {
        try await make(on: kernel.loop) { try kernel.unixPair($0, $1) }
    }

    /// A server and a connection to it over the sockets that `connect` creates on the loop.
    static func make(
        on loop: EventLoop, _ connect: @Sendable (@escaping SocketHandler, @escaping SocketHandler) throws -> SocketPair
    ) async throws -> (server: NotifyingServer, client: Connection) {
        let (here, there) = (HandlerPlace(on: loop), HandlerPlace(on: loop))
        let sockets = try await loop.run { try connect(here.forward, there.forward) }
        let server = try NotifyingServer(sockets.second, on: loop)
        await loop.run { there.set { [weak server] event in server?.assumeIsolated { $0.handle(event) } } }
        let client = try await Connection(
            benchmarking: {
                here.set($0); return sockets.first
            }, to: sockets.first.peer, on: loop)
        try await client.exchangeMTU(offering: 247)
        return (server, client)
    }

    private func handle(_ event: SocketEvent) {
        switch event {
        case .readable:
            var answered = false
            _ = socket.receive { pdu in
                _ = server.receive(pdu, database: &database, into: &writer)
                answered = writer.count > 0
            }
            packetCount += 1
            guard answered else { return }
            packetCount += 1
            _ = socket.send(writer.span)
        case .writable: sendNotifications()
        case .closed: remaining = 0
        }
    }

    /// Sends `count` notifications; returns once the first are sent.
    func notify(_ characteristic: AttributeHandle, _ value: [UInt8], count: Int) {
        remaining = count
        self.characteristic = characteristic
        self.value = value
        sendNotifications()
    }

    private func sendNotifications() {
        while remaining > 0 {
            do {
                try server.encodeNotification(
                    of: characteristic, value: value.span.bytes, database: database, into: &writer)
            } catch {
                return
            }
            guard socket.send(writer.span) == .sent else { return socket.notifyWhenWritable() }
            remaining -= 1
        }
    }
}
