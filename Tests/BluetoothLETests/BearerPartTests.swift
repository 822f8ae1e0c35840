import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging
import TestSupport
import Testing

@testable import BluetoothLE

/// The parts of a bearer in isolation.
@Suite struct BearerPartTests {
    private static let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)

    // MARK: The peer's values

    private func receive(_ text: String, _ server: inout PeerServer) throws -> AttributeHandleRange? {
        let bytes = hex(text)
        let pdu = try ATTServerPDU(decoding: bytes.span.bytes)
        guard let range = server.receive(pdu, BearerRecord(of: Self.peer, in: Logger(label: "test"))) else {
            return nil
        }
        server.deliverServiceChange(pdu)
        return range
    }

    @Test func valuesReachTheirSubscribers() throws {
        let seen = ValueRecord()
        var server = PeerServer()
        server.subscribers.events = seen.events
        #expect(try receive("1B 0300 01", &server) == nil)
        #expect(try receive("1D 0300 02", &server) == nil)
        #expect(try receive("23 0300 0100 03 0500 0100 04", &server) == nil)
        #expect(seen.values == ["3: 01", "3: 02", "3: 03", "5: 04"])
    }

    @Test func serviceChangedIsReportedAndReachesOnlyItsSubscribers() throws {
        let seen = ValueRecord()
        var server = PeerServer()
        server.subscribers.events = seen.events
        server.serviceChanged.handle = 0x0003
        let range = AttributeHandleRange(start: 0x0010, end: 0x0020)
        #expect(try receive("1D 0300 1000 2000", &server) == range)
        #expect(try receive("1D 0300 01", &server) == .all)
        #expect(seen.values == [])
        // A notification does not report a change of services.
        #expect(try receive("1B 0300 1000 2000", &server) == nil)
        #expect(seen.values.count == 1)
    }
}

/// The values reported by a link's events.
private final class ValueRecord: LinkEventReceiver {
    let events = LinkEvents()
    private(set) var values: [String] = []

    init() {
        events.receiver = self
    }

    func receive(_ event: LinkEvent) {
        guard case .value(let value, let handle) = event else { return }
        values.append("\(handle.rawValue): \(value.hexadecimal)")
    }
}
