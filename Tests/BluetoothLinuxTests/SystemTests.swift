import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import Glibc
import TestSupport
import Testing

@testable import BluetoothLinux

private let kernelHasBluetooth = (try? LinuxKernel.shared.environment().socketError == nil) == true

@Suite(.timeLimit(.minutes(1)))
struct SystemTests {
    /// Two connected sockets.
    private static func descriptors() throws -> [CInt] {
        var pair: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0, &pair) == 0)
        return pair
    }

    @Test(.enabled(if: !kernelHasBluetooth)) func aKernelWithoutBluetoothSaysSo() async throws {
        let kernel = try LinuxKernel.shared
        let missing = KernelError("socket", .addressFamilyNotSupported)
        #expect(throws: missing) { try kernel.adapters() }
        #expect(kernel.environment().socketError == missing)
        await kernel.onLoop {
            #expect(throws: missing) { try kernel.openManagement { _ in } }
            #expect(throws: missing) { try kernel.openHCI(adapter: 0) { _ in } }
            #expect(throws: missing) {
                try kernel.connectL2CAP(
                    to: .zero, channel: .attribute, from: .zero, options: L2CAPOptions(), { _ in })
            }
            #expect(throws: missing) {
                try kernel.listenL2CAP(channel: .attribute, on: .zero, options: L2CAPOptions()) { _ in { _ in } }
            }
        }
    }

    @Test func theEnvironmentIsRead() throws {
        let environment = try LinuxKernel.shared.environment()
        #expect(environment.executablePath?.hasPrefix("/") == true)
        #expect(environment.kernelRelease.first?.isNumber == true)
    }

    @Test(
        arguments: [
            ("Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t0000000000003000\nCapBnd:\t0000000000000000\n", 0x3000),
            ("CapEff:\t000001ffffffffff\n", 0x1ff_ffff_ffff),
            ("CapEff:\tnonsense\n", 0), ("CapEff:\n", 0), ("", 0),
        ] as [(String, UInt64)])
    func capabilitiesAreReadFromTheProcessStatus(status: String, expected: UInt64) {
        #expect(HostEnvironment.effectiveCapabilities(status: status) == expected)
    }

    @Test func radioSwitchesOfOtherKindsAreLeftOut() throws {
        let folder = try TemporaryFolder()
        for (name, files) in [
            ("rfkill0", ["type": "wlan\n", "name": "phy0\n", "soft": "1\n", "hard": "0\n"]),
            ("rfkill1", ["type": "bluetooth\n", "name": "hci0\n", "soft": "1\n", "hard": "0\n"]),
            ("rfkill2", ["type": "bluetooth\n", "name": "hci1\n", "soft": "0\n", "hard": "1\n"]),
            ("rfkill3", ["type": "bluetooth\n"]),
        ] {
            try folder.write(files, in: name)
        }
        #expect(
            HostEnvironment.radioSwitches(in: folder.path) == [
                .init(name: "hci0", isSoftBlocked: true, isHardBlocked: false),
                .init(name: "hci1", isSoftBlocked: false, isHardBlocked: true),
            ])
        #expect(HostEnvironment.radioSwitches(in: "/nowhere") == [])
    }

    @Test func filesAreReadToALimit() {
        #expect(fileText("/proc/self/comm")?.hasSuffix("\n") == true)
        #expect(fileText("/dev/zero", limit: 5000)?.utf8.count == 5000)
        #expect(fileText("/nowhere") == nil)
        #expect(linkTarget("/nowhere") == nil)
    }

    @Test func socketAddressesHaveTheKernelsLayout() throws {
        let address = try #require(BluetoothAddress("C0:98:E5:12:34:56", kind: .random))
        #expect(Layout.l2cap(address, .attribute) == hex("1f00 0000 563412e598c0 0400 02"))
        #expect(Layout.l2cap(.zero, .dynamic(psm: 0x0081)) == hex("1f00 8100 000000000000 0000 01"))
        #expect(Layout.management == hex("1f00 ffff 0300"))
        #expect(Layout.roundTrip(address) == address)
        #expect(Layout.filterSize == 16)
        #expect(Layout.deviceInformationSize == 92)
    }

    @Test func anAttemptThatTheKernelForgotEnds() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        let events = Journal<SocketEvent>()
        let sockets = try await loop.run {
            let pair = try Self.descriptors()
            // A full socket: it does not become writable without a reader.
            let socket = DescriptorSocket(FileDescriptor(pair[0]), driver: driver)
            while socket.send([1].span.bytes) == .sent {}
            try socket.startConnecting(limit: .milliseconds(20), on: loop) { events.add($0) }
            return (socket, DescriptorSocket(FileDescriptor(pair[1]), driver: driver))
        }
        #expect(await events.wait(on: loop) { !$0.isEmpty } == [.closed(KernelError("connect", .timedOut))])
        withExtendedLifetime(sockets) {}
    }

    @Test func anAttemptThatSucceededIsNotEndedLater() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        let events = Journal<SocketEvent>()
        let later = Journal<Int>()
        let timer = loop.makeTimer { later.add(0) }
        let sockets = try await loop.run {
            let pair = try Self.descriptors()
            let socket = DescriptorSocket(FileDescriptor(pair[0]), driver: driver)
            try socket.startConnecting(limit: .milliseconds(20), on: loop) { events.add($0) }
            timer.set(after: .milliseconds(25))
            return (socket, DescriptorSocket(FileDescriptor(pair[1]), driver: driver))
        }
        await later.wait(on: loop) { !$0.isEmpty }
        #expect(events.entries == [.writable])
        await loop.run { sockets.0.close() }
    }

    /// As in a program that becomes a daemon by closing all its descriptors.
    @Test func aLoopWhoseDescriptorWasClosedTellsItsSocketsAndGoesOn() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        let events = Journal<SocketEvent>()
        let later = Journal<Int>()
        let timer = loop.makeTimer { later.add(0) }
        let sockets = try await loop.run {
            let pair = try Self.descriptors()
            let socket = DescriptorSocket(FileDescriptor(pair[0]), driver: driver)
            try socket.start { events.add($0) }
            // A descriptor that is no longer an epoll instance, whose number was never free.
            dup2(pair[1], driver.epollNumber)
            return (socket, DescriptorSocket(FileDescriptor(pair[1]), driver: driver))
        }
        #expect(await events.wait(on: loop) { !$0.isEmpty } == [.closed(KernelError("recv", .connectionReset))])
        await loop.run { timer.set(after: .milliseconds(5)) }
        #expect(await later.wait(on: loop) { !$0.isEmpty } == [0])
        // Sockets opened afterwards work.
        let (first, second) = try await loop.run {
            let pair = try Self.descriptors()
            let socket = DescriptorSocket(FileDescriptor(pair[0]), driver: driver)
            try socket.start { if $0 == .readable { later.add(1) } }
            return (socket, DescriptorSocket(FileDescriptor(pair[1]), driver: driver))
        }
        await loop.run { _ = second.send([1].span.bytes) }
        #expect(await later.wait(on: loop) { $0.contains(1) } != nil)
        await loop.run {
            for socket in [sockets.0, sockets.1, first, second] { socket.close() }
        }
    }

    @Test func aWaitThatFailsLeavesNoDescriptorOpen() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        func epollCount() -> Int {
            (0..<2048).count { number in
                var name = [CChar](repeating: 0, count: 64)
                let count = readlink("/proc/self/fd/\(number)", &name, name.count)
                return count > 0 && name.prefix(count).elementsEqual("anon_inode:[eventpoll]".utf8.map(CChar.init))
            }
        }
        // Other tests have descriptors of their own.
        let before = epollCount()
        await loop.run { for _ in 0..<300 { driver.recover(0) } }
        #expect(epollCount() < before + 150)
        // A closed descriptor whose number belongs to another is left alone.
        try await loop.run {
            let pair = try Self.descriptors()
            let taken = driver.epollNumber
            dup2(pair[1], taken)
            driver.recover(0)
            #expect(driver.epollNumber != taken)
            #expect(fcntl(taken, F_GETFD) >= 0)
            for number in [pair[0], pair[1], taken] { close(number) }
        }
        await loop.run {}
    }

    @Test func everyWriteToAWatchedEventDescriptorIsReported() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        let written = Journal<Int>()
        let event = try FileDescriptor.event()
        event.signal()
        let number = event.number
        try await loop.run { try EventWatch(number, driver: driver) { written.add(0) }.start() }
        #expect(await written.wait(on: loop) { $0.count == 1 } != nil)
        event.signal()
        #expect(await written.wait(on: loop) { $0.count == 2 } != nil)
        // Once each, though the count is never read.
        for _ in 0..<3 { await loop.run {} }
        #expect(written.entries.count == 2)
        // A loop that has lost its descriptor registers it again: a call for the loss, and one for the count.
        await loop.run { driver.recover(0) }
        #expect(await written.wait(on: loop) { $0.count == 4 } != nil)
        event.signal()
        #expect(await written.wait(on: loop) { $0.count == 5 } != nil)
    }

    @Test func aLoopThatIsNeverUsedLeavesNoThread() throws {
        for _ in 0..<100 { _ = try LinuxKernel() }
    }

    @Test func aPacketThatDoesNotFitTheBufferEndsTheSocket() async throws {
        let driver = try EpollDriver()
        let loop = EventLoop(driver: driver)
        defer { loop.stop() }
        let events = Journal<SocketEvent>()
        let sockets = try await loop.run {
            let pair = try Self.descriptors()
            let receiver = DescriptorSocket(FileDescriptor(pair[0]), driver: driver)
            let sender = DescriptorSocket(FileDescriptor(pair[1]), driver: driver)
            try receiver.start { event in
                if event == .readable {
                    let outcome = receiver.receive { _ in Issue.record("a packet was cut") }
                    #expect(outcome == .failed(KernelError("recv", .messageTooLong)))
                }
                events.add(event)
            }
            try sender.start { _ in }
            #expect(sender.send([UInt8](repeating: 1, count: PacketBuffer.capacity + 1).span.bytes) == .sent)
            return (receiver, sender)
        }
        let told = await events.wait(on: loop) { $0.count == 2 }
        #expect(told == [.readable, .closed(KernelError("recv", .messageTooLong))])
        await loop.run { sockets.1.close() }
    }
}

/// A folder that is removed with its owner.
private final class TemporaryFolder {
    let path: String
    private var files: [String] = []
    private var folders: [String] = []

    init() throws {
        var template = Array("/tmp/linux-kernel-tests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw KernelError("mkdtemp", ErrorNumber(rawValue: errno)) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func write(_ contents: [String: String], in folder: String) throws {
        mkdir("\(path)/\(folder)", 0o700)
        folders.append("\(path)/\(folder)")
        for (name, text) in contents {
            let file = "\(path)/\(folder)/\(name)"
            guard let stream = fopen(file, "w") else { throw KernelError("fopen", ErrorNumber(rawValue: errno)) }
            fputs(text, stream)
            fclose(stream)
            files.append(file)
        }
    }

    deinit {
        for file in files { unlink(file) }
        for folder in folders + [path] { rmdir(folder) }
    }
}
