import Glibc
import Testing

/// `BLUETOOTH_SIMULATION=FILE`, which chooses a simulated radio for a program that does not name one.
@Suite(.serialized) struct EnvironmentTests {
    private static let world = #filePath.replacing(
        "/Tests/ProgramTests/EnvironmentTests.swift", with: "/Examples/CoreBluetoothCentral/world.json")

    @Test func aProgramFindsTheDevicesOfTheFile() async throws {
        let ended = try await run(
            "ble", ["read", "-n", "Pulse-Z1", "2A19"], environment: [("BLUETOOTH_SIMULATION", Self.world)])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("97"))
    }

    @Test func whatIsWrittenToALINBLEIsEchoed() async throws {
        let ended = try await run(
            "linble", ["exchange", "-n", "LINBLE-Z1", "0100"], environment: [("BLUETOOTH_SIMULATION", Self.world)])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines == ["Tx | 0100", "Rx | 0100"])
    }

    @Test func aWrongFileIsRefusedWithThePlace() async throws {
        var template = Array("/tmp/worldXXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { unlink(path) }
        _ = write(descriptor, #"{"devices":[{"rssi":"loud"}]}"#, 29)
        close(descriptor)
        let ended = try await run("ble", ["scan", "--for", "1"], environment: [("BLUETOOTH_SIMULATION", path)])
        #expect(ended.status == 64)
        #expect(
            ended.messages.contains(
                "BLUETOOTH_SIMULATION=\(path) cannot be used: devices[0].rssi: it is not a whole number"))
    }
}
