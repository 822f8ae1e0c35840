import BluetoothLE
import LINBLE
import Testing

/// The examples of the types in the catalogues, such as Sources/BluetoothLE/BluetoothLE.docc/Adapter.md.
@Suite struct DocumentationStories {
    @Test func anAdapter() async throws {
        try await Fixture.run { fixture in
            try await AdapterPage.example()
            #expect(fixture.lines.count == 4)
            #expect(fixture.lines.first?.hasPrefix("\(Sensor.name) -") == true)
            #expect(fixture.lines.last == "\(fixture.sensor.address)")
        }
    }

    @Test func aConnection() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let running = fixture.begin { try await ConnectionPage.example(adapter, fixture.sensor.address) }
            try await fixture.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, fixture)
            try await running.value
            #expect(fixture.lines == ["battery [97]", "rate [0, 72]"])
        }
    }

    @Test func aSimulatedPeripheral() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SimulatedPeripheralPage.example(adapter, fixture.radio)
            #expect(fixture.lines == ["\(BluetoothError.Code.disconnected)"])
        }
    }

    @Test func optionsAndAProfileOfAUART() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await UARTOptionsPage.example(adapter)
            try await UARTProfilePage.example(adapter)
            try await KeptUARTOptionsPage.example(adapter)
            let address = fixture.linble.address
            #expect(fixture.lines == [UARTProfile.linble.name, "meter \(address)", "online with \(address)"])
        }
    }

    @Test func aFramer() async throws {
        try await Fixture.run { fixture in
            try await FramerPage.example()
            #expect(fixture.lines == ["[1, 2, 3]", "[7, 8]", "[2, 5, 6]"])
        }
    }

    @Test(arguments: [true, false]) func aUARTOfThisMachine(_ isExclusive: Bool) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let serving = fixture.begin {
                try await isExclusive ? UARTServerOptionsPage.example(adapter) : UARTCentralPage.example(adapter)
            }
            let visitor = try await Adapter.open(power: .powerOn, on: fixture.radio.makeKernel())
            let options = UARTOptions(profiles: isExclusive ? [.nordic] : [.linble])
            let uart = try await UARTConnection.open(
                .address(adapter.information.address), on: visitor, options: options)
            try await uart.send(Array("abc\n".utf8))
            var lines = uart.frames(DelimiterFramer()).makeAsyncIterator()
            #expect(try await lines.next() == Array((isExclusive ? "abc" : "cba").utf8))
            await uart.disconnect()
            #expect(await serving.ended() == .cancelled)
            await visitor.close()
        }
    }
}
