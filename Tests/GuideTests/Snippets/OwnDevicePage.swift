// The steps of Docs/Guide/Tutorials/OwnDevice.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc
import Synchronization
import Testing

/// Docs/Guide/Tutorials/OwnDevice.md
enum OwnDevicePage {
    /// The code that controls a lamp
    enum TheCodeThatControlsALamp {
        // Sources/Lamp/Lamp.swift
        /// A lamp that this machine is connected to.
        public struct Lamp: Sendable {
            public static let service: BluetoothUUID = "A1B20001-5C9D-4F0E-9A37-3D1C52E08B64"
            public static let brightness: BluetoothUUID = "A1B20002-5C9D-4F0E-9A37-3D1C52E08B64"

            /// The link to it.
            public let connection: Connection

            /// Connects to a lamp in range: the first that is received with this RSSI or a stronger one.
            public static func connect(by adapter: Adapter, minimumRSSI: Int = -80) async throws(BluetoothError) -> Lamp {
                let filter: ScanFilter = .service(service) && .rssi(atLeast: minimumRSSI)
                let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: filter))
                return Lamp(connection: try await adapter.connect(to: found))
            }

            /// The brightness in per cent; nil if the lamp sends an empty value.
            public func brightness() async throws(BluetoothError) -> UInt8? {
                try await connection.read(Self.brightness, in: Self.service, timeout: .seconds(5)).first
            }

            /// Changes the brightness; the lamp has confirmed it when the call returns.
            public func setBrightness(_ percent: UInt8) async throws(BluetoothError) {
                try await connection.write([percent], to: Self.brightness, in: Self.service, timeout: .seconds(5))
            }

            /// The values after changes at the lamp, such as `[40]`.
            public func changes() async throws(BluetoothError) -> BoundedStream<[UInt8]> {
                try await connection.subscribe(to: Self.brightness, in: Self.service)
            }
        }
    }

    /// A lamp without hardware
    enum ALampWithoutHardware {
        typealias Lamp = TheCodeThatControlsALamp.Lamp

        // Tests/LampTests/LampTests.swift
        @Suite struct LampTests {
            /// A radio with a lamp, and a machine with an adapter.
            let radio = SimulatedRadio()
            let lamp: SimulatedLamp
            let kernel: SimulatedKernel

            init() throws {
                lamp = try SimulatedLamp(on: radio)
                kernel = radio.makeKernel()
            }

            @Test func theBrightnessIsSet() async throws {
                try await radio.run { [kernel, lamp] in
                    let adapter = try await Adapter.open(power: .powerOn, on: kernel)
                    let remote = try await Lamp.connect(by: adapter)
                    #expect(try await remote.brightness() == 0)
                    try await remote.setBrightness(40)
                    #expect(lamp.brightness == 40)
                }
            }

            @Test func theSwitchOnTheLampIsReported() async throws {
                try await radio.run { [kernel, lamp] in
                    let adapter = try await Adapter.open(power: .powerOn, on: kernel)
                    let remote = try await Lamp.connect(by: adapter)
                    let changes = try await remote.changes()
                    await lamp.turn(to: 70)
                    await lamp.turn(to: 0)
                    var received: [[UInt8]] = []
                    for try await change in changes {
                        received.append(change)
                        if received.count == 2 { break }
                    }
                    #expect(received == [[70], [0]])
                }
            }
        }

        // Tests/LampTests/SimulatedLamp.swift
        /// A lamp on the simulated radio.
        final class SimulatedLamp: Sendable {
            let peripheral: SimulatedPeripheral
            private let server: SimulatedGATTServer
            private let state = Mutex<(percent: UInt8, isSilent: Bool)>((0, false))

            var brightness: UInt8 { state.withLock { $0.percent } }

            init(on radio: SimulatedRadio) throws {
                server = try SimulatedGATTServer([
                    GATTService(Lamp.service) {
                        GATTCharacteristic(Lamp.brightness, properties: [.read, .write, .notify], valueLengths: 1...1)
                    }
                ])
                peripheral = SimulatedPeripheral(
                    on: radio,
                    advertisements: [
                        try SimulatedAdvertisement(fields: [.services([Lamp.service])], scanResponse: [.localName("Lamp")])
                    ],
                    gatt: server)
                server.onRead { [weak self] _, _ in
                    guard let self, !self.state.withLock({ $0.isSilent }) else { return .silence }
                    return .value([self.brightness])
                }
                server.onWrite { [weak self] writes, _ in
                    guard let self, !self.state.withLock({ $0.isSilent }) else { return .silence }
                    guard let percent = writes.last?.value.first, percent <= 100 else { return .refuse(.outOfRange) }
                    self.state.withLock { $0.percent = percent }
                    return .accept
                }
            }

            /// Somebody uses the switch on the lamp.
            func turn(to percent: UInt8) async {
                state.withLock { $0.percent = percent }
                guard let handle = server.handle(of: Lamp.brightness, in: Lamp.service) else { return }
                await server.notify([percent], of: handle)
            }

            /// Its firmware hangs: the link stays, and no request is answered.
            func hang() { state.withLock { $0.isSilent = true } }
        }
    }

    /// Everything that goes wrong
    enum EverythingThatGoesWrong {
        typealias Lamp = TheCodeThatControlsALamp.Lamp

        // Tests/LampTests/FaultTests.swift
        @Suite struct FaultTests {
            let radio = SimulatedRadio()
            let lamp: SimulatedLamp
            let kernel: SimulatedKernel

            init() throws {
                lamp = try SimulatedLamp(on: radio)
                kernel = radio.makeKernel()
            }

            /// Runs `body` with a connected lamp.
            private func withLamp(_ body: @escaping @Sendable (Lamp) async throws -> Void) async throws {
                try await radio.run { [kernel] in
                    let adapter = try await Adapter.open(power: .powerOn, on: kernel)
                    try await body(try await Lamp.connect(by: adapter))
                }
            }

            @Test func aLampThatIsOutOfReach() async throws {
                try await withLamp { [lamp] remote in
                    lamp.peripheral.breakLinks()
                    let error = await remote.connection.disconnected()
                    #expect(error.disconnectReason == .supervisionTimeout)
                    let refusal = await #expect(throws: BluetoothError.self) { try await remote.setBrightness(40) }
                    #expect(refusal?.code == .disconnected)
                }
            }

            @Test func aLampThatHangs() async throws {
                try await withLamp { [lamp, radio] remote in
                    lamp.hang()
                    let start = radio.now
                    let error = await #expect(throws: BluetoothError.self) { try await remote.setBrightness(40) }
                    #expect(error?.code == .timedOut)
                    let duration = start.duration(to: radio.now)
                    #expect(duration >= .seconds(5) && duration < .seconds(6))
                }
            }

            @Test func aBrightnessThatTheLampRefuses() async throws {
                try await withLamp { remote in
                    let error = await #expect(throws: BluetoothError.self) { try await remote.setBrightness(101) }
                    #expect(error?.cause == .attribute(.outOfRange))
                    // The link is as good as before.
                    try await remote.setBrightness(100)
                }
            }

            @Test func aLampWithALowSignal() async throws {
                lamp.peripheral.setSignalStrength(-95)
                try await radio.run { [kernel, radio] in
                    let adapter = try await Adapter.open(power: .powerOn, on: kernel)
                    let start = radio.now
                    let error = await #expect(throws: BluetoothError.self) { try await Lamp.connect(by: adapter) }
                    #expect(error?.code == .notFound)
                    #expect(start.duration(to: radio.now) >= .seconds(10))
                }
            }

            @Test func aRadioThatLosesEveryThirdPacket() async throws {
                try await withLamp { [lamp, radio] remote in
                    radio.conditions.packetLoss = 0.3
                    for percent in UInt8(1)...100 { try await remote.setBrightness(percent) }
                    #expect(lamp.brightness == 100)
                }
            }

            @Test func anAdapterThatIsUnplugged() async throws {
                try await withLamp { [kernel] remote in
                    kernel.unplug(0)
                    let error = await remote.connection.disconnected()
                    #expect(error.disconnectReason == .adapterRemoved)
                }
            }
        }

        typealias LampTests = ALampWithoutHardware.LampTests

        typealias SimulatedLamp = ALampWithoutHardware.SimulatedLamp
    }

    /// The lamp as a file
    enum TheLampAsAFile {
        typealias Lamp = TheCodeThatControlsALamp.Lamp

        // Sources/dim/Dim.swift
        struct Dim {
            static func main() async {
                guard let percent = CommandLine.arguments.dropFirst().first.flatMap({ UInt8($0) }) else {
                    print("usage: dim PERCENT")
                    exit(64)
                }
                do throws(BluetoothError) {
                    try await run(percent)
                } catch {
                    print(error)
                    exit(1)
                }
            }

            static func run(_ percent: UInt8) async throws(BluetoothError) {
                let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                let lamp = try await Lamp.connect(by: adapter)
                let former = try await lamp.brightness() ?? 0
                try await lamp.setBrightness(percent)
                print("\(former) % → \(try await lamp.brightness() ?? 0) %")
                await lamp.connection.disconnect()
            }
        }

        typealias FaultTests = EverythingThatGoesWrong.FaultTests

        typealias LampTests = ALampWithoutHardware.LampTests

        typealias SimulatedLamp = ALampWithoutHardware.SimulatedLamp
    }

    /// The lamp itself
    enum TheLampItself {
        typealias Lamp = TheCodeThatControlsALamp.Lamp

        // Sources/Lamp/LampDevice.swift
        /// This machine as a lamp.
        public enum LampDevice {
            /// Serves the lamp until the task is cancelled, also over a time without an adapter.
            /// - Parameter onChange: receives each new brightness, in per cent.
            public static func serve(
                by adapter: Adapter, onChange: @escaping @Sendable (UInt8) -> Void
            ) async throws(BluetoothError) {
                let brightness = LocalCharacteristic(
                    Lamp.brightness, properties: [.read, .write, .notify], value: [0], valueLengths: 1...1
                )
                .onWrite { request in
                    guard let percent = request.value.first, percent <= 100 else { throw ATTErrorCode.outOfRange }
                    onChange(percent)
                }
                let content = AdvertisementContent(localName: "Lamp", services: [Lamp.service])
                try await adapter.serve(content, options: AdvertisingOptions(whenAdapterUnavailable: .resume)) {
                    LocalService(Lamp.service) { brightness }
                }
            }
        }

        typealias Dim = TheLampAsAFile.Dim

        // Tests/LampTests/BothEndsTests.swift
        @Suite struct BothEndsTests {
            /// What the LED shows.
            private final class LED: Sendable {
                private let state = Mutex<[UInt8]>([])
                var shown: [UInt8] { state.withLock { $0 } }
                func show(_ percent: UInt8) { state.withLock { $0.append(percent) } }
            }

            @Test func aLampThatThisLibraryServes() async throws {
                let radio = SimulatedRadio()
                let (device, phone) = (radio.makeKernel(), radio.makeKernel())
                let led = LED()
                try await radio.run {
                    let lampAdapter = try await Adapter.open(power: .powerOn, on: device)
                    let serving = Task(executorPreference: radio.loop) {
                        try await LampDevice.serve(by: lampAdapter) { led.show($0) }
                    }
                    let adapter = try await Adapter.open(power: .powerOn, on: phone)
                    let lamp = try await Lamp.connect(by: adapter)
                    try await lamp.setBrightness(40)
                    let error = await #expect(throws: BluetoothError.self) { try await lamp.setBrightness(101) }
                    #expect(error?.cause == .attribute(.outOfRange))
                    #expect(try await lamp.brightness() == 40)
                    serving.cancel()
                    _ = await serving.result
                }
                #expect(led.shown == [40])
            }
        }

        typealias FaultTests = EverythingThatGoesWrong.FaultTests

        typealias LampTests = ALampWithoutHardware.LampTests

        typealias SimulatedLamp = ALampWithoutHardware.SimulatedLamp
    }
}
