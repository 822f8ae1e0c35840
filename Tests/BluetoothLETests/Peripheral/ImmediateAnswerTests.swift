import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Handlers run where their request arrives, until they suspend.
@Suite struct ImmediateAnswerTests {
    /// Passes a read of a value with a handler to the link, as its channel does.
    private static func read(
        on link: Link, _ handler: @escaping @Sendable (ReadRequest) async throws -> [UInt8]
    ) throws {
        let level = LocalCharacteristic(0x2A19, properties: .read).onRead(handler)
        let service = LocalService(0x180F) { level }
        let description = GATTService(0x180F) { GATTCharacteristic(0x2A19, properties: .read) }
        let publication = try link.localServer.append([description]) { layout in
            Publication([service], at: layout, authorizing: nil, events: nil, on: link.loop)
        }
        let start = try #require(publication?.handles.start.rawValue)
        // The declarations of the service and the characteristic precede the value.
        let request = [0x0A, UInt8(truncatingIfNeeded: start + 2), UInt8(truncatingIfNeeded: (start + 2) >> 8)]
        link.receive(request.span.bytes)
    }

    @Test func anAnswerWithoutAWaitIsSentBeforeTheNextPacketArrives() async throws {
        try await withConnection(Exchange("0B07")) { connection, socket in
            let count = try await connection.core { (link) throws in
                try Self.read(on: link) { _ in [7] }
                return socket.sent.count
            }
            #expect(count == 1)
        }
    }

    @Test func anAnswerThatIsAwaitedFollows() async throws {
        try await withConnection(Exchange("0B08")) { connection, socket in
            let count = try await connection.core { (link) throws in
                try Self.read(on: link) { _ in
                    await Task.yield()
                    return [8]
                }
                return socket.sent.count
            }
            #expect(count == 0)
            await connection.settle { socket.sent.count == 1 }
        }
    }

    @Test func aHandlerThatEndsTheLinkIsCancelled() async throws {
        try await withConnection { connection, _ in
            let isCancelled = Mutex<Bool?>(nil)
            try await connection.core { (link) throws in
                let bound = LoopBound(WeakReference(to: link), on: link.loop)
                try Self.read(on: link) { _ in
                    bound.value.object?.finish(BluetoothError(.disconnected, .init("end the test"), "The link ended."))
                    await Task.yield()
                    isCancelled.withLock { $0 = Task.isCancelled }
                    return []
                }
            }
            await connection.settle { isCancelled.withLock { $0 } != nil }
            #expect(isCancelled.withLock { $0 } == true)
        }
    }
}
