import BluetoothHost
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Synchronization
import Testing

/// A keyboard and a host, each on its machine of a simulated radio.
@Suite struct KeyboardTests {
    /// Serves a keyboard while `body` runs with the host's adapter.
    private func serve(
        _ keyboard: Keyboard, while body: @escaping @Sendable (Adapter) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        let (machine, other) = (radio.makeKernel(), radio.makeKernel())
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: machine)
            let host = try await Adapter.open(power: .powerOn, on: other)
            for adapter in [adapter, host] { try await adapter.setPairingAgent(JustWorksPairingAgent()) }
            try await keyboard.serve(on: adapter) { try await body(host) }
            await host.close()
            await adapter.close()
        }
    }

    private func reports(
        of keyboard: RemoteDatabase, _ uuid: BluetoothUUID = .report, notifying: Bool = true
    ) throws -> RemoteCharacteristic {
        let service = try #require(keyboard.services.first { $0.uuid == .humanInterfaceDevice })
        return try #require(
            service.characteristics.first { $0.uuid == uuid && $0.properties.contains(.notify) == notifying })
    }

    @Test func aHostTypesWhatTheKeyboardTypes() async throws {
        let keyboard = Keyboard(named: "Scanner")
        let text = "Order #42: \"5 m\"\n"
        try await serve(keyboard) { host in
            let connection = try await host.connect {
                $0.localName == "Scanner" && $0.services.contains(.humanInterfaceDevice)
            }
            let database = try await connection.discover()
            let values = try await connection.subscribe(to: try reports(of: database))
            try await keyboard.hostIsReady()
            try await keyboard.type(text)
            var typed = KeyboardText()
            var received = ""
            for try await value in values {
                received += typed.type(try KeyboardReport(value))
                if received.count == text.count { break }
            }
            #expect(received == text)
            await connection.disconnect()
        }
    }

    /// HID over GATT Profile §6.1 to §6.3: what a host reads after pairing.
    @Test func aHostReadsTheReportMapAndTheReferences() async throws {
        try await serve(Keyboard()) { host in
            let connection = try await host.connect { $0.services.contains(.humanInterfaceDevice) }
            let database = try await connection.discover()
            let map = try await connection.read(.reportMap, in: .humanInterfaceDevice)
            #expect(map.prefix(6) == [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01] && map.last == 0xC0)
            // It describes no report of another service.
            let mapped = try #require(database.characteristic(.reportMap, in: .humanInterfaceDevice))
            let references = try await connection.discoverDescriptors(of: mapped)
            #expect(references.isEmpty)
            for (notifies, kind) in [(true, UInt8(1)), (false, 2)] {
                let report = try reports(of: database, notifying: notifies)
                let descriptors = try await connection.discoverDescriptors(of: report)
                let reference = try #require(descriptors.first { $0.uuid == .reportReference })
                let value = try await connection.read(reference)
                #expect(value == [1, kind])
            }
            #expect(try await connection.read(.pnpID, in: .deviceInformation).count == 7)
            #expect(try await connection.read(.batteryLevel, in: .battery) == [100])
            let bonds = await host.bonds()
            #expect(bonds.count == 1)
            await connection.disconnect()
        }
    }

    @Test func aHostThatDoesNotPairReadsAndReceivesNothing() async throws {
        let keyboard = Keyboard()
        try await serve(keyboard) { host in
            let options = ConnectionOptions(security: SecurityOptions(policy: .never))
            let connection = try await host.connect(options: options) { $0.services.contains(.humanInterfaceDevice) }
            let database = try await connection.discover()
            let service = try #require(database.services.first { $0.uuid == .humanInterfaceDevice })
            for characteristic in service.characteristics where characteristic.properties.contains(.read) {
                let error = await #expect(throws: BluetoothError.self) { try await connection.read(characteristic) }
                #expect(error?.code == .attributeProtocol)
            }
            await #expect(throws: BluetoothError.self) {
                try await connection.subscribe(to: try reports(of: database))
            }
            let error = await #expect(throws: BluetoothError.self) { try await keyboard.type("a") }
            #expect(error?.code == .notSubscribed)
            await connection.disconnect()
        }
    }

    /// HID Service §2.2: in the boot protocol only the boot report is sent; each link begins in the report protocol.
    @Test func aHostInTheBootProtocolReceivesBootReports() async throws {
        let keyboard = Keyboard()
        try await serve(keyboard) { host in
            let connection = try await host.connect { $0.services.contains(.humanInterfaceDevice) }
            let database = try await connection.discover()
            let values = try await connection.subscribe(to: try reports(of: database, "2A22"))
            let others = try await connection.subscribe(to: try reports(of: database))
            #expect(try await connection.read(.protocolMode, in: .humanInterfaceDevice) == [1])
            try await connection.write([0], to: .protocolMode, in: .humanInterfaceDevice, type: .withoutResponse)
            #expect(try await connection.read(.protocolMode, in: .humanInterfaceDevice) == [0])
            try await keyboard.type("A")
            var received: [[UInt8]] = []
            for try await value in values {
                received.append(value)
                if received.count == 2 { break }
            }
            #expect(received == [[2, 0, 4, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])
            try await connection.write([1], to: .protocolMode, in: .humanInterfaceDevice, type: .withoutResponse)
            #expect(try await connection.read(.protocolMode, in: .humanInterfaceDevice) == [1])
            try await keyboard.type("b")
            for try await value in others {
                #expect(value == [0, 0, 5, 0, 0, 0, 0, 0])
                break
            }
            await connection.disconnect()
        }
    }

    @Test func aBondedHostIsTypedToAsSoonAsItIsBack() async throws {
        let keyboard = Keyboard()
        try await serve(keyboard) { host in
            let first = try await host.connect { $0.services.contains(.humanInterfaceDevice) }
            // Its subscription is ended by the link, and not by the end of the stream.
            let values = try await first.subscribe(to: try reports(of: try await first.discover()))
            try await keyboard.hostIsReady()
            await first.disconnect()
            await #expect(throws: BluetoothError.self) { for try await _ in values {} }
            let second = try await host.connect { $0.services.contains(.humanInterfaceDevice) }
            _ = try await second.read(.reportMap, in: .humanInterfaceDevice)
            try await keyboard.hostIsReady()
            try await keyboard.type("x")
            await second.disconnect()
        }
    }

    @Test func aHostSwitchesTheLights() async throws {
        let switched = Mutex<[KeyboardLights]>([])
        let keyboard = Keyboard(onLights: { lights in switched.withLock { $0.append(lights) } })
        try await serve(keyboard) { host in
            let connection = try await host.connect { $0.services.contains(.humanInterfaceDevice) }
            let output = try reports(of: try await connection.discover(), notifying: false)
            try await connection.write([0x02], to: output)
            #expect(try await connection.read(output) == [0x02])
            await #expect(throws: BluetoothError.self) { try await connection.write([], to: output) }
            await #expect(throws: BluetoothError.self) { try await connection.write([1, 2], to: output) }
            await connection.disconnect()
        }
        let lights = switched.withLock { $0 }
        #expect(lights == [.capsLock] && keyboard.lights == .capsLock)
    }

    @Test func aTextWithACharacterThatTheLayoutLacksIsRefusedBeforeAnyStroke() async throws {
        let keyboard = Keyboard()
        let unserved = await #expect(throws: BluetoothError.self) { try await keyboard.hostIsReady() }
        #expect(unserved?.code == .notSubscribed)
        let error = await #expect(throws: BluetoothError.self) { try await keyboard.type("5 €") }
        #expect(error?.code == .invalidArgument)
        #expect(error.map { "\($0)".contains("€") } == true)
    }

    @Test func aKeyboardIsServedOnce() async throws {
        let keyboard = Keyboard()
        let radio = SimulatedRadio()
        let machines = [radio.makeKernel(), radio.makeKernel()]
        try await radio.run {
            let adapters = [
                try await Adapter.open(power: .powerOn, on: machines[0]),
                try await Adapter.open(power: .powerOn, on: machines[1]),
            ]
            try await keyboard.serve(on: adapters[0]) {
                let error = await #expect(throws: BluetoothError.self) { try await keyboard.serve(on: adapters[1]) {} }
                #expect(error?.code == .busy)
            }
            try await keyboard.serve(on: adapters[1]) {}
            for adapter in adapters { await adapter.close() }
        }
    }
}

@Suite struct KeyboardReportTests {
    @Test func everyPrintableCharacterOfASCIIIsTypedAndRead() throws {
        var text = KeyboardText()
        for code in Array(UInt8(0x20)...0x7E) + [0x09, 0x0A] {
            let character = Character(UnicodeScalar(code))
            let report = try #require(KeyboardLayout.unitedStates.report(for: character))
            let decoded = try KeyboardReport(report.bytes)
            let typed = text.type(decoded) + text.type(.released)
            #expect(decoded == report && typed == String(character))
        }
        #expect(KeyboardLayout.unitedStates.report(for: "é") == nil)
    }

    /// HID Usage Tables §10.
    @Test(
        arguments: [
            ("a", [0, 0, 0x04, 0, 0, 0, 0, 0]), ("Z", [2, 0, 0x1D, 0, 0, 0, 0, 0]), ("0", [0, 0, 0x27, 0, 0, 0, 0, 0]),
            ("\n", [0, 0, 0x28, 0, 0, 0, 0, 0]), (" ", [0, 0, 0x2C, 0, 0, 0, 0, 0]),
            ("?", [2, 0, 0x38, 0, 0, 0, 0, 0]),
            ("~", [2, 0, 0x35, 0, 0, 0, 0, 0]), ("\\", [0, 0, 0x31, 0, 0, 0, 0, 0]),
        ] as [(Character, [UInt8])])
    func aCharacterHasItsKey(_ character: Character, _ bytes: [UInt8]) {
        #expect(KeyboardLayout.unitedStates.report(for: character)?.bytes == bytes)
    }

    @Test(arguments: ["5\n", "5\r", "5\r\n"]) func eachLineBreakIsReturn(_ line: String) throws {
        var text = KeyboardText()
        let reports = line.compactMap { KeyboardLayout.unitedStates.report(for: $0) }
        let typed = reports.map { text.type($0) }
        #expect(typed == ["5", "\n"])
    }

    @Test func aKeyThatStaysDownTypesOnce() throws {
        var text = KeyboardText()
        let typed = try [
            [0, 0, 4, 0, 0, 0, 0, 0], [0, 0, 4, 5, 0, 0, 0, 0], [32, 0, 5, 6, 0, 0, 0, 0], [1, 0, 7, 0, 0, 0, 0, 0],
        ]
        .map { text.type(try KeyboardReport($0)) }
        #expect(typed == ["a", "b", "C", ""])
    }

    @Test func shortReportsAreRefusedAndLongOnesCut() {
        for count in 0..<8 {
            #expect(throws: MalformedValue.self) { try KeyboardReport(Array(repeating: 0, count: count)) }
        }
        #expect(KeyboardReport(keys: Array(1...9)).bytes == [0, 0, 1, 2, 3, 4, 5, 6])
    }
}
