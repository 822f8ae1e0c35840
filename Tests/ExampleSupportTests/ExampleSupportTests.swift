import BluetoothLE
import BluetoothPrimitives
@testable import ExampleSupport
import Glibc
import Testing

@Suite struct ExampleSupportTests {
    @Test(
        arguments: [
            (true, [], ["PATH is ignored: this program has file capabilities. Use --world FILE."]),
            (true, ["--world", "y.json"], []), (true, ["--simulate"], []), (false, [], []),
        ] as [(Bool, [String], [String])])
    func anIgnoredVariableIsNamed(_ isSecure: Bool, _ arguments: [String], _ expected: [String]) throws {
        let options = try CommonOptions.parse(arguments)
        var messages: [String] = []
        options.reportIgnored("PATH", isSecure: isSecure) { messages.append($0) }
        options.reportIgnored("BLUETOOTH_IS_NOT_SET", isSecure: isSecure) { messages.append($0) }
        #expect(messages == expected)
    }

    @Test(
        arguments: [
            ("-n Pulse-Z1 -i hci0", "ble pair -i hci0 -n Pulse-Z1"), ("--simulate", "ble pair --simulate"),
            ("-i hci0,hci1 --coded", "ble pair -i hci1 -a C0:98:E5:12:34:58 --address-type random --coded"),
            (
                "--world x.json --bonds /no/bonds --name no-name",
                "ble pair --world x.json --bonds /no/bonds -n no-name"
            ),
            ("--simulate -a C0:98:E5:12:34:58", "ble pair --simulate -a C0:98:E5:12:34:58 --address-type random"),
        ])
    func aCommandForTheSameDeviceCanBeCopied(_ arguments: String, _ command: String) throws {
        let options = try CommonOptions.parse(arguments.split(separator: " ").map(String.init))
        let peer = BluetoothAddress(0xC098_E512_3458, kind: .random)
        #expect(options.command("pair", on: peer, by: "hci1") == command)
        #expect(options.command("pair", on: peer, by: nil, ["--security", "a b"]).hasSuffix(" --security 'a b'"))
        #expect(options.ofStep.command("pair", on: peer, by: "hci1") == "pair")
    }

    @Test func aCauseThatTheMessageNamesIsNotRepeated() {
        let cause = BluetoothError.Cause.kernel(KernelError("socket", .addressFamilyNotSupported))
        for (code, text) in [
            (BluetoothError.Code.noBluetooth, "scan: No."), (.failed, "scan: No. [socket: EAFNOSUPPORT]"),
        ] {
            #expect(BluetoothError(code, .init("scan"), "No.", remedy: "Do.", cause: cause).withoutRemedy == text)
        }
    }

    @Test(
        arguments: [
            (.remote, "remote"), (.adapterRemoved, "adapter removed"), (.remotePowerOff, "remote power off"),
        ] as [(DisconnectReason, String)])
    func aReasonIsShownInWords(_ reason: DisconnectReason, _ words: String) {
        #expect(reason.words == words)
    }

    @Test(.timeLimit(.minutes(1))) func concurrentReadsOfStandardInputAreNotMixed() async throws {
        var ends: [Int32] = [-1, -1]
        let status = pipe(&ends)
        try #require(status == 0)
        let (reading, writing) = (ends[0], ends[1])
        let input = StandardInput(reading: reading)
        let answers = await withTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<2 { group.addTask { await input.next() } }
            var answers: [[UInt8]?] = []
            // One ends immediately, since nothing has been written yet.
            for await answer in group {
                if answers.isEmpty { _ = write(writing, "a", 1) }
                answers.append(answer)
            }
            return answers
        }
        #expect(answers == [nil, [0x61]])
        // Cancelling a call ends only that call.
        let cancelled = Task { await input.next() }
        cancelled.cancel()
        let nothing = await cancelled.value
        #expect(nothing == nil)
        let next = Task { await input.next() }
        _ = write(writing, "b", 1)
        let bytes = await next.value
        #expect(bytes == [0x62])
        close(writing)
        let end = await input.next()
        #expect(end == nil)
        close(reading)
    }

    @Test func controlCharactersFromADeviceAreEscaped() {
        #expect(printable("ok\u{1B}[2J\u{202E}é") == "ok\\u{1B}[2J\\u{202E}é")
        // Nor can they reorder the text after them.
        for control in [0x61C, 0x200E, 0x200F] + Array(0x202A...0x202E) + Array(0x2066...0x2069) as [UInt32] {
            let text = Unicode.Scalar(control).map { String($0) } ?? ""
            #expect(printable(text) == "\\u{\(String(control, radix: 16, uppercase: true))}")
            #expect("\(JSONValue.string(text))".utf8.allSatisfy { $0 < 0x80 })
        }
    }

    @Test func columnsAreAsWideAsTheirWidestCell() {
        var table = Table([.init("NAME"), .init("N", .right)])
        table.add(["a", "10"])
        table.add(["longer"])
        #expect(table.lines == ["NAME     N", "a       10", "longer"])
    }

    @Test func numbersAndPicturesAreRounded() {
        #expect(formatDecimal(1.005, digits: 1) == "1.0")
        #expect(formatDecimal(-0.06, digits: 1) == "-0.1")
        #expect(formatDecimal(-0.01, digits: 1) == "0.0")
        #expect(formatDecimal(9.96, digits: 1) == "10.0")
        #expect(formatDecimal(.nan, digits: 1) == "nan")
        #expect(formatRate(999) == "999 B/s")
        #expect(formatRate(12_345) == "12.3 kB/s")
        #expect(sparkline([1, 2, 3]) == "▁▅█")
        // 1 to 3 dB of noise does not show on the common scale.
        #expect(sparkline([-58, -57, -60], in: signalStrengths) == "▅▅▅")
        #expect(sparkline([-120, -100, -91, -74, -56, -39, -30, 20], in: signalStrengths) == "▁▁▂▃▆▇██")
        #expect(sparkline([-70], in: signalStrengths) == "▄")
        #expect(sparkline([5, 5]) == "▅▅")
        #expect(sparkline([]) == "")
    }
}

@Suite struct PseudoTerminalTests {
    /// A descriptor closed twice belongs to other code the second time.
    @Test(.timeLimit(.minutes(1))) func everyDescriptorIsClosedOnce() async {
        // Another task reuses each closed descriptor, and finds it closed if it is closed twice.
        let taker = Task.detached {
            var lost = 0
            while !Task.isCancelled {
                let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                if close(descriptor) != 0 { lost += 1 }
            }
            return lost
        }
        for _ in 0..<3000 { #expect(throws: ProgramError.self) { try PseudoTerminal(link: "/tmp") } }
        taker.cancel()
        #expect(await taker.value == 0)
    }
}
