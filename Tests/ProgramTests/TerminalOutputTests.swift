import Dispatch
import ExampleSupport
import Glibc
import Testing

/// The programs' terminal output, on the simulated radio.
@Suite(.serialized) struct TerminalOutputTests {
    /// Runs a shell line with standard output and standard error on a terminal of `columns` by 24 cells; returns the text
    /// that the terminal received, and the exit status.
    /// - Parameter word: the output after which the file `$SEEN` is created.
    private static func onTerminal(
        _ columns: UInt16, _ line: String, word: String = "\0"
    ) async throws -> (text: String, status: String) {
        var (master, slave): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        let status = openpty(&master, &slave, nil, nil, &size)
        try #require(status == 0)
        var name = [CChar](repeating: 0, count: 128)
        ttyname_r(slave, &name, name.count)
        let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let (end, other, seen) = (master, slave, "/tmp/seen-\(getpid())")
        unlink(seen)
        defer { unlink(seen) }
        async let text = withCheckedContinuation { continuation in
            DispatchQueue(label: "terminal").async { continuation.resume(returning: everything(from: end, seen, word)) }
        }
        let ended = try await inShell("unset NO_COLOR; SEEN=\(seen); (\(line)) >\(path) 2>&1 </dev/null; echo $?")
        close(other)
        let all = await text
        close(end)
        return (all, ended.output.trimmingSuffix { $0 == "\n" })
    }

    /// Reads a terminal's input until every writer has closed it; creates a file once `word` has arrived.
    private static func everything(from master: Int32, _ seen: String, _ word: String) -> String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while case let count = read(master, &block, block.count), count > 0 {
            bytes += block[..<count]
            if access(seen, F_OK) != 0, String(decoding: bytes, as: UTF8.self).contains(word) {
                close(open(seen, O_WRONLY | O_CREAT, 0o600))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [40, 64, 80] as [UInt16]) func theNameIsVisible(_ columns: UInt16) async throws {
        let (text, status) = try await Self.onTerminal(columns, "ble scan --simulate --for 2")
        #expect(status == "0")
        // The cursor is hidden before the first table and shown after the last.
        let parts = text.split(separator: "\u{1B}[?25l")
        #expect(parts.count == 2 || (parts.count == 1 && text.hasPrefix("\u{1B}[?25l")))
        #expect(text.ranges(of: "\u{1B}[?25h").count == 1)
        let tables = text.split(separator: "\u{1B}[J")
        #expect(tables.count > 2)
        for table in tables.dropLast() { #expect(table.contains("NAME")) }
        #expect(tables.dropLast().last?.contains("LINBLE-ECHO") == true)
        // The final table is complete, and no line of it wraps.
        let last = try #require(tables.dropLast().last)
        let words = last.replacing(/\u{1B}\[\d*[AK]/, with: "").replacing(/\s+/, with: " ")
        for text in ["180F Battery", "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", "Eddystone-URL https://swift.org"] {
            #expect(words.contains(text), "\(last)")
        }
        // A terminal's lines end with both: one character in Swift.
        for line in last.split(whereSeparator: \.isNewline) {
            let characters = line.replacing(/\u{1B}\[\d*[AK]/, with: "").filter { $0 != "\r" }
            #expect(characters.count <= Int(columns), "\(characters)")
        }
    }

    @Test(arguments: [("INT", "130", "interrupted"), ("TERM", "143", "terminated")])
    func aSignalRestoresTheTerminal(_ signal: String, _ status: String, _ word: String) async throws {
        for (command, shown) in [("ble scan --watch", "LINBLE-Z1"), ("ble rssi --watch", "dBm")] {
            let (text, ended) = try await Self.onTerminal(
                40,
                """
                \(command) --simulate & while kill -0 $! && [ ! -e $SEEN ]; do sleep 0.05; done
                printf '^C'; kill -\(signal) $!; wait $!
                """, word: shown)
            #expect(ended == status, "\(text)")
            let end = text.split(separator: "^C").last ?? ""
            // The table is redrawn over the terminal's ^C, then the cursor is shown.
            #expect(end.hasPrefix("\r"), "\(text)")
            let cursor = try #require(end.firstRange(of: "\u{1B}[?25h"))
            #expect(end[cursor.upperBound...].contains("\(command.prefix(8)): \(word)"))
            #expect(text.ranges(of: "\u{1B}[?25l").count == 1)
        }
    }

    @Test(
        arguments: [40, 64, 80] as [UInt16],
        [
            "ble explore", "ble doctor", "ble bonds", "ble bonds list --help", "ble adapters", "ble read nothing",
            "ble power --help", "ble notify 2A37 --count 1", "ble rssi -i hci9",
            "linble serve --once", "linble bridge --tcp 0 --for 3",
        ])
    func linesAreBrokenBetweenWords(_ columns: UInt16, _ command: String) async throws {
        let (text, _) = try await Self.onTerminal(columns, "\(command) --simulate")
        let lines = text.replacing(/\u{1B}\[[?\d]*[A-Za-z]/, with: "").split(whereSeparator: \.isNewline)
        #expect(!lines.isEmpty)
        for line in lines { #expect(line.count <= Int(columns), "\(text)") }
        // As many words as without a terminal, of which only UUIDs and long values are broken.
        let whole = try await inShell("\(command) --simulate 2>&1")
        let known = Set(whole.output.split { $0.isWhitespace })
        let broken = lines.flatMap { $0.split(separator: " ") }.filter { word in
            !known.contains(word) && !"│├└─".contains(word.first ?? " ") && word.allSatisfy(\.isLetter)
        }
        #expect(broken.isEmpty, "\(text)")
    }

    @Test func aNarrowTerminalShowsWhatAValueIs() async throws {
        let (text, _) = try await Self.onTerminal(40, "ble --no-color doctor --simulate")
        let lines = text.split(whereSeparator: \.isNewline)
        let indent = String(repeating: " ", count: 18)
        #expect(lines.contains { $0.hasPrefix(indent) }, "\(text)")
        for line in lines { #expect(line.hasPrefix(indent) || !line.hasPrefix(" "), "\(text)") }
        let (adapters, _) = try await Self.onTerminal(40, "ble adapters --simulate")
        #expect(adapters.contains("MANUFACTURER"), "\(adapters)")
    }

    @Test func aTerminalShowsTheLocalTime() async throws {
        let (text, status) = try await Self.onTerminal(
            80, "TZ=UTC-5 ble notify 2A37 --simulate --count 1; date -u +%H; ble bonds --simulate")
        #expect(status == "0", "\(text)")
        let hour = try #require(text.firstMatch(of: /(\d\d):\d\d:\d\d\.\d{3}/)?.1)
        let other = try #require(text.split(whereSeparator: \.isNewline).first { $0.count == 2 && Int($0) != nil })
        // The hour may have changed between them.
        let difference = ((Int(hour) ?? 0) - (Int(other) ?? 0) + 24) % 24
        #expect([4, 5].contains(difference), "\(text)")
        #expect(text.contains(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/), "\(text)")
        #expect(!text.contains(/\d\dT\d\d/), "\(text)")
    }

    @Test func aNarrowBarStaysOnItsLine() async throws {
        let (text, status) = try await Self.onTerminal(
            40, "head -c 20000 /dev/zero >$FOLDER/file; linble send $FOLDER/file --simulate")
        #expect(status == "0", "\(text)")
        let bars = text.split { $0 == "\r" || $0 == "\r\n" }.filter { $0.contains("sending") }
        #expect(bars.count > 1)
        #expect(bars.allSatisfy { $0.count <= 40 + "\u{1B}[K\u{1B}[36m\u{1B}[0m\u{1B}[?25l".count }, "\(bars)")
        #expect(text.ranges(of: "\r\n").count == 2, "\(text)")
    }

    /// The program waits for the reader of its output, who reads little until the bar appears.
    @Test func decodingShowsItsProgressAfterTwoSeconds() async throws {
        try await withFolder { folder in
            let packet = (bytes: "02 4020 0700 0300 0400 1B1200", time: Int64(0x00E0_3AB4_4A67_6000), missing: 0)
            for (name, count) in [("short", 5), ("long", 5000)] {
                try NewFile("\(folder)/\(name)", replacesExisting: false).write(
                    DecodeTests.capture(Array(repeating: packet, count: count)))
            }
            let start = ContinuousClock.now
            let short = try await Self.onTerminal(80, "ble decode \(folder)/short >/dev/null")
            #expect(!short.text.contains("decoding") || ContinuousClock.now - start >= .seconds(2), "\(short.text)")
            #expect(short.text.hasPrefix("5 packets"))
            let long = try await Self.onTerminal(
                80,
                """
                ble decode \(folder)/long |
                { while [ ! -e $SEEN ] && [ -n "$(head -c 2048)" ]; do sleep 0.05; done; cat >/dev/null; }
                """, word: "decoding")
            #expect(long.status == "0")
            #expect(long.text.contains("decoding") && long.text.contains("/180016 B"), "\(long.text)")
            // The bar is removed before the summary.
            #expect(long.text.contains("\r\u{1B}[K\u{1B}[?25h5000 packets"), "\(long.text)")
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(while condition: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, condition(last) { text.removeLast() }
        return text
    }
}
