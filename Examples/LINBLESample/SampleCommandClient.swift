import BluetoothLE
import LINBLE

/// The host's side of the sample protocol, typed: one command at a time, its answer, and the events between.
///
/// Several tasks may call it; their commands take turns. While a client is used nobody else may read from its UART.
public actor SampleCommandClient {
    /// Which way a packet went.
    public enum Direction: Hashable, Sendable {
        /// To the device.
        case sent
        /// From the device.
        case received
    }

    /// The UART it speaks over.
    public nonisolated let uart: UARTConnection
    /// How long an answer, or the next sample, may take.
    public nonisolated let timeout: Duration
    /// How many answers came that nobody was waiting for, such as one that came too late.
    public private(set) var unexpectedResponses = 0
    /// How many packets came that mean nothing.
    public private(set) var discardedPackets = 0
    /// How many samples were dropped because nobody took them.
    public private(set) var missedSamples = 0

    private let trace: (@Sendable (Direction, [UInt8]) -> Void)?
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var receiver = SampleReceiver<SampleResponse>()
    /// Events that came while an answer was awaited. A device samples a few times a second for a minute at most.
    private var events: [SampleResponse] = []
    private static let eventCapacity = 1024

    /// A client on a UART that is online.
    /// - Parameters:
    ///   - uart: the UART.
    ///   - timeout: how long an answer may take.
    ///   - trace: told every packet with its length byte; runs anywhere.
    public init(
        _ uart: UARTConnection, timeout: Duration = .seconds(5),
        trace: (@Sendable (Direction, [UInt8]) -> Void)? = nil
    ) {
        self.uart = uart
        self.timeout = timeout
        self.trace = trace
    }

    /// It lives where the UART lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { uart.unownedExecutor }

    // MARK: Commands
    // All throw `timedOut` without an answer in time, `invalidArgument` for values the protocol does not have, and why
    // the link ended.

    /// Asks whether the other side is there.
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

    /// The version of the microcontroller's program.
    public func readVersion() async throws(BluetoothError) -> String {
        try await request(.readVersion) {
            guard case .version(let text) = $0 else { return nil }
            return text
        }
    }

    /// The device's name as its microcontroller has it.
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

    /// Asks for sensor samples for 1 to 60 seconds, and gives them as they come.
    ///
    /// The sequence ends when the device says that it has ended. Other commands may be sent meanwhile.
    public func samples(seconds: UInt8) async throws(BluetoothError) -> SampleReadings {
        try await request(.startSampling(seconds: seconds)) { $0 == .samplingStarted ? () : nil }
        return SampleReadings(client: self)
    }

    /// The next sample, or nil when the device says that there are no more.
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

    /// Waits for the turn; whoever got it calls ``leave()``. A task that is cancelled waits as well: then its turn ends
    /// with the first thing it does.
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

    /// Puts an event aside for whoever takes samples; anything else answers no question that is open.
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
            // Half a packet whose end is overdue would shift all that follow.
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

/// The samples of one sampling, as they come.
public struct SampleReadings: AsyncSequence, Sendable {
    /// What the sensor says.
    public typealias Element = Float
    /// What it throws.
    public typealias Failure = BluetoothError

    let client: SampleCommandClient

    /// Starts to take samples.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client) }

    /// Takes sample by sample.
    public struct Iterator: AsyncIteratorProtocol {
        let client: SampleCommandClient
        var isAtEnd = false

        /// The next sample, or nil when the device has ended the sampling.
        public mutating func next() async throws(BluetoothError) -> Float? {
            try await next(isolation: nil)
        }

        /// The next sample, or nil when the device has ended the sampling.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BluetoothError) -> Float? {
            guard !isAtEnd else { return nil }
            let sample = try await client.nextSample()
            isAtEnd = sample == nil
            return sample
        }
    }
}
