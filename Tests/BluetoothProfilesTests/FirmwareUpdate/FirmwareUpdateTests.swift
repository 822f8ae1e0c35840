import BluetoothLE
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothProfiles

/// Updates of a device of this library, over the simulated radio.
@Suite struct FirmwareUpdateTests {
    /// 1,000 bytes of content: ten messages of the small buffer.
    private static let file = mcubootImage(content: (0..<1000).map { UInt8(truncatingIfNeeded: $0) })

    @Test func aDeviceIsUpdated() async throws {
        try await FirmwareFixture.run { fixture in
            let image = try FirmwareImage(Self.file)
            let (updater, connection) = try await fixture.makeUpdater()
            #expect(try await updater.echo("Größe") == "Größe")
            let before = try await updater.images()
            #expect(before.map(\.version) == ["1.0.0"])
            #expect(before.map(\.isActive) == [true])

            let progress = Mutex<[Int]>([])
            try await updater.upload(image.bytes) { count in progress.withLock { $0.append(count) } }
            let counts = progress.withLock { $0 }
            #expect(counts == counts.sorted())
            #expect(counts.last == image.bytes.count)
            #expect(fixture.store.memory.storedBytes == image.bytes)

            let tested = try await updater.test(image.hash)
            #expect(tested.map(\.hash).last == image.hash)
            #expect(tested.map(\.isPending) == [false, true])
            try await updater.reset()
            #expect(await connection.disconnected().code == .disconnected)

            let (restarted, again) = try await fixture.makeUpdater()
            let after = try await restarted.images()
            #expect(after.map(\.version) == ["2.0.0", "1.0.0"])
            #expect(after.map(\.isConfirmed) == [false, true])
            let confirmed = try await restarted.confirm()
            #expect(confirmed.map(\.isConfirmed) == [true, false])
            await again.disconnect()
        }
    }

    @Test func anImageThatIsNotConfirmedGivesWay() async throws {
        try await FirmwareFixture.run { fixture in
            let image = try FirmwareImage(Self.file)
            let (updater, connection) = try await fixture.makeUpdater()
            try await updater.upload(image.bytes)
            try await updater.test(image.hash)
            try await updater.reset()
            _ = await connection.disconnected()
            let (second, link) = try await fixture.makeUpdater()
            #expect(try await second.images().first?.version == "2.0.0")
            try await second.reset()
            _ = await link.disconnected()
            let (third, last) = try await fixture.makeUpdater()
            #expect(try await third.images().map(\.version) == ["1.0.0", "2.0.0"])
            await last.disconnect()
        }
    }

    /// The image before it is then no longer the confirmed one.
    @Test func anImageThatIsConfirmedIsKept() async throws {
        try await FirmwareFixture.run { fixture in
            let image = try FirmwareImage(Self.file)
            let (updater, connection) = try await fixture.makeUpdater()
            try await updater.upload(image.bytes)
            let chosen = try await updater.confirm(image.hash)
            #expect(chosen.map(\.isPermanent) == [false, true])
            try await updater.reset()
            _ = await connection.disconnected()
            let (second, link) = try await fixture.makeUpdater()
            let slots = try await second.images()
            #expect(slots.map(\.version) == ["2.0.0", "1.0.0"])
            #expect(slots.map(\.isConfirmed) == [true, false])
            await link.disconnect()
        }
    }

    /// The link is lost before each part is stored, or after; the next link continues.
    @Test(arguments: [false, true]) func anUploadContinuesAfterEveryPart(_ isStored: Bool) async throws {
        try await FirmwareFixture.run(bufferSize: 160) { fixture in
            let parts = try await Self.partCount(fixture)
            #expect(parts > 5)
            for lost in 1...parts {
                let offset = fixture.store.appendCount
                fixture.store.onAppend { number in
                    guard number == offset + lost else { return }
                    if !isStored { defer { fixture.breakLink() }; throw FirmwareStatus.unknown }
                    fixture.breakLink()
                }
                // Another file each time, so that each upload begins.
                let file = mcubootImage(revision: UInt16(lost), content: [UInt8](repeating: UInt8(lost), count: 1000))
                let begun = fixture.store.beginCount
                let (updater, connection) = try await fixture.makeUpdater()
                let code = await failureCode { try await updater.upload(file) }
                #expect(code == .disconnected, "part \(lost)")
                _ = await connection.disconnected()
                fixture.store.onAppend(nil)
                let (next, link) = try await fixture.makeUpdater()
                try await next.upload(file)
                #expect(fixture.store.memory.storedBytes == file, "part \(lost)")
                // The device has not begun anew.
                #expect(fixture.store.beginCount == begun + 1, "part \(lost)")
                await link.disconnect()
            }
        }
    }

    private static func partCount(_ fixture: FirmwareFixture) async throws -> Int {
        let (updater, connection) = try await fixture.makeUpdater()
        try await updater.upload(mcubootImage(content: [UInt8](repeating: 0, count: 1000)))
        await connection.disconnect()
        return fixture.store.appendCount
    }

    @Test func aKeptConnectionContinuesAcrossLinks() async throws {
        try await FirmwareFixture.run(bufferSize: 160) { fixture in
            fixture.store.onAppend { if $0 % 3 == 0 { fixture.breakLink() } }
            let kept = fixture.central.keepConnected(to: fixture.device)
            try await kept.uploadFirmware(Self.file)
            #expect(fixture.store.memory.storedBytes == Self.file)
            #expect(fixture.store.beginCount == 1)
            await kept.disconnect()
        }
    }

    @Test func aKeptConnectionGivesUpWithoutProgress() async throws {
        try await FirmwareFixture.run(bufferSize: 160) { fixture in
            fixture.store.onAppend { _ in
                fixture.breakLink()
                throw FirmwareStatus.unknown
            }
            let kept = fixture.central.keepConnected(to: fixture.device)
            let code = await failureCode { try await kept.uploadFirmware(Self.file) }
            #expect(code == .disconnected)
            #expect(fixture.store.appendCount == 5)
            await kept.disconnect()
        }
    }

    /// The link with progress does not count.
    @Test func aKeptConnectionGivesUpAfterFiveLinksWithoutProgress() async throws {
        try await FirmwareFixture.run(bufferSize: 160) { fixture in
            fixture.store.onAppend { number in
                guard number > 1 else { return }
                fixture.breakLink()
                throw FirmwareStatus.unknown
            }
            let kept = fixture.central.keepConnected(to: fixture.device)
            let code = await failureCode { try await kept.uploadFirmware(Self.file) }
            #expect(code == .disconnected)
            #expect(fixture.store.appendCount == 1 + 1 + 5)
            await kept.disconnect()
        }
    }

    /// The smallest ATT_MTU, and buffers from the smallest to one that is longer than the image.
    @Test(arguments: [(64, 23), (80, 23), (160, 23), (512, 23), (4096, 517)] as [(Int, Int)])
    func messagesAreAsLongAsTheBuffer(_ bufferSize: Int, _ mtu: Int) async throws {
        try await FirmwareFixture.run(bufferSize: bufferSize, mtu: mtu) { fixture in
            let (updater, connection) = try await fixture.makeUpdater()
            try await updater.upload(Self.file)
            #expect(fixture.store.memory.storedBytes == Self.file)
            #expect(fixture.store.appendCount >= Self.file.count / bufferSize)
            if bufferSize == 4096 { #expect(fixture.store.appendCount == 1) }
            await connection.disconnect()
        }
    }

    @Test func refusalsHaveTheirStatus() async throws {
        try await FirmwareFixture.run { fixture in
            let (updater, connection) = try await fixture.makeUpdater()
            let noImage = await failure { try await updater.upload([UInt8](repeating: 1, count: 100)) }
            #expect(noImage?.code == .refused)
            #expect(noImage?.cause == .firmware(FirmwareStatus(group: 1, code: 23)))
            let old = mcubootImage(major: 0, content: [1])
            let notNewer = await failure { try await updater.upload(old, isUpgrade: true) }
            #expect(notNewer?.cause == .firmware(.notNewer))
            let large = await failure { try await updater.upload([UInt8](repeating: 1, count: 2 << 20)) }
            #expect(large?.cause == .firmware(.tooLarge))
            let other = await failure { try await updater.upload(Self.file, image: 1) }
            #expect(other?.cause == .firmware(.noFreeSlot))
            let unknown = await failure { _ = try await updater.test([1, 2, 3]) }
            #expect(unknown?.cause == .firmware(.unknownHash))
            let empty = await failureCode { try await updater.upload([]) }
            #expect(empty == .invalidArgument)
            // The client is usable afterwards.
            #expect(try await updater.echo("still") == "still")
            await connection.disconnect()
        }
    }

    @Test func oneCallAtATime() async throws {
        try await FirmwareFixture.run { fixture in
            let (updater, connection) = try await fixture.makeUpdater()
            fixture.store.onAppend { _ in try await fixture.radio.sleep(for: .seconds(1)) }
            async let upload: Void = updater.upload(Self.file)
            try await fixture.radio.sleep(for: .milliseconds(500))
            let code = await failureCode { _ = try await updater.images() }
            #expect(code == .busy)
            try await upload
            await connection.disconnect()
        }
    }

    /// A request whose time limit is reached, or whose task is cancelled, leaves the client usable.
    @Test(arguments: [false, true]) func aLateResponseIsDropped(_ isCancelled: Bool) async throws {
        try await FirmwareFixture.run(bufferSize: 4096) { fixture in
            let (updater, connection) = try await fixture.makeUpdater(timeout: .seconds(5))
            fixture.store.onAppend { number in
                if number == 1 { try await fixture.radio.sleep(for: .seconds(10)) }
            }
            let upload = Task(executorPreference: fixture.radio.loop) { try await updater.upload(Self.file) }
            if isCancelled {
                try await fixture.radio.sleep(for: .seconds(2))
                upload.cancel()
            }
            let code = await failureCode { try await upload.value }
            #expect(code == (isCancelled ? .cancelled : .timedOut))
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(try await updater.echo("on") == "on")
            let unwanted = await updater.unwantedMessageCount
            #expect(unwanted == 1)
            try await updater.upload(Self.file)
            #expect(fixture.store.memory.storedBytes == Self.file)
            await connection.disconnect()
        }
    }

    /// As long as a client waits, which is longer than a handler may take.
    @Test func anEraseMayTakeLong() async throws {
        try await FirmwareFixture.run { fixture in
            let (updater, connection) = try await fixture.makeUpdater()
            fixture.store.onAppend { if $0 == 1 { try await fixture.radio.sleep(for: .seconds(35)) } }
            try await updater.upload(Self.file)
            #expect(fixture.store.memory.storedBytes == Self.file)
            await connection.disconnect()
        }
    }

    @Test func requestsThatCannotWaitAreRefusedAsBusy() async throws {
        try await FirmwareFixture.run { fixture in
            let connection = try await fixture.central.connect(to: fixture.device)
            var responses = try await connection.subscribe(
                to: .firmwareUpdateMessages, in: .firmwareUpdate, kind: .notification
            ).makeAsyncIterator()
            fixture.store.onAppend { _ in try await fixture.radio.sleep(for: .seconds(5)) }
            let upload = SMPHeader(.write, .imageUpload, sequence: 0).message([
                "off": CBOR(0), "len": CBOR(100), "data": .bytes([1]),
            ])
            let echoes = (1...30).map { SMPHeader(.write, .echo, sequence: $0).message(["d": .text("x")]) }
            for message in [upload] + echoes {
                for part in message.fragments(await connection.maximumCommandLength) {
                    try await connection.write(
                        part, to: .firmwareUpdateMessages, in: .firmwareUpdate, type: .withoutResponse)
                }
            }
            var (count, busy) = (0, 0)
            var assembler = SMPAssembler(limit: 100)
            while count < 31, let value = try await responses.next() {
                assembler.append(value)
                while let frame = try assembler.next() {
                    count += 1
                    if FirmwareStatus(try CBOR(decoding: frame.body)) == .busy { busy += 1 }
                }
            }
            #expect(count == 31)
            #expect((1..<30).contains(busy), "\(busy)")
            await connection.disconnect()
        }
    }

    /// Its response is on the air before, and another client's request waits until it is over.
    @Test func aRestartIsAloneWithTheStore() async throws {
        try await FirmwareFixture.run { fixture in
            let other = try await Adapter.open(on: fixture.radio.makeKernel())
            let (updater, connection) = try await fixture.makeUpdater()
            let second = try await other.connect(to: fixture.device)
            let uploader = try await FirmwareUpdater(second)
            let restart = Mutex<(begin: KernelInstant, uploads: Int)?>(nil)
            fixture.store.onReset {
                let begin = fixture.radio.now
                try? await fixture.radio.sleep(for: .seconds(5))
                restart.withLock { $0 = (begin, fixture.store.beginCount) }
            }
            try await updater.reset()
            let response = fixture.radio.now
            try await uploader.upload(Self.file)
            let seen = try #require(restart.withLock { $0 })
            // The link has its share of the 250 ms.
            #expect(response.duration(to: seen.begin) > .milliseconds(100))
            #expect(seen.uploads == 0)
            await connection.disconnect()
            await second.disconnect()
            await other.close()
        }
    }

    /// The second request waits while the first is performed.
    @Test func twoRequestsToRestartAreOneRestart() async throws {
        try await FirmwareFixture.run { fixture in
            let restarts = Mutex(0)
            fixture.store.onReset {
                restarts.withLock { $0 += 1 }
                try? await fixture.radio.sleep(for: .seconds(5))
            }
            let connection = try await fixture.central.connect(to: fixture.device)
            for sequence in 1...2 {
                try await connection.write(
                    SMPHeader(.write, .reset, sequence: UInt8(sequence)).message([:]), to: .firmwareUpdateMessages,
                    in: .firmwareUpdate, type: .withoutResponse)
            }
            try await fixture.radio.sleep(for: .seconds(20))
            #expect(restarts.withLock { $0 } == 1)
            await connection.disconnect()
        }
    }

    /// The request is accepted, though its response cannot be sent.
    @Test func aClientThatHasNotSubscribedRestartsTheDevice() async throws {
        try await FirmwareFixture.run { fixture in
            let connection = try await fixture.central.connect(to: fixture.device)
            try await connection.write(
                SMPHeader(.write, .reset, sequence: 1).message([:]), to: .firmwareUpdateMessages, in: .firmwareUpdate,
                type: .withoutResponse)
            #expect(await connection.disconnected().code == .disconnected)
        }
    }

    /// A client that is not paired is told so, since a request has no other answer than the response.
    @Test(arguments: [.writeEncrypted, .writeAuthenticated] as [AttributePermissions])
    func aProtectedServiceRefusesTheSubscription(_ required: AttributePermissions) async throws {
        try await FirmwareFixture.run(permissions: required.union(.write)) { fixture in
            let refused = await failure {
                let (updater, connection) = try await fixture.makeUpdater()
                try await updater.upload(Self.file)
                await connection.disconnect()
            }
            let bonds = await fixture.central.bonds()
            #expect(bonds.count == 1)
            // Pairing without numbers authenticates nobody.
            #expect(refused?.cause == (required == .writeEncrypted ? nil : .attribute(.insufficientAuthentication)))
            #expect(fixture.store.memory.storedBytes == (refused == nil ? Self.file : []))
        }
    }

    @Test func aLinkThatHasEndedFailsEveryCall() async throws {
        try await FirmwareFixture.run { fixture in
            let (updater, connection) = try await fixture.makeUpdater()
            fixture.breakLink()
            _ = await connection.disconnected()
            let reset = await failureCode { try await updater.reset() }
            let upload = await failureCode { try await updater.upload(Self.file) }
            #expect(reset == .disconnected)
            #expect(upload == .disconnected)
        }
    }

    @Test func aDeviceWithoutTheServiceIsNotFound() async throws {
        try await FirmwareFixture.run { fixture in
            let server = try SimulatedGATTServer([])
            let other = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let connection = try await fixture.central.connect(to: other.address)
            let code = await failureCode { _ = try await FirmwareUpdater(connection) }
            #expect(code == .notFound)
            await connection.disconnect()
        }
    }
}
