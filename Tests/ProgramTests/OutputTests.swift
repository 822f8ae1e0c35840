import Glibc
import Testing

/// Output that cannot be written, and the files of traces, on the simulated radio.
@Suite(.serialized) struct OutputTests {
    @Test(
        arguments: [
            "ble scan --for 1", "ble scan --json", "ble explore", "ble read 2A19", "ble notify 2A37",
            "ble notify 2A37 --json", "ble rssi --watch", "ble params", "ble adapters", "ble doctor --json",
            "ble bonds list", "ble serve battery", "ble advertise -n hello", "linble exchange 0100",
            "linble exchange 0100 --json", "linble demo", "linble serve", "linble send /proc/version --json",
            "echo | linble terminal --linger 60 --echo --hex --eol lf -n LINBLE-ECHO",
        ])
    func aFailedWriteOfResultsEndsTheProgram(_ command: String) async throws {
        let ended = try await inShell("\(command) --simulate >/dev/full")
        #expect(ended.status == 74, "\(ended.messages)")
        let program = command.contains("linble") ? "linble" : "ble"
        let lines = ended.messages.split(separator: "\n").filter { $0.contains("Cannot write") }
        #expect(lines.count == 1, "\(ended.messages)")
        #expect(lines.first?.hasPrefix("\(program) ") == true)
        #expect(lines.first?.hasSuffix(": Cannot write the results: No space left on device") == true)
    }

    @Test(arguments: ["ble --help", "ble scan --help", "linble --version"])
    func aFailedWriteOfHelpIsAFailure(_ command: String) async throws {
        let ended = try await inShell("\(command) >/dev/full")
        #expect(ended.status == 74)
        #expect(ended.messages == "Cannot write the output: No space left on device\n")
    }

    @Test func aClosedOutputIsAFailure() async throws {
        let ended = try await inShell("ble adapters --simulate >&-")
        #expect(ended.status == 74)
        #expect(ended.messages == "ble adapters: Cannot write the results: Bad file descriptor\n")
    }

    /// Also if the parent process ignores SIGPIPE.
    @Test(arguments: ["", "trap '' PIPE; "]) func aClosedPipeEndsItQuietly(_ trap: String) async throws {
        let ended = try await inShell(
            "(\(trap)ble notify 2A37 --simulate; echo $? >$FOLDER/status) | head -1; cat $FOLDER/status")
        #expect(ended.lines.count == 2)
        #expect(ended.lines.last == "141")
        #expect(ended.messages == "")
    }

    @Test func oneDeviceIsCountedAsOne() async throws {
        let ended = try await run("ble", ["scan", "--simulate", "--for", "1", "--once", "--manufacturer", "004C:0215"])
        #expect(ended.messages.hasPrefix("1 device, 1 report in "), "\(ended.messages)")
        // There is no interval to show.
        #expect(ended.lines.first?.contains("RSSI  NAME") == true, "\(ended.output)")
    }

    @Test(arguments: [[], ["--json"]]) func aScanEndsAfterACount(_ options: [String]) async throws {
        let ended = try await run("ble", ["scan", "--simulate", "--watch", "--count", "3"] + options)
        #expect(ended.status == 0)
        #expect(ended.messages.contains("3 reports in "), "\(ended.messages)")
        let short = try await run(
            "ble", ["scan", "--simulate", "-n", "Pulse", "--once", "--count", "2", "--for", "1"] + options)
        #expect(short.status == 75)
        #expect(short.messages.contains("1 report in "), "\(short.messages)")
    }

    @Test func aScanIsSorted() async throws {
        let ended = try await run("ble", ["scan", "--simulate", "--for", "2", "--sort", "name"])
        let found = ended.lines.compactMap { line in
            ["LINBLE-ECHO", "LINBLE-Z1", "Pulse-Z1", "Thermometer"].first { line.contains($0) }
        }
        #expect(found == ["LINBLE-ECHO", "LINBLE-Z1", "Pulse-Z1", "Thermometer"], "\(ended.output)")
        #expect(try await run("ble", ["scan", "--simulate", "--sort", "size"]).status == 64)
    }

    // MARK: Traces

    /// As the guide says: without the format's name tshark reads 32 KiB first, which takes minutes on this link.
    @Test(.enabled(if: access("/usr/bin/tshark", X_OK) == 0, "tshark is not installed: bash Tests/install tshark"))
    func tsharkReadsWhileTheProgramRuns() async throws {
        let ended = try await inShell(
            """
            (timeout 30 ble notify 2A37 --simulate --trace - 2>/dev/null; echo $? >$FOLDER/status) |
                tshark -X 'read_format:Symbian OS btsnoop' -l -r - 2>/dev/null | head -1 | wc -l
            cat $FOLDER/status
            """)
        #expect(ended.lines.map { $0.trimmingPrefix(while: \.isWhitespace) } == ["1", "141"], "\(ended.output)")
    }

    @Test func aTraceThatCannotBeMadeFailsBeforeAnythingElse() async throws {
        let ended = try await inShell(
            """
            echo old >$FOLDER/echo
            linble send /proc/version --echo $FOLDER/echo --force --trace /nowhere/file --simulate; echo $?; cat $FOLDER/echo
            """)
        #expect(ended.output == "73\nold\n")
        #expect(
            ended.messages == "linble send: Cannot create /nowhere/file: there is no folder /nowhere.\n")
    }

    @Test(arguments: ["echo old >$FOLDER/file", "ln -s $FOLDER/target $FOLDER/file; echo old >$FOLDER/target"])
    func anExistingFileIsReplacedOnlyOnRequest(_ preparation: String) async throws {
        let ended = try await inShell(
            """
            \(preparation)
            ble rssi --simulate --trace $FOLDER/file; echo $?; cat $FOLDER/file
            ble rssi --simulate --trace $FOLDER/file --force; echo $?; head -c 7 $FOLDER/file; stat -c ' %a' $FOLDER/file
            if [ -e $FOLDER/target ]; then cat $FOLDER/target; else echo old; fi
            """)
        // A link is replaced, not what it leads to.
        #expect(ended.output == "73\nold\n-55 dBm\n0\nbtsnoop 600\nold\n")
        #expect(
            ended.messages.hasSuffix(
                "file exists.\nChoose another name, or replace the file with --force.\n")
        )
    }

    @Test func aTraceThatEndsEarlyIsReportedOnce() async throws {
        let ended = try await inShell("ble rssi --simulate --trace /dev/full")
        #expect(ended.status == 74)
        #expect(ended.output == "-55 dBm\n")
        #expect(
            ended.messages == """
                record packets: /dev/full cannot be written. [write: ENOSPC]
                Make room on the disk, or choose another one.

                """)
    }

    @Test(arguments: ["-", "/dev/stdout", "/dev/fd/1"])
    func packetsOnStandardOutputAreNotMixedWithResults(_ path: String) async throws {
        let ended = try await inShell(
            "ble rssi --simulate --trace \(path) >$FOLDER/file; head -c 7 $FOLDER/file; wc -l <$FOLDER/err")
        #expect(ended.output == "btsnoop1\n")
        #expect(ended.messages == "-55 dBm\n")
    }

    /// Not even if the program has that number in use itself, for its signals or its event loop.
    @Test(arguments: 3...9) func aDescriptorThatTheUserHasNotOpenedIsRejected(_ number: Int) async throws {
        let closed = (3...9).map { "\($0)>&-" }.joined(separator: " ")
        #expect(try await inShell("ble rssi --simulate --trace /dev/fd/\(number) \(closed); echo $?").output == "73\n")
        let opened = try await inShell(
            "ble rssi --simulate --trace /dev/fd/\(number) \(closed) \(number)>$FOLDER/file; head -c 7 $FOLDER/file")
        #expect(opened.output == "-55 dBm\nbtsnoop")
    }

    @Test func packetsAreReadAsTheyArrive() async throws {
        // Every advertisement is a packet: the reader has enough, and both programs end.
        let ended = try await inShell("ble scan --watch --simulate --trace - | head -c 2000 | wc -c")
        #expect(ended.output == "2000\n")
        #expect(!ended.messages.contains("cannot be written"), "\(ended.messages)")
    }

    @Test func aPipeIsAccepted() async throws {
        let ended = try await inShell(
            "mkfifo $FOLDER/pipe; exec 3<>$FOLDER/pipe; ble rssi --simulate --trace $FOLDER/pipe >&2; head -c 7 <&3"
        )
        #expect(ended.output == "btsnoop")
        #expect(ended.messages == "-55 dBm\n")
    }
}
