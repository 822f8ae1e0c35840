import BluetoothHCI
import BluetoothHost
import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    /// The behaviour of hosts that a session relies on: declarations, events and their order.
    @Suite struct HostStories {
        /// Runs a test with two adapters, as sessions use them.
        static func run(
            _ story: @escaping @Sendable (_ central: HostUser, _ peripheral: HostUser) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                let central = try await HostUser.make(fixture, fixture.central)
                try await story(central, try await HostUser.make(fixture, fixture.peripheral))
            }
        }

        /// Links the adapters: the second accepts links and advertises, and the first connects.
        static func link(
            _ central: HostUser, _ peripheral: HostUser, _ parameters: LEConnectionParameters? = nil
        ) async throws {
            try await peripheral.listen()
            await peripheral.advertise("seam")
            try #require(await peripheral.isTold("advertising 1 settled well"))
            try await central.connect(to: peripheral.address, parameters)
            try #require(await central.isTold("channel writable"))
            try #require(await peripheral.isTold("channel from \(central.address)"))
        }

        /// Connects once more. An attempt that coincides with the restart of the advertising after the last link fails with
        /// btvirt (0x3E, Connection Failed to be Established), which Linux 6.12 need not notice; a program gives it up.
        private static func linkAgain(_ central: HostUser, _ peripheral: HostUser) async throws {
            for _ in 1...4 {
                let before = central.told.entries.count
                try await central.connect(to: peripheral.address)
                let entries = await central.told.wait(on: central.loop, limit: .seconds(10)) { entries in
                    entries.dropFirst(before).contains { $0.hasPrefix("channel ") }
                }
                let result = entries?.dropFirst(before).first { $0.hasPrefix("channel ") }
                if result == "channel writable" { return }
                await central.closeChannel()
            }
        }

        @Test(
            .proves(
                "HostProvider: makeDirectory", "HostDirectory: loop, adapters, makeHost",
                "Host: start, scanning, advertising", "HostScanning: scan", "HostReceiver: receive",
                "HostAdvertising: advertise, stop"))
        func whatOneAdvertisesTheOtherHears() async throws {
            try await Self.run { central, peripheral in
                try await central.scan()
                await peripheral.advertise("seam")
                #expect(await peripheral.isTold("advertising 1 settled well"))
                // Settled once it is on the air, and reported as such before.
                #expect(peripheral.told.entries.first { $0.hasPrefix("advertising") } == "advertising 1 advertising")
                #expect(await central.isTold("report \(peripheral.address)"))
                await peripheral.stopAdvertising()
                #expect(await peripheral.isTold("advertising 1 removed"))
                await central.stopScan()
            }
        }

        @Test(
            .proves(
                "Host: channels", "HostChannels: connect, listen", "HostChannel: peer, send, close, attach",
                "ChannelReceiver: receive, channelIsWritable, channelEnded",
                "HostLink: parameters, rssi"))
        func aChannelCarriesPacketsBothWaysUntilOneSideCloses() async throws {
            try await Self.run { central, peripheral in
                try await Self.link(central, peripheral)
                #expect(await central.send([0x02, 0x17, 0x00]) == .sent)
                #expect(await peripheral.isTold("packet 021700"))
                #expect(await peripheral.send([0x03, 0x40, 0x00]) == .sent)
                #expect(await central.isTold("packet 034000"))
                // The parameters of the link were reported when it came up.
                #expect(try await central.attach() != "nothing")
                // btvirt's controllers do not support Read RSSI.
                if !Fixture.isBtvirt { #expect(try await central.rssi() != nil) }
                await peripheral.closeChannel()
                #expect(await central.isTold("channel closed remote"))
            }
        }

        /// Within 30 to 50 ms: a peripheral's kernel requests these of a link with another interval.
        private static let wanted = LEConnectionParameters(
            intervalMinimum: 32, intervalMaximum: 32, latency: 1, supervisionTimeout: 300)

        @Test(.proves("HostChannels: connect"))
        func aLinkBeginsWithTheParametersSetForItsPeer() async throws {
            try await Self.run { central, peripheral in
                try await Self.link(central, peripheral, Self.wanted)
                let first = try await central.attach()
                // Bumble's controllers report the same parameters of every link.
                if Fixture.reportsParameters {
                    #expect(first == "interval 40 ms, latency 1, supervision timeout 3000 ms")
                }
            }
        }

        @Test(.proves("HostChannels: connect"))
        func theParametersOfALinkAreNotThoseOfTheNext() async throws {
            try await Self.run { central, peripheral in
                try await Self.link(central, peripheral, Self.wanted)
                _ = try await central.attach()
                await central.endRequest()
                await peripheral.closeChannel()
                try #require(await central.isTold("channel closed remote"))
                try await Self.linkAgain(central, peripheral)
                try #require(await central.isTold("channel writable", times: 2))
                let next = try await central.attach()
                // Of the defaults, controllers take the shortest or the longest interval.
                if Fixture.reportsParameters {
                    let expected = [30, 50].map { "interval \($0) ms, latency 0, supervision timeout 420 ms" }
                    #expect(expected.contains(next))
                }
            }
        }

        @Test(.proves("HostChannels: prepare"))
        func connectingOnPHYsThatTheControllerLacksIsRefused() async throws {
            try await Self.run { central, peripheral in
                try await central.prepare(to: peripheral.address, on: .le1M)
                // None of the controllers has LE Coded.
                let error = await failure { try await central.prepare(to: peripheral.address, on: [.le1M, .leCoded]) }
                #expect(error?.code == .unsupported)
            }
        }

        @Test(.proves("HostChannels: prepare"))
        func anAttemptThatWasGivenUpIsInTheWayForAWhile() async throws {
            try await Self.run { central, peripheral in
                let absent = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)
                try await central.connect(to: absent)
                await central.closeChannel()
                #expect(await failure { try await central.connectAsPrepared() }?.code == .preempted)
                try await central.connect(to: absent)
                await central.closeChannel()
                // Other peers can be connected to nevertheless.
                try await Self.link(central, peripheral)
            }
        }

        /// The kernel's answer that it has no such link is waited for, and not the time that it keeps one.
        @Test(.proves("HostPairing: disconnect")) func aLinkThatIsGoneIsNotInTheWay() async throws {
            try await Self.run { central, peripheral in
                let start = central.loop.now
                await central.disconnect(peripheral.address)
                try await central.prepare(to: peripheral.address)
                #expect(start.duration(to: central.loop.now) < .seconds(2))
            }
        }

        @Test(
            .proves(
                "HostDirectory: pairing", "HostPairing: receiver, reply, change, apply, keyStatus",
                "HostPairing: loadKeys, removeKeys",
                "PairingReceiver: receive", "AdapterStore: keys",
                "HostChannel: security, raiseSecurity"))
        func protectionIsRaisedAndKeysAreTold() async throws {
            try await Self.run { central, peripheral in
                try await central.preparePairing()
                try await peripheral.preparePairing()
                try await Self.link(central, peripheral)
                for side in [central, peripheral] { _ = try await side.attach() }
                await central.raise(to: .medium)
                #expect(await central.isTold("encrypted"))
                #expect(await peripheral.isTold("link encrypted"))
                #expect(await central.isTold("key made, kept: true"))
                #expect(await central.isTold("keys of \(peripheral.address)"))
                #expect(await peripheral.isTold("keys of \(central.address)"))
                #expect(try await central.security() == LinkSecurity(level: .medium, keySize: 16))
                // Only now can packets be sent again.
                #expect(await central.send([0x02, 0x17, 0x00]) == .sent)
                #expect(await peripheral.isTold("packet 021700"))
                try await central.unpair(peripheral.address)
                #expect(await central.isTold("channel closed"))
            }
        }

        @Test(.proves("HostPairing: hasKey")) func aKeyIsKnownThatIsStoredOrWasMade() async throws {
            try await Fixture.run { fixture in
                let stored = PeerKeys(identity: BluetoothAddress(0xC0FF_EE00_0001, kind: .random))
                let peripheral = try await HostUser.make(fixture, fixture.peripheral, store: .init(keys: [stored]))
                #expect(await peripheral.hasKey(of: stored.identity))
                // The stored keys of this one are not known.
                let central = try await HostUser.make(fixture, fixture.central, store: .init(keys: nil))
                try await fixture.management.preparePairing(on: fixture.central)
                for user in [central, peripheral] { try await user.preparePairing() }
                try await Self.link(central, peripheral)
                #expect(await !central.hasKey(of: peripheral.address))
                await central.raise(to: .medium)
                try #require(await central.isTold("key made, kept: true"))
                #expect(await central.hasKey(of: peripheral.address))
                try await central.unpair(peripheral.address)
                #expect(await !central.hasKey(of: peripheral.address))
            }
        }

        @Test(
            .enabled(if: !Fixture.isLinux, "its controllers may lack BR/EDR, and so the data"),
            .proves("HostPairing: makeOutOfBandData, setOutOfBandData"))
        func outOfBandDataAuthenticateAPairing() async throws {
            try await Self.run { central, peripheral in
                try await central.preparePairing()
                try await peripheral.preparePairing()
                let level = try await central.set(peripheral.makeOutOfBandData(), of: peripheral.address)
                try await Self.link(central, peripheral)
                await central.raise(to: level)
                try #require(await central.isTold("encrypted"))
                #expect(try await central.security()?.level ?? .low >= .high)
            }
        }

        @Test(.proves("HostPairing: authority, setServing, release, adapterChanged, close"))
        func settingsAreInForceUntilTheyAreReleased() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.central)
                #expect(await user.onPairing { if case .ours = $0.authority { true } else { false } })
                let before = try await user.information().activeFeatures.contains(.bondable)
                let settings = PairingSettings(isBondable: !before)
                try await user.preparePairing(settings)
                #expect(try await user.isSoon(bondable: !before))
                await user.onPairing { $0.release() }
                #expect(try await user.isSoon(bondable: before))
                await user.onPairing { $0.setServing(true) }
                #expect(try await user.isSoon(bondable: !before))
                let reason = BluetoothError(.noAdapter, .init("pair"), "It was unplugged.")
                await user.onPairing { $0.adapterChanged(removed: reason) }
                _ = try await fixture.management.succeed(.setBondable, on: fixture.central, [before ? 1 : 0])
                #expect(try await user.isSoon(bondable: before))
                await user.onPairing { $0.adapterChanged(removed: nil) }
                #expect(try await user.isSoon(bondable: !before))
                try await user.preparePairing(settings)
                await user.onPairing { $0.close() }
                #expect(try await user.isSoon(bondable: before))
            }
        }

        @Test(.proves("HostDirectory: receiver, bring", "Host: adapterChanged"))
        func anAdapterThatGoesOffIsToldAndComesBack() async throws {
            try await Self.run { central, peripheral in
                try await central.scan()
                try await central.setPowered(false)
                #expect(await central.isTold("adapter off"))
                await central.leave()
                #expect(await central.isTold("scan ended adapterOff"))
                try await central.setPowered(true)
                #expect(await central.isTold("adapter on"))
                await central.resume()
                #expect(await central.isTold("host resumed"))
                try await central.scan()
                await peripheral.advertise("seam")
                #expect(await central.isTold("report \(peripheral.address)"))
                await central.stopScan()
            }
        }
    }
}

extension Trait where Self == IssueHandlingTrait {
    /// Names the members of the host seam that a story proves, such as `"HostScanning: scan, setScan"`: it fails when they
    /// do nothing. Its failures include them.
    static func proves(_ members: String...) -> Self {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("It proves \(members.joined(separator: "; ")).")
            return issue
        }
    }
}
