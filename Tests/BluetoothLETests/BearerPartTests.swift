import BluetoothPrimitives
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// What the receiver of a link's events gets of its bearer.
@Suite struct BearerPartTests {
    @Test func valuesReachTheReceiver() async throws {
        try await withConnection(Exchange("1E")) { connection, socket in
            let seen = EventRecord()
            await connection.core { $0.sendEvents(to: seen) }
            for packet in ["1B 0300 01", "1D 0300 02", "23 0300 0100 03 0500 0100 04"] { socket.deliver(packet) }
            await connection.settle { seen.events.count == 4 }
            #expect(seen.events == ["3: 01", "3: 02", "3: 03", "5: 04"])
        }
    }

    @Test func serviceChangedIsReportedAndReachesOnlyItsSubscribers() async throws {
        try await withConnection(Exchange("1E"), Exchange("1E")) { connection, socket in
            let seen = EventRecord()
            await connection.core {
                $0.sendEvents(to: seen)
                $0.mainBearer?.peerServer.serviceChanged.handle = 0x0003
            }
            // A notification does not report a change of services.
            for packet in ["1D 0300 1000 2000", "1D 0300 01", "1B 0300 02"] { socket.deliver(packet) }
            await connection.settle { seen.events.count == 3 }
            let range = AttributeHandleRange(start: 0x0010, end: 0x0020)
            #expect(seen.events == ["changed \(range)", "changed \(AttributeHandleRange.all)", "3: 02"])
        }
    }

    @Test func theReceiverMaySendACommandThatFollowsTheRequest() async throws {
        try await withConnection(Exchange("0A 0900", "0B 02"), Exchange("52 0300 01")) { connection, _ in
            let seen = EventRecord(commanding: connection)
            await connection.core { $0.sendEvents(to: seen) }
            await connection.perform(.read(AttributeHandle(9)), as: 1)
            #expect(seen.events == ["began", "answered 02"])
        }
    }
}

/// A record of a link's events.
private final class EventRecord: LinkEventReceiver, Sendable {
    private let record = Mutex<[String]>([])
    /// The connection on which a command follows each request.
    private let connection: Connection?

    init(commanding connection: Connection? = nil) { self.connection = connection }

    var events: [String] { record.withLock { $0 } }

    func receive(_ event: LinkEvent) {
        let text =
            switch event {
            case .value(let value, let handle): "\(handle.rawValue): \(value.hexadecimal)"
            case .servicesChanged(let range): "changed \(range)"
            case .began: "began"
            case .answered(_, let value): "answered \(value.hexadecimal)"
            case .failed(_, let error): "failed \(error)"
            }
        record.withLock { $0.append(text) }
        if case .began = event { _ = connection?.core.value.mainBearer?.sendAtOnce([1], to: 3) }
    }
}
