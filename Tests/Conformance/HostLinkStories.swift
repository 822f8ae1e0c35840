import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    /// The links of a host and the channels on them.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct HostLinkStories {
        @Test(
            .disabled(if: Fixture.isBtvirt, "its controllers lack the commands"),
            .proves(
                "HostLink: transmitPower, phys, setPHYs, dataLength, setDataLength, setParameters, keepParameters",
                "HostLink: follow, isFollowed"))
        func aLinkIsReadAndChanged() async throws {
            try await HostStories.run { central, peripheral in
                try await HostStories.link(central, peripheral)
                try await central.followLink()
                #expect(try await (-127...20).contains(central.transmitPower()))
                #expect(try await central.phys() == LinkPHYs(transmit: .le1M, receive: .le1M))
                #expect(try await central.setPHYs(.le2M) == LinkPHYs(transmit: .le2M, receive: .le2M))
                try await central.setDataLength(200)
                #expect(await central.isTold("link data length: transmit 200 bytes"))
                #expect(await central.dataLength == 200)
                #expect(try await central.setInterval(28) == .milliseconds(35))
                #expect(await central.isTold("link interval 35 ms"))
                // What it keeps, it requests again whatever sets another.
                try await central.keepInterval(80)
                #expect(try await central.setInterval(32) == .milliseconds(40))
                #expect(await central.isTold("link interval 100 ms"))
            }
        }

        @Test(.proves("HostLink: disconnect", "HostChannel: isOpen"))
        func aLinkIsEndedOnBothSides() async throws {
            try await HostStories.run { central, peripheral in
                try await HostStories.link(central, peripheral)
                try await central.followLink()
                #expect(await central.isOpen)
                await central.disconnectLink()
                #expect(await central.isTold("channel closed"))
                #expect(await !central.isOpen)
                #expect(await peripheral.isTold("channel closed"))
            }
        }

        @Test(
            .proves(
                "HostChannelListener: channel, close", "HostChannel: maximumTransmissionUnits, setReading, takeWaiting",
                "HostChannel: notifyWhenWritable"))
        func aServiceTakesChannelsUntilItIsWithdrawn() async throws {
            try await HostStories.run { central, peripheral in
                try await HostStories.link(central, peripheral)
                let service = try await peripheral.offerChannels(mtu: 1000)
                guard case .dynamic(0x80...0xFF) = service else { return #expect(Bool(false), "\(service)") }
                try await central.open(service, to: peripheral.address)
                try #require(await central.isTold("channel writable", times: 2))
                try #require(await peripheral.isTold("channel from", times: 2))
                #expect(await central.units == [672, 1000])
                await peripheral.setReading(false)
                for byte in 1...2 { #expect(await central.send([UInt8(byte)]) == .sent) }
                #expect(await peripheral.takesWaiting() == [1])
                #expect(!peripheral.told.entries.contains { $0.hasPrefix("packet") })
                await peripheral.setReading(true)
                #expect(await peripheral.isTold("packet 02"))
                await central.notifyWhenWritable()
                #expect(await central.isTold("channel writable", times: 3))
                await peripheral.stopListening()
                try await central.open(service, to: peripheral.address)
                #expect(await central.isTold("channel closed"))
            }
        }

        @Test(.proves("HostChannels: hasOtherListener", "HostChannelListener: close"))
        func aProgramSeesThatAnotherListens() async throws {
            try await Fixture.run { fixture in
                let user = try await HostUser.make(fixture, fixture.peripheral)
                let other = try await HostUser.make(fixture, fixture.peripheral)
                #expect(await !other.hasOtherListener)
                try await user.listen()
                #expect(await other.hasOtherListener)
                #expect(await !user.hasOtherListener)
                await user.stopListening()
                #expect(await !other.hasOtherListener)
            }
        }
    }
}

extension HostUser {
    private static let limit = Duration.seconds(10)
    private static let use = BluetoothError.Operation("use the link")

    // MARK: The link

    /// Follows the link; events report its changes and its end.
    func followLink() throws {
        _ = try attach()
        let link = try #require(link)
        #expect(link.isFollowed)
        try link.follow(Self.use) { [told] result in
            switch result {
            case .success(let change): told.add("link \(change)")
            case .failure(let reason): told.add("link ended \(reason.code)")
            }
        }
    }

    func transmitPower() async throws -> Int {
        let link = try #require(link)
        return try await link.transmitPower(Self.use, timeout: Self.limit)
    }

    func phys() async throws -> LinkPHYs {
        let link = try #require(link)
        return try await link.phys(Self.use, timeout: Self.limit)
    }

    func setPHYs(_ phys: LEPHYSet) async throws -> LinkPHYs {
        let link = try #require(link)
        return try await link.setPHYs(LEPHYPreference(transmit: phys, receive: phys), Self.use, timeout: Self.limit)
    }

    /// The number of bytes that a packet sends.
    var dataLength: Int? { link?.dataLength?.transmitOctets }

    func setDataLength(_ octets: UInt16) async throws {
        let link = try #require(link)
        try await link.setDataLength(octets: octets, time: 2120, Self.use, timeout: Self.limit)
    }

    private func parameters(_ interval: UInt16) -> LEConnectionParameters {
        LEConnectionParameters(
            intervalMinimum: interval, intervalMaximum: interval, latency: 0, supervisionTimeout: 300)
    }

    /// Changes the connection interval, in units of 1.25 ms; returns the resulting one.
    func setInterval(_ interval: UInt16) async throws -> Duration {
        let link = try #require(link)
        return try await link.setParameters(parameters(interval), Self.use, timeout: Self.limit).interval
    }

    func keepInterval(_ interval: UInt16) throws {
        try link?.keepParameters(parameters(interval), isPolicy: true, Self.use)
    }

    func disconnectLink() { link?.disconnect() }

    // MARK: Channels

    var isOpen: Bool { channel?.isOpen == true }

    var hasOtherListener: Bool { host.channels.hasOtherListener }

    /// Reports the ends of links as long as the result is retained.
    func followLinks() -> any AnyObject & Sendable { host.channels.followLinks() }

    /// Closes the channel, and waits until its link is down; returns whether it is.
    func endLink() async -> Bool {
        let down = Promise<Void, BluetoothError>()
        channel?.close(whenDown: down)
        return (try? await down.value(Self.use, timeout: Self.limit, on: loop)) != nil
    }

    /// Accepts channels on a PSM that the host picks.
    func offerChannels(mtu: UInt16) throws -> L2CAPChannel {
        let options = L2CAPOptions(receiveMTU: mtu)
        let listener = try host.channels.listen(.dynamic(psm: 0), options, .init("listen")) { [self] channel in
            take(channel)
            return receiver
        }
        self.listener = listener
        return listener.channel
    }

    /// Stops listening, by the last call that began it.
    func stopListening() { listener?.close() }

    /// Requests another channel; events report the result.
    func open(_ service: L2CAPChannel, to peer: BluetoothAddress) async throws {
        first = first ?? channel
        let request = LinkRequest(to: peer, service, .init("open a channel"))
        try await host.channels.prepare(request)
        channel = try host.channels.connect(request, receiver)
    }

    /// The largest packets that the channel receives and sends.
    var units: [Int]? { channel?.maximumTransmissionUnits.map { [$0.receive, $0.send] } }

    func setReading(_ isOn: Bool) { channel?.setReading(isOn) }

    func notifyWhenWritable() { channel?.notifyWhenWritable() }

    /// Takes one packet, once it has arrived.
    func takesWaiting() async -> [UInt8]? {
        for _ in 1...100 {
            if let packet = channel?.takeWaiting() { return packet }
            _ = await loop.sleep(for: .milliseconds(50))
        }
        return nil
    }
}
