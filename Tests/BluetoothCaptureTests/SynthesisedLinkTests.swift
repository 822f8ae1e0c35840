import BluetoothPrimitives
import BluetoothCapture
import TestSupport
import Testing

@Suite struct SynthesisedLinkTests {
    private let link = SynthesisedLink(
        handle: 0x0040, peer: BluetoothAddress(0xC098_E512_3456, kind: .random), role: .central)

    private func encoded(_ body: (inout ByteWriter) throws(BufferFull) -> Void) throws -> [UInt8] {
        var writer = ByteWriter(capacity: 65539)
        try body(&writer)
        return writer.bytes
    }

    // Core Vol 4 Part E §7.7.65.10, §7.7.5.
    @Test func itBeginsAndEndsWithTheEventsOfAConnection() {
        #expect(
            link.connectionComplete()
                == hex("3E 1F 0A 00 4000 00 01 563412E598C0 000000000000 000000000000 1800 0000 2A00 00"))
        #expect(link.disconnectionComplete(.remoteUserTerminatedConnection) == hex("05 04 00 4000 13"))
    }

    // Core Vol 4 Part E §5.4.2, Vol 3 Part A §3.1.
    @Test func aPDUTravelsInOnePacket() throws {
        let pdu = hex("0A1200")
        let sent = try encoded { writer throws(BufferFull) in
            try link.encode(pdu.span.bytes, channel: 4, isSent: true, into: &writer)
        }
        #expect(sent == hex("4000 0700 0300 0400 0A1200"))
        let received = try encoded { writer throws(BufferFull) in
            try link.encode(pdu.span.bytes, channel: 4, isSent: false, into: &writer)
        }
        #expect(received == hex("4020 0700 0300 0400 0A1200"))
    }

    @Test(arguments: [(65532, 100_000), (3, 10)])
    func overlongSDUsAreRefused(count: Int, capacity: Int) {
        let pdu = [UInt8](repeating: 0, count: count)
        var writer = ByteWriter(capacity: capacity)
        var isRefused = false
        do {
            try link.encode(pdu.span.bytes, channel: 4, isSent: true, into: &writer)
        } catch {
            isRefused = true
        }
        #expect(isRefused)
        #expect(writer.count == 0)
    }

    // Core Vol 3 Part A §4.22, §4.23.
    @Test func aChannelBeginsWithItsRequestAndResponse() throws {
        let request = try encoded { writer throws(BufferFull) in
            try link.encodeChannelRequest(
                psm: 0x0080, source: 0x0040, maximumTransmissionUnit: 512, isSent: true, into: &writer)
        }
        #expect(request == hex("4000 1200 0E00 0500 14 01 0A00 8000 4000 0002 E8FD FFFF"))
        let response = try encoded { writer throws(BufferFull) in
            try link.encodeChannelResponse(
                destination: 0x0041, maximumTransmissionUnit: 256, isSent: false, into: &writer)
        }
        #expect(response == hex("4020 1200 0E00 0500 15 01 0A00 4100 0001 E8FD FFFF 0000"))
    }

    // Core Vol 3 Part A §3.4.3.
    @Test(arguments: [(0, 1), (3, 1), (65000, 1), (65001, 2), (65535, 2)])
    func anSDUTravelsInFramesOfItsLength(count: Int, frameCount: Int) throws {
        let sdu = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var frames: [[UInt8]] = []
        try link.encodeFrames(of: sdu.span.bytes, channel: 0x41, isSent: true) { frames.append([UInt8]($0)) }
        #expect(frames.count == frameCount)
        let payload = frames.flatMap { $0.dropFirst(8) }
        #expect(payload.prefix(2) == [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)])
        #expect(Array(payload.dropFirst(2)) == sdu)
        for frame in frames {
            #expect(Int(frame[2]) | Int(frame[3]) << 8 == frame.count - 4)
            #expect(Int(frame[4]) | Int(frame[5]) << 8 == frame.count - 8)
        }
    }
}
