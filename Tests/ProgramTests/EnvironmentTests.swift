import Glibc
import Testing

/// `BLUETOOTH_SIMULATION=FILE`, which chooses a simulated radio for a program that does not name one.
@Suite(.serialized) struct EnvironmentTests {
    private static let world = #filePath.replacing(
        "/Tests/ProgramTests/EnvironmentTests.swift", with: "/Examples/CoreBluetoothCentral/world.json")

    private static let smallWorld = #filePath.replacing(
        "/Tests/ProgramTests/EnvironmentTests.swift", with: "/Examples/Small/world.json")

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

    @Test(
        arguments: [
            "ble read -n Pulse-Z1 2A19", "SMALL_PROGRAM=ReadBattery SmallPrograms",
            "SMALL_PROGRAM=CoreBluetoothScanner SmallPrograms",
        ])
    func packetsAreRecordedWithoutAnOption(_ command: String) async throws {
        let ended = try await inShell(
            """
            export BLUETOOTH_SIMULATION='\(Self.smallWorld)' BLUETOOTH_TRACE="$FOLDER/%%-%p-%t.btsnoop"
            env \(command) >$FOLDER/result
            ble decode "$(echo $FOLDER/%-[1-9]*-1[0-9]*.btsnoop)"
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.count > 3, "\(ended.output)")
    }

    @Test func anExistingFileIsNoTrace() async throws {
        let ended = try await inShell(
            """
            export BLUETOOTH_SIMULATION='\(Self.smallWorld)' BLUETOOTH_TRACE="$FOLDER/file"
            echo precious >$FOLDER/file
            ble read -n Pulse-Z1 2A19 --force; echo $?
            SMALL_PROGRAM=ReadBattery SmallPrograms
            cat $FOLDER/file
            """)
        #expect(ended.lines.first == "73", "\(ended.output)")
        #expect(ended.lines.last == "precious", "\(ended.output)")
        #expect(ended.output.contains("BLUETOOTH_TRACE: "), "\(ended.output)")
        #expect(ended.messages.contains("ble read: record packets: BLUETOOTH_TRACE: "), "\(ended.messages)")
    }

    @Test(arguments: ["ble read -n Pulse-Z1 2A19", "env SMALL_PROGRAM=ReadBattery SmallPrograms"])
    func standardOutputIsNoTraceAndNoFile(_ command: String) async throws {
        let ended = try await inShell(
            """
            export BLUETOOTH_SIMULATION='\(Self.smallWorld)' BLUETOOTH_TRACE=-
            cd $FOLDER; \(command); ls
            """)
        #expect(ended.output.hasSuffix("err\nout\n"), "\(ended.output)")
        #expect(ended.lines.allSatisfy { $0 != "-" }, "\(ended.output)")
        #expect((ended.output + ended.messages).contains("BLUETOOTH_TRACE: The file cannot be standard output."))
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
