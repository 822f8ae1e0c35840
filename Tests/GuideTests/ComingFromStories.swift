import BluetoothLE
import BluetoothSystem
import Testing

/// Docs/Guide/ComingFrom.md: its snippets, and the names in its tables.
@Suite struct ComingFromStories {
    private static let page = "Docs/Guide/ComingFrom.md"

    @Test func aProgramOfBleaks() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let running = fixture.begin { try await ComingFromPage.bleakPython(adapter) }
            try await fixture.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, fixture)
            try await running.value
            #expect(fixture.lines == ["ATT_MTU 517", "battery [97]", "rate [0, 72]"])
            #expect(fixture.sensor.server.value(of: fixture.sensor.handle(of: 0xFFE1, in: 0xFFE0)) == [1])
        }
    }

    @Test func aPeripheralOfCoreBluetooth() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let running = fixture.begin { try await ComingFromPage.coreBluetooth(adapter) }
            let phone = try await Adapter.open(power: .powerOn, on: fixture.radio.makeKernel())
            let connection = try await phone.connect { $0.localName == "Battery" }
            #expect(try await connection.read(.batteryLevel, in: .battery) == [97])
            for try await value in try await connection.subscribe(to: .batteryLevel, in: .battery) {
                #expect(value == [96])
                break
            }
            await connection.disconnect()
            try await running.value
            await phone.close()
        }
    }

    /// The members in the tables are in the public API, and the commands are those of `ble`.
    @Test func everyNameExists() throws {
        let text = try Pages.text(of: Self.page)
        let listing = try Pages.text(of: "Tests/PublicAPI/BluetoothLE.txt").split(separator: "\n")
        var count = 0
        for used in text.matches(of: /\b(Adapter|adapter|connection)\.([a-z][A-Za-z]+)/) {
            let types = used.1 == "connection" ? ["Connection: "] : ["Adapter: ", "Central: "]
            let member = /\b(?:func|var|let) ([A-Za-z]+)/
            let exists = listing.contains { line in
                types.contains { line.hasPrefix($0) } && line.firstMatch(of: member)?.1 == used.2
            }
            #expect(exists, "\(used.0) is not in the public API")
            count += 1
        }
        #expect(count > 20)

        let folder = "\(Pages.root)/Examples/ble"
        let sources = try SystemFiles.names(in: folder).filter { $0.hasSuffix("Command.swift") }
            .map { try Pages.text(of: "Examples/ble/\($0)") }.joined()
        for used in text.matches(of: /`ble ([a-z]+)/) {
            let isShell = sources.contains("struct \(used.1.prefix(1).uppercased())\(used.1.dropFirst())Command")
            #expect(sources.contains("commandName: \"\(used.1)\"") || isShell, "there is no ble \(used.1)")
        }
    }
}
