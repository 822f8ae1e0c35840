import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Devices known by their identity resolving keys, without a bond.
@Suite struct IdentityTests {
    private static let number = "8B3F6D01C2E94A7788D0B1A35C4E9F20"
    /// The key of `number`, least significant byte first.
    private static let key = SecurityKey(hex(number).reversed()) ?? .zero

    private static func reason(_ body: () throws(BluetoothError) -> Void) -> BluetoothError? {
        do throws(BluetoothError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Texts

    @Test(
        arguments: [
            number, number.lowercased(), "0x" + number, "irk:" + number, "IRK:0x" + number, " \(number) ",
            "8B:3F:6D:01:C2:E9:4A:77:88:D0:B1:A3:5C:4E:9F:20", "8b3f6d01-c2e94a77-88d0b1a3-5c4e9f20",
            "0x8B,0x3F,0x6D,0x01,0xC2,0xE9,0x4A,0x77,0x88,0xD0,0xB1,0xA3,0x5C,0x4E,0x9F,0x20",
            "0x8B, 3F,6D,1,C2,E9,4A,77,88,D0,B1,A3,5C,4E,9F,20", "IJ9OXKOx0Ih3SunCAW0/iw==", "IJ9OXKOx0Ih3SunCAW0/iw",
            "irk:IJ9OXKOx0Ih3SunCAW0_iw==",
        ]) func aKeyIsReadInEveryFormThatProgramsExport(_ text: String) throws
    {
        let identity = try DeviceIdentity(name: "phone", exportedKey: text)
        #expect(identity.key == Self.key)
        #expect(identity.candidates == [Self.key, try #require(SecurityKey(Self.key.bytes.reversed()))])
        #expect("\(identity)" == "phone")
        #expect(!"\(identity.key)".contains("8B"))
    }

    @Test(
        arguments: [
            ("", "is empty"), ("irk:", "is empty"), ("12", "has 2 hexadecimal digits instead of 32"),
            (String(number.dropLast()), "has 31 hexadecimal digits"), (number + "0", "has 33 hexadecimal digits"),
            (number.dropLast() + "G", "needs 32"), ("0x8B,0x3F", "has 2 bytes instead of 16"), ("1,2,x", "not a list"),
            ("IJ9OXKOx0Ih3SunCAW0/iw=", "23 characters"), ("IJ9OXKOx0Ih3SunCAW0/ix==", "not Base64 of 16 bytes"),
            ("IJ9O=XKOx0Ih3SunCAW0/iw", "needs 32"), ("A=", "2 characters"), ("A===B=", "not Base64"),
            (String(number.prefix(24)), "24 hexadecimal digits"), ("1,+2,3", "not a list"),
            ("IJ9OXKOx0Ih3SunCAW0/iwAA", "18 bytes of Base64 instead of 16"),
            (String(repeating: "0", count: 32), "is zero"), ("é", "needs 32"), ("\0", "needs 32"),
        ]) func aTextThatIsNoKeyIsRejectedWithTheReason(_ text: String, reason: String)
    {
        let error = Self.reason { () throws(BluetoothError) in
            _ = try DeviceIdentity(name: "phone", exportedKey: text)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(text.utf8.count < 6 || error?.description.contains(text) == false)
    }

    // MARK: Files

    @Test func aFileHasADeviceInEachLine() throws {
        let text =
            "\u{FEFF}# phones\r\n\n  phone\t\(Self.number)\n\"Anna's watch\" irk:\(Self.number.dropLast())1 "
            + "C0:98:E5:12:34:56 random\ntag \(Self.number.dropLast())2 00:1A:7D:DA:71:13"
        let identities = try IdentityFile.parse(Array(text.utf8), "keys")
        #expect(identities.map(\.name) == ["phone", "Anna's watch", "tag"])
        #expect(identities[0].key == Self.key)
        #expect(identities[0].address == nil)
        #expect(identities[1].address == BluetoothAddress(0xC098_E512_3456, kind: .random))
        #expect(identities[2].address == BluetoothAddress(0x001A_7DDA_7113, kind: .public))
    }

    @Test(
        arguments: [
            ("phone", 1, "the key is missing after the name"), ("\n\nphone 12", 3, "has 2 hexadecimal digits"),
            ("\"phone \(number)", 1, "is not closed"), ("\"\" \(number)", 1, "the name is empty"),
            ("\"a\"b \(number)", 1, "a space after the quotation mark"), ("a\u{7} \(number)", 1, "control character"),
            ("a \(number) C0:98", 1, "is not an address"),
            ("a \(number) C0:98:E5:12:34:56 both", 1, "followed by public or random"),
            ("a \(number) 40:98:E5:12:34:56 random", 1, "does not identify a device"),
            ("a \(number) C0:98:E5:12:34:56 random x", 1, "extra text after the address"),
            ("a \(number)\na \(number.dropLast())1", 2, "this name is also in line 1"),
            ("a \(number)\nb 209F4E5CA3B1D088774AE9C2016D3F8B", 2, "this key is also in line 1"),
        ]) func aMalformedFileIsRejectedWithPlaceAndReason(_ text: String, line: Int, reason: String)
    {
        let error = Self.reason { () throws(BluetoothError) in _ = try IdentityFile.parse(Array(text.utf8), "keys") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("keys, line \(line): ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.description.contains(Self.number) == false)
    }

    @Test func aFileWithoutDevicesOrOfOtherBytesIsRejected() {
        for bytes in [[], Array("# none\n".utf8), [0xFF, 0xFE]] as [[UInt8]] {
            #expect(Self.reason { () throws(BluetoothError) in _ = try IdentityFile.parse(bytes, "keys") } != nil)
        }
        let many = (0...IdentityFile.maximumCount).map { index in
            let digits = String(index + 1, radix: 16)
            return "d\(index) \(String(repeating: "0", count: 32 - digits.count))\(digits)"
        }
        let error = Self.reason { () throws(BluetoothError) in
            _ = try IdentityFile.parse(Array(many.joined(separator: "\n").utf8), "keys")
        }
        #expect(error?.message.contains("line 10001: there are more than 10000 devices") == true)
        #expect((try? IdentityFile.parse(Array(many.dropLast().joined(separator: "\n").utf8), "keys"))?.count == 10_000)
    }

    // MARK: Resolving

    private static func identities(_ count: Int) -> [DeviceIdentity] {
        var random = SeededGenerator(seed: 7)
        return (0..<count).map { DeviceIdentity(name: "\($0)", key: .random(using: &random)) }
    }

    private static func address(_ key: SecurityKey, _ random: inout SeededGenerator) throws -> BluetoothAddress {
        try #require(PrivateAddressResolver().address(with: key, using: &random))
    }

    @Test func eachAddressIsComparedWithTheKeysOnce() throws {
        var random = SeededGenerator(seed: 1)
        let identities = Self.identities(10)
        let resolver = IdentityResolver(identities)
        for identity in identities {
            let address = try Self.address(identity.key, &random)
            for _ in 0..<3 { #expect(resolver.identity(of: address) == identity) }
        }
        #expect(resolver.comparedCount == 10)
        let stranger = try Self.address(.random(using: &random), &random)
        for _ in 0..<3 { #expect(resolver.identity(of: stranger) == nil) }
        // Addresses of other types cost nothing.
        for value: UInt64 in [0xC000_0000_0001, 0x0000_0000_0001] {
            #expect(resolver.identity(of: BluetoothAddress(value, kind: .random)) == nil)
        }
        #expect(resolver.identity(of: BluetoothAddress(stranger.value, kind: .public)) == nil)
        #expect(resolver.comparedCount == 11)
    }

    @Test func eitherByteOrderAndTheIdentityAddressResolve() throws {
        var random = SeededGenerator(seed: 2)
        let reversed = try #require(SecurityKey(Self.key.bytes.reversed()))
        let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
        let known = DeviceIdentity(name: "a", key: Self.key, address: own)
        let exported = try DeviceIdentity(name: "a", exportedKey: Self.number, address: own)
        for (identity, key, matches) in [(known, Self.key, true), (known, reversed, false), (exported, reversed, true)]
        {
            let resolver = IdentityResolver([identity])
            #expect((resolver.identity(of: try Self.address(key, &random)) != nil) == matches)
            #expect(resolver.identity(of: own) == identity)
        }
    }

    /// A stranger with a new address in each packet neither grows the memory nor evicts the known.
    @Test func newAddressesHaveALimit() throws {
        var random = SeededGenerator(seed: 3)
        let identities = Self.identities(4)
        let resolver = IdentityResolver(identities)
        let address = try Self.address(identities[3].key, &random)
        #expect(resolver.identity(of: address) != nil)
        for index in 0..<UInt64(IdentityResolver.otherLimit + 100) {
            _ = resolver.identity(of: BluetoothAddress(0x4000_0000_0000 | index, kind: .random))
        }
        let count = resolver.comparedCount
        #expect(resolver.identity(of: address) == identities[3])
        #expect(resolver.comparedCount == count)
    }

    private static func advertisement(_ address: BluetoothAddress, at seconds: Double) -> Advertisement {
        Advertisement(
            address: address, data: AdvertisementData(advertising: []), rssi: nil,
            time: KernelInstant(nanoseconds: Int64(seconds * 1e9)))
    }

    @Test func manyKeysAreComparedAsFastAsTheLimitAllows() throws {
        var random = SeededGenerator(seed: 4)
        // Ten addresses cost more than the comparisons of a second.
        let identities = Self.identities(2000)
        let resolver = IdentityResolver(identities)
        let filter = ScanFilter.identities(resolver)
        #expect(filter.dependsOnDataOnly)
        let perSecond = IdentityResolver.comparisonsPerSecond / 2000
        let addresses = try (0..<perSecond + 3).map { try Self.address(identities[$0].key, &random) }
        for (index, address) in addresses.enumerated() {
            let first = Self.advertisement(address, at: 0)
            #expect(filter.matches(first) == (index < perSecond), "\(index)")
            #expect(filter.isPostponed(first) == (index >= perSecond))
        }
        #expect(resolver.comparedCount == perSecond)
        #expect(resolver.postponedCount == 3)
        // The next report of each, a second later.
        for address in addresses { #expect(filter.matches(Self.advertisement(address, at: 1))) }
        #expect(resolver.comparedCount == perSecond + 3)
    }

    @Test func aBudgetIsRenewedByTimeAndNeverAccumulates() {
        var budget = ComparisonBudget(perSecond: 1000)
        func at(_ milliseconds: Int64) -> KernelInstant { KernelInstant(nanoseconds: milliseconds * 1_000_000) }
        let spending: [(count: Int, time: Int64, isSpent: Bool)] = [
            // An address with more keys than a second's worth is compared, and paid for afterwards.
            (2500, 0, true), (1, 1500, false), (1, 1600, true), (900, 100_000, true), (200, 100_000, true),
            (1, 100_000, false),
            // A clock that goes back changes nothing.
            (1, 0, false), (1, 100_101, true), (1, 100_102, true), (1, 1_000_000_000, true),
        ]
        for (count, time, isSpent) in spending {
            let result = budget.spend(count, at: at(time))
            #expect(result == isSpent, "\(count) at \(time)")
        }
    }

    // MARK: Scans and connections

    private static func run(
        _ body: @escaping @Sendable (Fixture, BluetoothLE.Adapter, PrivateDevice) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            try await body(fixture, adapter, try PrivateDevice(fixture))
            await adapter.close()
        }
    }

    @Test func aScanFollowsADeviceThroughItsAddresses() async throws {
        try await Self.run { fixture, adapter, phone in
            SimulatedPeripheral(on: fixture.radio)
            let resolver = IdentityResolver([phone.identity])
            let scan = try await adapter.scan(
                ScanOptions(filter: .identities(resolver), duration: .seconds(60), duplicates: .once))
            var seen: [BluetoothAddress?] = []
            var wanted = [phone.rotate()]
            for try await advertisement in scan {
                #expect(resolver.identity(of: advertisement) == phone.identity)
                seen.append(advertisement.address)
                if wanted.count == 5 { break }
                wanted.append(phone.rotate())
            }
            #expect(seen == wanted)
            #expect(resolver.comparedCount == 5)
        }
    }

    @Test func aDeviceIsConnectedToByItsKey() async throws {
        try await Self.run { fixture, adapter, phone in
            for _ in 0..<2 {
                let address = phone.rotate()
                let connection = try await adapter.connect(to: phone.identity)
                #expect(connection.peer == address)
                await connection.disconnect()
                try await fixture.settle { phone.device.links.isEmpty }
            }
        }
    }

    @Test func aDeviceThatChangesItsAddressDuringTheAttemptIsFoundAgain() async throws {
        try await Self.run { fixture, adapter, phone in
            let first = phone.rotate()
            let second = Mutex<BluetoothAddress?>(nil)
            // The device changes its address as soon as the scan has seen it.
            let scan = try await adapter.scan(
                ScanOptions(
                    filter: .matching { advertisement in
                        if advertisement.address == first, second.withLock({ $0 == nil }) {
                            let next = phone.rotate()
                            second.withLock { $0 = next }
                        }
                        return false
                    }, duplicates: .all))
            let time = try await fixture.duration {
                let connection = try await adapter.connect(to: phone.identity)
                #expect(connection.peer == second.withLock { $0 })
                #expect(connection.peer != first)
            }
            #expect(time < .seconds(13))
            _ = scan
        }
    }

    /// Its address changes while the link is up, while the device is away, and while it is looked for.
    @Test func aDeviceIsKeptConnectedByItsKey() async throws {
        try await Self.run { fixture, adapter, phone in
            let kept = adapter.keepConnected(to: phone.identity)
            #expect(kept.peer == nil)
            try await fixture.radio.sleep(for: .seconds(100))
            for round in 0..<4 {
                let address = phone.rotate()
                let connection = try await kept.connected()
                #expect(connection.peer == address)
                // While the link is up.
                phone.rotate()
                try await fixture.radio.sleep(for: .seconds(20))
                #expect(await connection.isConnected)
                if round % 2 == 0 {
                    phone.device.breakLinks(reason: .connectionTimeout)
                } else {
                    phone.device.disconnect()
                }
                phone.device.setAdvertisements([])
                _ = await connection.disconnected()
                // While it is away, for longer than an attempt takes.
                try await fixture.radio.sleep(for: .seconds(40))
            }
            // The adapter is off for a while.
            fixture.kernel.setPowered(false, adapter: 0)
            let last = phone.rotate()
            try await fixture.radio.sleep(for: .seconds(30))
            fixture.kernel.setPowered(true, adapter: 0)
            #expect(try await kept.connected().peer == last)
            await kept.disconnect()
            try await fixture.settle { phone.device.links.isEmpty }
        }
    }

    @Test func aKeptConnectionHasTheIdentityAddressIfItIsKnown() async throws {
        try await Self.run { fixture, adapter, phone in
            let address = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
            let identity = DeviceIdentity(name: "phone", key: phone.identity.key, address: address)
            #expect(adapter.keepConnected(to: identity).peer == address)
        }
    }

    @Test func aDeviceOutOfRangeIsNotFoundInTime() async throws {
        try await Self.run { fixture, adapter, phone in
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(to: phone.identity, options: ConnectionOptions(timeout: .seconds(3)))
                }
                #expect(error?.code == .notFound)
                #expect(error?.message == "The device phone was not seen within 3 s.")
            }
            #expect(time >= .seconds(3) && time < .seconds(4))
        }
    }

    @Test func aDeviceThatNeverAnswersIsReportedInTime() async throws {
        try await Self.run { fixture, adapter, phone in
            phone.rotate()
            phone.device.setRefusal(.connectionFailedToBeEstablished)
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(to: phone.identity, options: ConnectionOptions(timeout: .seconds(20)))
                }
                #expect(error != nil)
            }
            #expect(time <= .seconds(21))
        }
    }

    /// While it scans, and while it connects.
    @Test(arguments: [Duration.milliseconds(50), .milliseconds(1500), .seconds(12), .seconds(14)])
    func aConnectByKeyEndsOnCancellation(after delay: Duration) async throws {
        try await Self.run { fixture, adapter, phone in
            let first = phone.rotate()
            // The first address vanishes as soon as it was seen; then nothing advertises.
            let scan = try await adapter.scan(
                ScanOptions(
                    filter: .matching { advertisement in
                        if advertisement.address == first { phone.device.setAdvertising(false) }
                        return false
                    }, duplicates: .all))
            let task = fixture.begin {
                try await adapter.connect(to: phone.identity, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: delay)
            task.cancel()
            let time = await fixture.duration {
                #expect(await failure { _ = try await task.value }?.code == .cancelled)
            }
            #expect(time < .milliseconds(100))
            _ = scan
        }
    }

    @Test func aBondedDeviceIsConnectedToWithoutAScan() async throws {
        try await Self.run { fixture, adapter, phone in
            let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
            try await adapter.setBond(
                Bond(identity: own, identityResolvingKey: phone.identity.key))
            phone.rotate()
            let connection = try await adapter.connect(to: phone.identity)
            #expect(connection.peer == own)
            // A scan names the identity, and the filter matches nevertheless.
            await connection.disconnect()
            let heard = try await adapter.firstAdvertisement(options: ScanOptions(filter: .identity(phone.identity)))
            #expect(heard.address == own)
            #expect(heard.privateAddress != nil)
        }
    }
}
