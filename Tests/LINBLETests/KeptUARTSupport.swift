import BluetoothLE
import LINBLE

extension KeptUART {
    /// Reads until there are `count` bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = try await read(timeout: .seconds(60)) { bytes += more }
        return bytes
    }
}

/// The events of a UART, as words.
struct KeptEvents {
    private var events: BoundedStream<KeptUART.Event>.Iterator

    init(_ events: BoundedStream<KeptUART.Event>) {
        self.events = events.makeAsyncIterator()
    }

    private func words(_ event: KeptUART.Event) -> String {
        switch event {
        case .connecting(let attempt): "connecting \(attempt)"
        case .online: "online"
        case .offline(let reason, let count): "offline \(reason.code) \(count)"
        case .failed(let reason, let delay): "failed \(reason.code) \(delay)"
        case .waitingForAdapter(let reason): "waiting \(reason.code)"
        }
    }

    /// The next event.
    mutating func next() async throws -> String? { try await events.next().map(words) }

    /// The events until the end.
    func rest() async throws -> [String] {
        var (all, events) = ([String](), events)
        while let event = try await events.next() { all.append(words(event)) }
        return all
    }
}
