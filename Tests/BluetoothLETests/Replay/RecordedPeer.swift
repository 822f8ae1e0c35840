import BluetoothCapture
import BluetoothSimulation
import BluetoothSystem
import Glibc
import Synchronization
import Testing

/// An attribute PDU of a captured link whose client recorded it.
struct RecordedPDU: Equatable, CustomStringConvertible {
    var isFromClient: Bool
    var bytes: [UInt8]

    var description: String { "\(isFromClient ? "→" : "←") \(bytes.hexadecimal)" }

    /// The attribute PDUs of a capture with one link, in order.
    static func all(in path: String) throws -> [RecordedPDU] {
        let bytes = try #require(try SystemFiles.read(path, limit: 1 << 20), "\(path) is missing")
        var (reader, joiner, pdus) = (CaptureReader(), FrameJoiner(), [RecordedPDU]())
        reader.append(bytes)
        try reader.read { record in
            guard case .packet(let kind) = record.kind, kind == .aclSent || kind == .aclReceived else { return }
            let isSent = kind == .aclSent
            let outcomes = joiner.receive(record.payload, adapter: record.adapter, isSent: isSent).outcomes
            for case .frame(let frame) in outcomes where frame.channel == 4 {
                pdus.append(RecordedPDU(isFromClient: isSent, bytes: frame.payload))
            }
        }
        try reader.finish()
        return pdus
    }
}

/// The client or the server of a recorded dialogue, which sends its PDUs of it and expects the other side's, in order.
final class RecordedPeer: SimulatedLinkHandler {
    private struct State {
        var rest: ArraySlice<RecordedPDU>
        var problems: [String] = []
    }

    private let state: Mutex<State>
    private let isClient: Bool
    /// Sends the value of a notification or an indication, which no request causes.
    private let sendValue: @Sendable ([UInt8]) -> Void

    init(
        _ dialogue: [RecordedPDU], isClient: Bool, sendValue: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) {
        state = Mutex(State(rest: dialogue[...]))
        self.isClient = isClient
        self.sendValue = sendValue
    }

    /// The differences from the dialogue, and what is missing at its end.
    var problems: [String] {
        state.withLock { state in state.problems + state.rest.prefix(1).map { "The dialogue ended before \($0)" } }
    }

    /// Whether the dialogue is over.
    var hasEnded: Bool { state.withLock { $0.rest.isEmpty } }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let received = RecordedPDU(isFromClient: !isClient, bytes: [UInt8](packet))
        if isClient, received.bytes.first == 0x02 {
            // The client of the machine with the server begins with Exchange MTU: Request Not Supported.
            link.send([0x01, 0x02, 0x00, 0x00, 0x06])
        } else {
            state.withLock { state in
                let expected = state.rest.popFirst()
                guard expected != received else { return }
                state.problems.append("\(received) in place of \(expected.map(\.description) ?? "nothing")")
            }
        }
        play(on: link)
    }

    /// Sends what follows from this side.
    private func play(on link: SimulatedLink) {
        while let next = state.withLock({ $0.rest.first }), next.isFromClient == isClient {
            state.withLock { $0.rest = $0.rest.dropFirst() }
            link.send(next.bytes)
        }
        guard isClient, let next = state.withLock({ $0.rest.first?.bytes }) else { return }
        if next[0] == 0x1B || next[0] == 0x1D { sendValue(next) }
    }
}

/// A server of another stack at the other end of a socket, whose answers to a PDU end with a null byte.
final class RemoteServer: SimulatedLinkHandler {
    private let socket: Int32

    init(socket: Int32) { self.socket = socket }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        _ = packet.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
        var buffer = [UInt8](repeating: 0, count: 1024)
        while case let count = read(socket, &buffer, buffer.count), count > 0, buffer[0] != 0 {
            link.send(Array(buffer[..<count]))
        }
    }
}
