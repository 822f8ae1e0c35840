import BluetoothLE
import BluetoothLinux
import BluetoothSockets
import Synchronization
import TestSupport
import Testing

extension Peers {
    /// The library's scanner with advertisers of another implementation, beside links and other programs.
    @Suite struct Scanning {
        /// The next advertisements that meet a condition.
        private static func take(
            _ count: Int, from stream: BoundedStream<Advertisement>,
            where condition: (Advertisement) -> Bool = { _ in true }
        ) async throws -> [Advertisement] {
            var taken: [Advertisement] = []
            for try await advertisement in stream where condition(advertisement) {
                taken.append(advertisement)
                if taken.count == count { break }
            }
            return taken
        }

        private static func isQuiet(_ fixture: Fixture) async throws {
            try await fixture.wait(for: "the chip no longer scans") { try await fixture.chip()?["scan"] == 0 }
        }

        // MARK: Receiving

        @Test func everybodyIsHeardWithWhatTheySay() async throws {
            try await Fixture.run { fixture in
                var missing = Set(fixture.devices.map(\.address))
                // Devices that act as centrals do not advertise.
                for name in ["central", "second"] { missing.remove(try fixture[name]) }
                // A controller of Bluetooth 4 does not receive extended advertising.
                if Fixture.isLegacy { missing.remove(try fixture["long"]) }
                var names: [BluetoothAddress: String] = [:]
                for try await advertisement in try await fixture.adapter.scan() {
                    let address = try #require(advertisement.address)
                    missing.remove(address)
                    names[address] = advertisement.data.localName ?? names[address]
                    let isAnswered = try names[fixture["beacon-2"]] != nil
                    if missing.isEmpty, isAnswered { break }
                }
                #expect(try names[fixture["gatt"]] == "gatt")
                #expect(try names[fixture["beacon-0"]] == nil)
                // One name in the scan response only, and one beyond ASCII.
                #expect(try names[fixture["beacon-2"]] == "beacon-2")
                #expect(try names[fixture["beacon-3"]] == "Bëacon ✓ 3")
                try await Self.isQuiet(fixture)
            }
        }

        /// A filter, and the one device that passes it.
        private static let filters: [(filter: ScanFilter, name: String, said: String)] = [
            (.service(0xFEAA), "beacon-1", "a service"),
            (.serviceData(0xFEAA), "beacon-1", "data of a service"),
            (.manufacturer(.apple, data: [0x02, 0x15]), "beacon-0", "data of a manufacturer"),
            (.name("Bëacon ✓ 3"), "beacon-3", "a name"),
            (.namePrefix("beacon-"), "beacon-2", "the beginning of a name in a scan response"),
            (.manufacturer(0xFFFF, data: Array("gatt".utf8)) && .name("narrow"), "narrow", "both packets together"),
            (.connectable && .nameContaining("ECHO"), "LINBLE-ECHO", "one that takes links"),
        ]

        @Test("who passes a filter, and nobody else", arguments: filters.indices)
        func filter(_ index: Int) async throws {
            let (filter, name, said) = Self.filters[index]
            try await Fixture.run { fixture in
                let address = try fixture[name]
                let stream = try await fixture.adapter.scan(ScanOptions(filter: filter, duplicates: .all))
                let heard = try await Self.take(3, from: stream)
                #expect(heard.allSatisfy { $0.address == address }, "\(said): \(heard)")
                #expect(heard.count == 3)
            }
        }

        @Test func anAddressAndASignalStrengthDecide() async throws {
            try await Fixture.run { fixture in
                let address = try fixture["gatt"]
                try await fixture.ask("rssi gatt -90")
                let near = ScanOptions(filter: .address(address) && .rssi(atLeast: -70), duplicates: .all)
                var strong = try await fixture.adapter.scan(near).makeAsyncIterator()
                let weak = try await fixture.adapter.scan(ScanOptions(filter: .address(address), duplicates: .all))
                let heard = try await Self.take(5, from: weak)
                #expect(heard.allSatisfy { $0.address == address && ($0.rssi ?? 0) < -80 })
                try await fixture.ask("rssi gatt -50")
                let first = try await strong.next()
                #expect(first?.rssi.map { $0 > -60 } == true)
                // None before.
                #expect(first?.missedBefore == 0)
            }
        }

        // MARK: Duplicates

        @Test func onceMeansOnceAndWithTheAnswer() async throws {
            try await Fixture.run { fixture in
                let addresses = [try fixture["gatt"], try fixture["beacon-3"]]
                let filter = ScanFilter.anyOf(addresses.map { .address($0) })
                let once = Collector(try await fixture.adapter.scan(ScanOptions(filter: filter, duplicates: .once)))
                let all = try await fixture.adapter.scan(ScanOptions(filter: filter, duplicates: .all))
                var counts: [BluetoothAddress: Int] = [:]
                for try await advertisement in all {
                    counts[try #require(advertisement.address), default: 0] += 1
                    if addresses.allSatisfy({ counts[$0, default: 0] >= 4 }) { break }
                }
                let heard = await once.end()
                #expect(Set(heard.compactMap(\.address)) == Set(addresses))
                #expect(heard.count == 2)
                let answered = heard.first { $0.address == addresses[0] }
                #expect(answered?.data.scanResponse.isEmpty == false)
                #expect(answered?.data.localName == "gatt")
            }
        }

        @Test func aMergedDeviceIsToldAgainWhenSomethingHasChanged() async throws {
            try await Fixture.run { fixture in
                let filter = ScanFilter.address(try fixture["gatt"])
                var merged = try await fixture.adapter.scan(
                    ScanOptions(filter: filter, duplicates: .merge(rssiChange: 20))
                ).makeAsyncIterator()
                while let advertisement = try await merged.next(), advertisement.data.scanResponse.isEmpty {}
                // The advertisement does not change meanwhile.
                let all = try await fixture.adapter.scan(ScanOptions(filter: filter, duplicates: .all))
                _ = try await Self.take(6, from: all)
                try await fixture.ask("rssi gatt -85")
                let next = try await merged.next()
                try await fixture.ask("rssi gatt -50")
                #expect(next?.rssi.map { $0 < -75 } == true)
            }
        }

        // MARK: Extended advertising

        @Test func aLongPayloadIsJoinedFromItsParts() async throws {
            try await Fixture.run { fixture in
                let filter = ScanFilter.address(try fixture["long"])
                let stream = try await fixture.adapter.scan(ScanOptions(filter: filter, duplicates: .all))
                guard !Fixture.isLegacy else {
                    let long = Collector(stream)
                    let others = try await fixture.adapter.scan(ScanOptions(duplicates: .all))
                    _ = try await Self.take(40, from: others)
                    return #expect(await long.end() == [])
                }
                for advertisement in try await Self.take(3, from: stream) {
                    #expect(advertisement.data.advertising.count == 600)
                    #expect(advertisement.data.problems.isEmpty)
                    #expect(advertisement.data.localName == "long")
                    let parts = advertisement.data.manufacturerData.map(\.data)
                    #expect(parts == [240, 240, 102].map { count in (0..<count).map { UInt8($0) } })
                    #expect(!advertisement.isLegacy)
                    #expect(!advertisement.isTruncated)
                    #expect(!advertisement.isConnectable)
                    #expect(advertisement.advertisingSetID == 3)
                }
            }
        }

        // MARK: Several at once

        @Test func severalScansAreServedByOneAndTheLastEndsIt() async throws {
            try await Fixture.run { fixture in
                let (gatt, beacon) = (try fixture["gatt"], try fixture["beacon-3"])
                let one = try await fixture.adapter.scan(ScanOptions(filter: .address(gatt), duplicates: .all))
                // A passive scan receives no scan responses; the other requests them.
                let two = try await fixture.adapter.scan(
                    ScanOptions(filter: .address(beacon), isActive: false, duplicates: .all))
                let first = try await Self.take(2, from: one)
                #expect(first.allSatisfy { $0.address == gatt })
                let second = try await Self.take(2, from: two)
                #expect(second.allSatisfy { $0.address == beacon && !$0.isScanResponse })
                try await Self.isQuiet(fixture)
            }
        }

        // MARK: Beside links

        @Test func aScanGoesOnWhileConnectingAndConnected() async throws {
            try await Fixture.run { fixture in
                let beacon = try fixture["beacon-3"]
                var heard = try await fixture.adapter.scan(ScanOptions(filter: .address(beacon), duplicates: .all))
                    .makeAsyncIterator()
                _ = try await heard.next()
                for name in ["gatt", "LINBLE-ECHO"] {
                    let connection = try await fixture.connect(to: name)
                    let up = fixture.adapter.loop.now
                    while let advertisement = try await heard.next(), advertisement.time <= up {}
                    _ = try await connection.discover()
                    await connection.disconnect()
                    let down = fixture.adapter.loop.now
                    while let advertisement = try await heard.next(), advertisement.time <= down {}
                }
            }
        }

        @Test func whoIsHeardIsConnectedTo() async throws {
            try await Fixture.run { fixture in
                let heard = try await fixture.adapter.firstAdvertisement(
                    timeout: .seconds(30), options: ScanOptions(filter: .name("gatt")))
                let connection = try await fixture.adapter.connect(
                    to: heard, options: ConnectionOptions(timeout: .seconds(60)))
                #expect(await connection.isConnected)
                await connection.disconnect()
                let beacon = try await fixture.adapter.firstAdvertisement(
                    timeout: .seconds(30), options: ScanOptions(filter: .name("Bëacon ✓ 3")))
                let refused = await failure { _ = try await fixture.adapter.connect(to: beacon) }
                #expect(refused?.code == .invalidArgument)
            }
        }

        // MARK: Beside other programs

        @Test func anotherProgramSwitchesTheScanOff() async throws {
            try await Fixture.run { fixture in
                var heard = try await fixture.adapter.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
                _ = try await heard.next()
                let other = try await OtherProgram(fixture.adapter.information.index)
                for _ in 0..<3 {
                    await other.switchScanOff()
                    let off = fixture.adapter.loop.now
                    while let advertisement = try await heard.next(), advertisement.time <= off {}
                }
                await other.close()
            }
        }

        @Test func anotherProgramDiscoversDevices() async throws {
            try await Fixture.run { fixture in
                let other = try await OtherProgram(fixture.adapter.information.index)
                await other.startDiscovery()
                try await fixture.wait(for: "the discovery") { try await fixture.chip()?["scan"] == 1 }
                // Its reports are used; after its ten seconds the scan is our own.
                let stream = try await fixture.adapter.scan(
                    ScanOptions(filter: .address(try fixture["beacon-3"]), duplicates: .all))
                let began = fixture.adapter.loop.now
                let heard = try await Self.take(1, from: stream) {
                    began.duration(to: $0.time) > .seconds(15)
                }
                #expect(heard.count == 1)
                await other.close()
                try await Self.isQuiet(fixture)
            }
        }
    }
}

/// Collects all advertisements of a scan, concurrently with others.
private final class Collector: Sendable {
    private let all = Mutex<[Advertisement]>([])
    private let task = Mutex<Task<Void, any Error>?>(nil)

    init(_ stream: BoundedStream<Advertisement>) {
        let collecting = Task { [weak self] in
            for try await advertisement in stream { self?.all.withLock { $0.append(advertisement) } }
        }
        task.withLock { $0 = collecting }
    }

    /// Ends the scan; returns its advertisements.
    func end() async -> [Advertisement] {
        let task = task.withLock { $0 }
        task?.cancel()
        _ = await task?.result
        return all.withLock { $0 }
    }
}

/// Another program with sockets of its own, like bluetoothctl and hcitool.
private final class OtherProgram: Sendable {
    private let sockets: Mutex<(management: any PacketSocket, raw: any HCISocket)>
    private let index: UInt16

    init(_ index: UInt16) async throws {
        let kernel = try LinuxKernel.shared
        self.index = index
        sockets = Mutex(
            try await withTaskExecutorPreference(kernel.loop) {
                (try kernel.openManagement { _ in }, try kernel.openHCI(adapter: index) { _ in })
            })
    }

    /// Start Discovery for LE.
    func startDiscovery() async {
        let lowEnergy: UInt8 = 6
        let packet: [UInt8] = [0x23, 0x00, UInt8(index & 0xFF), UInt8(index >> 8), 1, 0, lowEnergy]
        await onLoop { $0.management.send(packet.span.bytes) }
    }

    /// LE Set Scan Enable, or its extended form.
    func switchScanOff() async {
        let packet: [UInt8] =
            Fixture.isLegacy ? [0x01, 0x0C, 0x20, 2, 0, 0] : [0x01, 0x42, 0x20, 6, 0, 0, 0, 0, 0, 0]
        await onLoop { $0.raw.send(packet.span.bytes) }
    }

    func close() async {
        await onLoop {
            $0.management.close()
            $0.raw.close()
        }
    }

    private func onLoop<Result>(
        _ body: @Sendable ((management: any PacketSocket, raw: any HCISocket)) -> Result
    ) async {
        guard let kernel = try? LinuxKernel.shared else { return }
        let sockets = sockets.withLock { $0 }
        await withTaskExecutorPreference(kernel.loop) { _ = body(sockets) }
    }
}
