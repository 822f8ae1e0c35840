import BluetoothLE
import LINBLE

/// A typed client of the sample protocol: one command at a time with its response, and the events in between.
///
/// Several tasks may call it; their commands are queued. While a client is in use, no other code may read from its UART.
public actor SampleCommandClient {
    /// The direction of a packet.
    public enum Direction: Hashable, Sendable {
        /// To the device.
        case sent
        /// From the device.
        case received
    }

    /// The UART.
    public nonisolated let uart: UARTConnection
    /// The time limit for a response, or for the next sample.
    public nonisolated let timeout: Duration
    /// The number of unexpected responses, such as late ones.
    public private(set) var unexpectedResponses = 0
    /// The number of invalid packets.
    public private(set) var discardedPackets = 0
    /// The number of samples dropped because no consumer read them.
    public private(set) var missedSamples = 0

    private let trace: (@Sendable (Direction, [UInt8]) -> Void)?
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var receiver = SampleReceiver<SampleResponse>()
    /// Events received while a response was awaited. A device samples a few times per second, for a minute at most.
    private var events: [SampleResponse] = []
    private static let eventCapacity = 1024

    /// A client on a UART that is online.
    /// - Parameters:
    ///   - uart: the UART.
    ///   - timeout: the time limit for a response.
    ///   - trace: receives every packet with its length byte, on any thread.
    public init(
        _ uart: UARTConnection, timeout: Duration = .seconds(5),
        trace: (@Sendable (Direction, [UInt8]) -> Void)? = nil
    ) {
        self.uart = uart
        self.timeout = timeout
        self.trace = trace
    }

    /// The executor of the UART.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { uart.unownedExecutor }

    // MARK: Commands
    // All throw `timedOut` without a response in time, `invalidArgument` for values that the protocol does not permit, and
    // the reason for the link's end.

    /// Tests whether the other side responds.
    public func testLink() async throws(BluetoothError) {
        try await request(.linkTest) { $0 == .linkTest ? () : nil }
    }

    /// The value of a register, 0 to 7.
    public func readRegister(_ register: UInt8) async throws(BluetoothError) -> UInt8 {
        try await request(.readRegister(register)) {
            guard case .register(register, let value) = $0 else { return nil }
            return value
        }
    }

    /// Sets a register, 0 to 7.
    public func writeRegister(_ register: UInt8, value: UInt8) async throws(BluetoothError) {
        try await request(.writeRegister(register, value: value)) { $0 == .registerWritten ? () : nil }
    }

    /// The version of the microcontroller's firmware.
    public func readVersion() async throws(BluetoothError) -> String {
        try await request(.readVersion) {
            guard case .version(let text) = $0 else { return nil }
            return text
        }
    }

    /// The device's name in its microcontroller.
    public func readName() async throws(BluetoothError) -> String {
        try await request(.readName) {
            guard case .name(let text) = $0 else { return nil }
            return text
        }
    }

    /// Sets the device's name: printable ASCII, at most 254 characters.
    public func writeName(_ name: String) async throws(BluetoothError) {
        try await request(.writeName(name)) { $0 == .nameWritten ? () : nil }
    }

    /// Requests sensor samples for 1 to 60 seconds, and returns them as they arrive.
    ///
    /// The sequence ends when the device reports the end. Other commands may be sent meanwhile.
    public func samples(seconds: UInt8) async throws(BluetoothError) -> SampleReadings {
        try await request(.startSampling(seconds: seconds)) { $0 == .samplingStarted ? () : nil }
        return SampleReadings(client: self)
    }

    /// The next sample; nil when the device has reported the end.
    func nextSample() async throws(BluetoothError) -> Float? {
        await enter()
        defer { leave() }
        let deadline = uart.connection.loop.now.advanced(by: timeout)
        while true {
            let event = events.isEmpty ? try await nextMessage(until: deadline) : events.removeFirst()
            switch event {
            case .sample(let value): return value
            case .samplingEnded: return nil
            default: unexpectedResponses &+= 1
            }
        }
    }

    // MARK: Request and response

    private func operation(_ name: String) -> BluetoothError.Operation { .init(name, peer: uart.peer) }

    /// Waits for the turn, which ends with ``leave()``. A cancelled task waits as well: its turn then ends
    /// with its first operation.
    private func enter() async {
        guard isBusy else { return isBusy = true }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        guard !waiting.isEmpty else { return isBusy = false }
        waiting.removeFirst().resume()
    }

    private func request<Value: Sendable>(
        _ command: SampleCommand, _ answer: @Sendable (SampleResponse) -> Value?
    ) async throws(BluetoothError) -> Value {
        let packet: [UInt8]
        do throws(SampleProtocolError) {
            packet = try command.encoded()
        } catch {
            throw BluetoothError(.invalidArgument, operation("send a command"), "Not possible: \(error).")
        }
        await enter()
        defer { leave() }
        trace?(.sent, packet)
        try await uart.send(packet)
        let deadline = uart.connection.loop.now.advanced(by: timeout)
        while true {
            let message = try await nextMessage(until: deadline)
            if let value = answer(message) { return value }
            keep(message)
        }
    }

    /// Queues an event for the consumer of samples; any other packet is an unexpected response.
    private func keep(_ message: SampleResponse) {
        guard message.type == .sampleEvent else {
            unexpectedResponses &+= 1
            return
        }
        if events.count >= Self.eventCapacity {
            events.removeFirst()
            missedSamples &+= 1
        }
        events.append(message)
    }

    private func nextMessage(until deadline: KernelInstant) async throws(BluetoothError) -> SampleResponse {
        while true {
            switch receiver.next() {
            case .message(let message):
                if let trace, let packet = try? message.encoded() { trace(.received, packet) }
                return message
            case .discarded(let packet, _):
                trace?(.received, [UInt8(truncatingIfNeeded: packet.count)] + packet)
                discardedPackets &+= 1
            case nil:
                try await receive(until: deadline)
            }
        }
    }

    private func receive(until deadline: KernelInstant) async throws(BluetoothError) {
        let bytes: [UInt8]?
        do throws(BluetoothError) {
            bytes = try await uart.read(timeout: uart.connection.loop.now.duration(to: deadline))
        } catch {
            // An incomplete packet would shift all later ones.
            if error.code == .timedOut { receiver.reset() }
            throw error
        }
        guard let bytes else {
            throw BluetoothError(.disconnected, operation("receive"), "The link has ended.")
        }
        do throws(FramingError) {
            try receiver.append(bytes)
        } catch {
            throw BluetoothError(.protocolViolation, operation("receive"), "The device sent \(error).")
        }
    }
}

/// The samples of one sampling, as they arrive.
public struct SampleReadings: AsyncSequence, Sendable {
    /// The value of a sample.
    public typealias Element = Float
    /// The error type.
    public typealias Failure = BluetoothError

    let client: SampleCommandClient

    /// Starts the iteration.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client) }

    /// The iterator.
    public struct Iterator: AsyncIteratorProtocol {
        let client: SampleCommandClient
        var isAtEnd = false

        /// The next sample; nil when the device has ended the sampling.
        public mutating func next() async throws(BluetoothError) -> Float? {
            try await next(isolation: nil)
        }

        /// The next sample; nil when the device has ended the sampling.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BluetoothError) -> Float? {
            guard !isAtEnd else { return nil }
            let sample = try await client.nextSample()
            isAtEnd = sample == nil
            return sample
        }
    }
}
