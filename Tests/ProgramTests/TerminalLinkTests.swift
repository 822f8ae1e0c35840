import Glibc
import Testing

/// The ownership of the link of `linble serve --pty LINK`.
@Suite(.serialized) struct TerminalLinkTests {
    /// A shell script that starts a server, with its output in `out` and its PID in `$!`, and waits until it advertises.
    private static func serve(_ folder: String) -> String {
        """
        rm -f '\(folder)/out' # an earlier server's
        '\(builtFolder)/linble' serve --simulate --pty '\(folder)/link' >'\(folder)/out' 2>'\(folder)/err' &
        while kill -0 $! && ! grep -qs serves '\(folder)/out'; do sleep 0.05; done

        """
    }

    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink(link, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    @Test(
        arguments: [
            ("ln -s /etc/hostname LINK", "is a symbolic link to /etc/hostname"), ("ln -s /nowhere LINK", "to /nowhere"),
            ("ln -s /dev/pts/ptmx LINK", "to /dev/pts/ptmx"), ("ln -s /dev/pts/1/../0 LINK", "to /dev/pts/1/../0"),
            ("echo mine >LINK", "is a file"), ("mkfifo LINK", "is a FIFO"), ("mkdir LINK", "is a folder"),
            ("echo mine >LINK.lock", "is not a lock file"), ("ln -s /etc/hostname LINK.lock", "Cannot open"),
            ("echo 1 >other; ln other LINK.lock", "is not a lock file"),
        ])
    func theUsersFilesAreLeftAlone(_ preparation: String, _ words: String) async throws {
        try await withFolder { folder in
            #expect(
                await shell("cd \(folder) && mkdir own && cd own && \(preparation.replacing("LINK", with: "link"))")
                    == 0)
            // The folder's entries, and the contents of regular files.
            let list = "cd \(folder)/own && ls -lA --time-style=full-iso && find . -type f -exec cat {} +"
            #expect(await shell("(\(list)) >\(folder)/before") == 0)
            let link = "\(folder)/own/link"
            let ended = try await run("linble", ["serve", "--simulate", "--pty", link, "--for", "1"])
            #expect(ended.status == 73)
            #expect(ended.messages.contains(words), "\(ended.messages)")
            #expect(ended.messages.contains(link), "\(ended.messages)")
            #expect(ended.output == "")
            #expect(await shell("(\(list)) | cmp - \(folder)/before") == 0)
        }
    }

    @Test func aLinkInUseIsKept() async throws {
        try await withFolder { folder in
            let link = "\(folder)/link"
            // The second program ends first; the link of the first is read before it is stopped.
            let status = await shell(
                Self.serve(folder)
                    + """
                    echo $! >\(folder)/pid; readlink \(link) >\(folder)/first
                    '\(builtFolder)/linble' serve --simulate --pty \(link) --for 1 >\(folder)/out2 2>\(folder)/err2
                    echo $? >\(folder)/status2; readlink \(link) >\(folder)/then
                    kill -TERM $(cat \(link).lock); wait $!
                    """)
            #expect(status == 0)
            let pid = contents(of: "\(folder)/pid").filter(\.isNumber)
            #expect(contents(of: "\(folder)/status2") == "74\n")
            #expect(contents(of: "\(folder)/err2").contains("\(link) is in use by PID \(pid)."))
            #expect(contents(of: "\(folder)/first").hasPrefix("/dev/pts/"))
            #expect(contents(of: "\(folder)/first") == contents(of: "\(folder)/then"))
            // It removes both when it ends.
            #expect(!Self.exists(link) && !Self.exists(link + ".lock"))
        }
    }

    @Test func aStaleLinkIsReplaced() async throws {
        try await withFolder { folder in
            let link = "\(folder)/link"
            // The test reuses the number of its terminal.
            var ends: (Int32, Int32) = (-1, -1)
            var name = [CChar](repeating: 0, count: 64)
            #expect(openpty(&ends.0, &ends.1, &name, nil, nil) == 0)
            defer { for end in [ends.0, ends.1] { close(end) } }
            let own = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            #expect(await shell(Self.serve(folder) + "kill -KILL $!; wait $!") == 128 + SIGKILL)
            #expect(Self.target(of: link)?.hasPrefix("/dev/pts/") == true && Self.exists(link + ".lock"))
            #expect(await shell("ln -sfn \(own) \(link)") == 0)
            let status = await shell(
                Self.serve(folder) + "readlink \(link) >\(folder)/then; kill -TERM $!; wait $!")
            #expect(status == 0, "\(contents(of: "\(folder)/err"))")
            #expect(contents(of: "\(folder)/then").hasPrefix("/dev/pts/"))
            #expect(contents(of: "\(folder)/then") != own + "\n")
            #expect(!Self.exists(link) && !Self.exists(link + ".lock"))
        }
    }

    @Test func aReplacedLinkIsKept() async throws {
        try await withFolder { folder in
            let link = "\(folder)/link"
            #expect(await shell(Self.serve(folder) + "ln -sfn /etc/hostname \(link); kill -TERM $!; wait $!") == 0)
            #expect(Self.target(of: link) == "/etc/hostname")
            #expect(!Self.exists(link + ".lock"))
        }
    }

    @Test func oneOfSeveralConcurrentProgramsGetsTheLink() async throws {
        try await withFolder { folder in
            // A killed program has left its lock file behind.
            #expect(await shell("cd \(folder) && ln -s /dev/pts/4000000 link && echo 4000000 >link.lock") == 0)
            _ = await shell(
                """
                cd \(folder)
                for n in 1 2 3 4 5 6; do
                    { '\(builtFolder)/linble' serve --simulate --pty link >out$n 2>err$n; echo $? >status$n; } &
                done
                for n in $(seq 1200); do
                    [ $(cat status? 2>/dev/null | wc -l) -ge 5 ] && grep -qs serves out? && break
                    sleep 0.05
                done
                kill -TERM $(cat link.lock); wait
                cat status? | sort >all
                """)
            #expect(contents(of: "\(folder)/all") == "0\n74\n74\n74\n74\n74\n")
            #expect(await shell("[ $(cat \(folder)/err? | grep -c 'link is in use by') = 5 ]") == 0)
            #expect(!Self.exists("\(folder)/link") && !Self.exists("\(folder)/link.lock"))
        }
    }
}
