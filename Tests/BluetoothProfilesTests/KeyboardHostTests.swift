import BluetoothHost
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

/// Hosts of a keyboard whose links accept nothing, that change their protocol, and that come back.
@Suite struct KeyboardHostTests {
    /// A keyboard's machine on a simulated radio, and hosts.
    private struct Desk: Sendable {
        let radio: SimulatedRadio
        let machine: SimulatedKernel
        let adapter: Adapter
        let hosts: [Adapter]
        let keyboard = Keyboard()

        static func run(hosts count: Int = 1, _ body: @escaping @Sendable (Desk) async throws -> Void) async throws {
            let radio = SimulatedRadio()
            let machines = (0...count).map { _ in radio.makeKernel() }
            try await radio.run {
                var adapters: [Adapter] = []
                for machine in machines {
                    let adapter = try await Adapter.open(power: .powerOn, on: machine)
                    try await adapter.setPairingAgent(JustWorksPairingAgent())
                    adapters.append(adapter)
                }
                let hosts = Array(adapters.dropFirst())
                try await body(Desk(radio: radio, machine: machines[0], adapter: adapters[0], hosts: hosts))
                for adapter in adapters.reversed() { await adapter.close() }
            }
        }

        /// Runs `body` beside the served keyboard, with a host that is ready.
        static func runWithHost(_ body: @escaping @Sendable (Desk, Host) async throws -> Void) async throws {
            try await run { desk in
                let serving = desk.serve()
                let host = try await desk.connect()
                try await desk.keyboard.hostIsReady()
                try await body(desk, host)
                await host.connection.disconnect()
                await desk.stop(serving)
            }
        }

        /// The text of a host a second after the keyboard has typed some.
        func text(of host: Host, afterTyping text: String) async throws -> String {
            try await keyboard.type(text)
            try await radio.sleep(for: .seconds(1))
            return host.text
        }

        /// Serves the keyboard, with links that buffer little, until the task is cancelled.
        func serve(on executor: (any TaskExecutor)? = nil) -> Task<Void, any Error> {
            Task(executorPreference: executor ?? radio.loop) {
                try await keyboard.serve(on: adapter, accepting: IncomingConnectionOptions(sendBuffer: 0)) {
                    try await radio.sleep(for: .seconds(3000))
                }
            }
        }

        func stop(_ serving: Task<Void, any Error>) async {
            serving.cancel()
            _ = await serving.result
        }

        /// Connects a host, which pairs and subscribes to an input report.
        func connect(_ number: Int = 0, _ report: BluetoothUUID = .report) async throws -> Host {
            let connection = try await hosts[number].connect { $0.services.contains(.humanInterfaceDevice) }
            let service = try #require(try await connection.discover().service(.humanInterfaceDevice))
            let input = try #require(
                service.characteristics.first { $0.uuid == report && $0.properties.contains(.notify) })
            let host = Host(connection: connection, input: input)
            let values = try await connection.subscribe(to: input)
            host.receive(values, on: radio.loop)
            return host
        }

        /// Pauses or resumes what the machine sends to a host.
        func setSending(_ isSending: Bool, to number: Int = 0) {
            machine.setSending(isSending, adapter: 0, to: hosts[number].information.address)
        }
    }

    /// A host with the reports that it has received.
    private final class Host: Sendable {
        let connection: Connection
        let input: RemoteCharacteristic
        private let state = Mutex<(reports: [[UInt8]], end: BluetoothError.Code?)>(([], nil))
        private let times = Mutex<[KernelInstant]>([])

        init(connection: Connection, input: RemoteCharacteristic) {
            self.connection = connection
            self.input = input
        }

        func receive(_ values: BoundedStream<[UInt8]>, on loop: EventLoop) {
            Task(executorPreference: loop) { [self] in
                do throws(BluetoothError) {
                    for try await value in values {
                        state.withLock { $0.reports.append(value) }
                        times.withLock { $0.append(loop.now) }
                    }
                } catch {
                    state.withLock { $0.end = error.code }
                }
            }
        }

        func setMode(_ mode: UInt8) async throws {
            try await connection.write([mode], to: .protocolMode, in: .humanInterfaceDevice, type: .withoutResponse)
            #expect(try await connection.read(.protocolMode, in: .humanInterfaceDevice) == [mode])
        }

        var reports: [[UInt8]] { state.withLock { $0.reports } }
        /// The reason of the link's end.
        var end: BluetoothError.Code? { state.withLock { $0.end } }
        /// The longest time that a key was down, if each report that presses one is followed by that which releases it.
        var longestPress: Duration {
            let times = times.withLock { $0 }
            return stride(from: 0, to: times.count - 1, by: 2).map { times[$0].duration(to: times[$0 + 1]) }.max()
                ?? .zero
        }
        var hasKeysUp: Bool { reports.last == KeyboardReport.released.bytes }
        var text: String {
            var text = KeyboardText()
            return reports.compactMap { try? KeyboardReport($0) }.map { text.type($0) }.joined()
        }
    }

    private static let long = String(repeating: "ab", count: 60)

    @Test func aHostThatAcceptsNothingIsWaitedForOnce() async throws {
        try await Desk.run(hosts: 2) { desk in
            let serving = desk.serve()
            let (slow, good) = (try await desk.connect(0), try await desk.connect(1))
            try await desk.radio.sleep(for: .seconds(1))
            desk.setSending(false)
            let start = desk.radio.now
            try await desk.keyboard.type(Self.long)
            let time = start.duration(to: desk.radio.now)
            #expect(time < .seconds(10))
            try await desk.radio.sleep(for: .seconds(2))
            #expect(good.text == Self.long)
            // It would repeat a key that is down.
            #expect(good.longestPress < .milliseconds(250))
            desk.setSending(true)
            try await desk.radio.sleep(for: .seconds(2))
            #expect(slow.text.count < Self.long.count && slow.hasKeysUp)
            try await desk.keyboard.type("x")
            try await desk.radio.sleep(for: .seconds(2))
            #expect(slow.text.hasSuffix("x") && good.text == Self.long + "x")
            for host in [slow, good] { await host.connection.disconnect() }
            await desk.stop(serving)
        }
    }

    @Test func aKeyboardIsReadyAgainWhenItsHostAcceptsReports() async throws {
        try await Desk.runWithHost { desk, host in
            desk.setSending(false)
            let late = await #expect(throws: BluetoothError.self) { try await desk.keyboard.type(Self.long) }
            #expect(late?.code == .timedOut)
            let later = await #expect(throws: BluetoothError.self) { try await desk.keyboard.type("x") }
            #expect(later?.code == .busy)
            let resuming = Task(executorPreference: desk.radio.loop) {
                try await desk.radio.sleep(for: .seconds(3))
                desk.setSending(true)
            }
            let start = desk.radio.now
            try await desk.keyboard.hostIsReady()
            let time = start.duration(to: desk.radio.now)
            #expect(time >= .seconds(3))
            try await resuming.value
            try await desk.keyboard.type("x")
            try await desk.radio.sleep(for: .seconds(2))
            #expect(host.text.hasSuffix("x") && host.hasKeysUp)
        }
    }

    @Test func aCancelledTaskReleasesItsKeys() async throws {
        try await Desk.runWithHost { desk, host in
            let pressing = Task(executorPreference: desk.radio.loop) {
                try await desk.keyboard.send(KeyboardReport(keys: [4]))
                withUnsafeCurrentTask { $0?.cancel() }
                try await desk.keyboard.send(.released)
            }
            try await pressing.value
            try await desk.radio.sleep(for: .seconds(1))
            #expect(host.reports == [KeyboardReport(keys: [4]).bytes, KeyboardReport.released.bytes])
        }
    }

    /// The link accepts a number of reports, so that either a key or its release waits when the text is cancelled.
    @Test(arguments: [0, 1]) func noKeyOfACancelledTextStaysDown(_ count: Int) async throws {
        try await Desk.runWithHost { desk, host in
            desk.setSending(false)
            for _ in 0..<count { try await desk.keyboard.send(.released) }
            let typing = Task(executorPreference: desk.radio.loop) { try await desk.keyboard.type(Self.long) }
            try await desk.radio.sleep(for: .seconds(1))
            typing.cancel()
            let result = await typing.result
            #expect(throws: BluetoothError.self) { try result.get() }
            desk.setSending(true)
            try await desk.radio.sleep(for: .seconds(2))
            #expect(!host.text.isEmpty && host.text.count < Self.long.count && host.hasKeysUp)
        }
    }

    @Test func aHostIsReadyWhenItHasSubscribedToTheReportOfItsProtocol() async throws {
        try await Desk.run { desk in
            let serving = desk.serve()
            let host = try await desk.connect(0, "2A22")
            let isReady = Mutex(false)
            let waiting = Task(executorPreference: desk.radio.loop) {
                try await desk.keyboard.hostIsReady()
                isReady.withLock { $0 = true }
            }
            try await desk.radio.sleep(for: .seconds(1))
            let isReadyBefore = isReady.withLock { $0 }
            #expect(!isReadyBefore)
            try await host.setMode(0)
            try await waiting.value
            #expect(try await desk.text(of: host, afterTyping: "a") == "a")
            await host.connection.disconnect()
            await desk.stop(serving)
        }
    }

    @Test func aProtocolModeThatIsWrittenBeforeTheProgramKnowsTheLinkIsKept() async throws {
        try await Desk.run { desk in
            let gate = Gate(before: desk.radio.loop)
            let serving = desk.serve(on: gate)
            try await desk.radio.sleep(for: .seconds(1))
            gate.close()
            let host = try await desk.connect(0, "2A22")
            try await host.setMode(0)
            gate.open()
            try await desk.keyboard.hostIsReady()
            #expect(try await desk.text(of: host, afterTyping: "a") == "a")
            await host.connection.disconnect()
            // Its next link begins in the report protocol.
            let again = try await desk.connect()
            try await desk.keyboard.hostIsReady()
            #expect(try await desk.text(of: again, afterTyping: "b") == "b")
            await again.connection.disconnect()
            await desk.stop(serving)
        }
    }

    @Test func aHostStaysWhenItsSubscriptionsChangeFasterThanTheyAreRead() async throws {
        try await Desk.run { desk in
            let gate = Gate(before: desk.radio.loop)
            let serving = desk.serve(on: gate)
            let host = try await desk.connect()
            try await desk.keyboard.hostIsReady()
            gate.close()
            let descriptors = try await host.connection.discoverDescriptors(of: host.input)
            let configuration = try #require(descriptors.first { $0.uuid == .clientCharacteristicConfiguration })
            for _ in 0..<150 {
                try await host.connection.write([0, 0], to: configuration)
                try await host.connection.write([1, 0], to: configuration)
            }
            gate.open()
            try await desk.radio.sleep(for: .seconds(1))
            #expect(try await desk.text(of: host, afterTyping: "a") == "a")
            await host.connection.disconnect()
            await desk.stop(serving)
        }
    }

    @Test func linksEndWithTheKeyboardAndHostsComeBackToTheNext() async throws {
        try await Desk.run { desk in
            for text in ["a", "b"] {
                let serving = desk.serve()
                let host = try await desk.connect()
                try await desk.keyboard.hostIsReady()
                try await desk.keyboard.type(text)
                try await desk.radio.sleep(for: .seconds(1))
                await desk.stop(serving)
                // Kernels keep links for two seconds.
                try await desk.radio.sleep(for: .seconds(5))
                #expect(host.text == text && host.end == .disconnected)
            }
        }
    }
}
