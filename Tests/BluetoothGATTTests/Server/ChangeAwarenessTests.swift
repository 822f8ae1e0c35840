import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// Requests of a change-unaware client (Core Vol 3 Part G §2.5.2.1, §7.2).
@Suite struct ChangeAwarenessTests {
    /// ```
    /// 0001 service 1801   0002 0003 2A05, 0004 CCCD   0005 0006 2B29   0007 0008 2B2A
    /// 0009 service FFF0   000A 000B FFF1 read write notify, 000C CCCD
    /// ```
    private static func makeFixture(robust: Bool = true) throws -> ServerFixture {
        var fixture = try ServerFixture([
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([])),
                    GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                    GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
                ]),
            GATTService(
                0xFFF0,
                characteristics: [
                    GATTCharacteristic(0xFFF1, properties: [.read, .write, .notify], value: .stored([7]))
                ]),
        ])
        if robust { #expect(fixture.send("12060001") == "13") }
        #expect(fixture.send("120C000100") == "13")
        #expect(fixture.send("1204000200") == "13")
        return fixture
    }

    private static func change(_ fixture: inout ServerFixture) throws {
        try fixture.database.append([GATTService(0xFFF9)])
        fixture.server.databaseChanged(fixture.database)
    }

    @Test func featuresAreKeptPerClientAndOnlyGrow() throws {
        var fixture = try Self.makeFixture()
        #expect(fixture.send("0A0600") == "0B01")
        #expect(fixture.send("12060005") == "13")
        #expect(fixture.send("12060001") == "0112060013")
        #expect(fixture.send("120600") == "011206000D")
        #expect(fixture.send("1206000500") == "13")
        #expect(fixture.send("12060005") == "13")
        #expect(fixture.server.client.supportedFeatures == [.robustCaching, .multipleNotifications])
        var other = try Self.makeFixture(robust: false)
        #expect(other.send("0A0600") == "0B00")
    }

    @Test(
        "a request at a handle is refused once, and the next is served",
        arguments: [
            "0A0B00", "0C0B000000", "0E0B000600", "200B000600", "120B0001", "160B00000001", "080900FFFFF1FF",
        ])
    func requestsAreRefusedOnce(_ request: String) throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        let asked = hex(request)
        let handle = request.hasPrefix("08") ? "0900" : "0B00"
        #expect(fixture.send(request) == "01\([asked[0]].hexadecimal)\(handle)12")
        #expect(!fixture.server.client.isChangeAware)
        #expect(fixture.send(request).hasPrefix("01") == false)
        #expect(fixture.server.client.isChangeAware)
    }

    @Test(
        "discovery is served meanwhile",
        arguments: ["100100FFFF0028", "080100FFFF0328", "080900FFFF0328", "040100FFFF", "060100FFFF0028F0FF"])
    func discoveryIsServed(_ request: String) throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        #expect(fixture.send(request).hasPrefix("01") == false)
        #expect(!fixture.server.client.isChangeAware)
    }

    /// Clients read the hash directly after connecting; their stored state is restored when the link is encrypted.
    @Test(arguments: [false, true]) func aHashReadBeforeTheClientIsRestoredCounts(isRead: Bool) throws {
        var fixture = try Self.makeFixture()
        let record = fixture.server.client.record(of: fixture.database)
        try Self.change(&fixture)
        fixture.server.client = GATTClientState()
        if isRead { #expect(fixture.send("080100FFFF2A2B").hasPrefix("0912")) }
        fixture.server.client.restore(record, database: fixture.database)
        #expect(!fixture.server.client.isChangeAware)
        #expect(fixture.send("0A0B00") == (isRead ? "0B07" : "010A0B0012"))
        #expect(fixture.server.client.isChangeAware == isRead)
        // A hash from before the last change has no effect.
        try fixture.database.append([GATTService(0xFFFA)])
        fixture.server.databaseChanged(fixture.database)
        fixture.server.client.restore(record, database: fixture.database)
        #expect(fixture.send("0A0B00") == "010A0B0012")
    }

    @Test func readingTheHashAndAnotherRequestMakesChangeAware() throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        let answer = fixture.send("080100FFFF2A2B")
        #expect(answer == "09120800" + fixture.database.hash.bytes.hexadecimal)
        #expect(!fixture.server.client.isChangeAware)
        // A command does not count as a request.
        #expect(fixture.send("520B0009") == "")
        #expect(fixture.database.attribute(at: 0x000B)?.storedValue == [7])
        #expect(fixture.send("0A0B00") == "0B07")
        #expect(fixture.server.client.isChangeAware)
    }

    @Test(
        "the hash is computed when a request may read it",
        arguments: [
            ("0A0B00", false), ("0E0B000600", false), ("200B000600", false), ("060100FFFF0028F0FF", false),
            ("0A0800", true), ("0E0B000800", true), ("2008000B00", true), ("060100FFFF2A2B00", true),
        ])
    func theHashIsComputedOnDemand(_ request: String, _ isComputed: Bool) throws {
        var fixture = try Self.makeFixture(robust: false)
        try Self.change(&fixture)
        _ = fixture.send(request)
        #expect((fixture.database.attribute(at: 8)?.storedValue == fixture.database.hash.bytes) == isComputed)
    }

    @Test func aChangeAfterReadingTheHashCounts() throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        _ = fixture.send("080100FFFF2A2B")
        try Self.change(&fixture)
        #expect(fixture.send("0A0B00") == "010A0B0012")
    }

    @Test func commandsAreIgnoredWhileOutOfSync() throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        #expect(fixture.send("520B0009") == "")
        #expect(fixture.database.attribute(at: 0x000B)?.storedValue == [7])
        #expect(fixture.send("0A0B00") == "010A0B0012")
        #expect(fixture.send("0A0B00") == "0B07")
        #expect(fixture.send("520B0009") == "")
        #expect(fixture.database.attribute(at: 0x000B)?.storedValue == [9])
    }

    @Test func onlyServiceChangedIsSentWhileOutOfSync() throws {
        var fixture = try Self.makeFixture()
        try Self.change(&fixture)
        #expect(throws: GATTServerError.clientOutOfSync(0x000B)) { try fixture.encodeNotification(of: 0x000B, [1]) }
        #expect(try fixture.encodeIndication(of: 0x0003, [13, 0, 13, 0]).hexadecimal == "1D03000D000D00")
        fixture.server.client.confirmedServiceChanged(0)
        #expect(!fixture.server.client.isChangeAware)
        fixture.server.client.confirmedServiceChanged(1)
        #expect(fixture.server.client.isChangeAware)
        _ = try fixture.encodeNotification(of: 0x000B, [1])
    }

    @Test func aClientWithoutRobustCachingIsServed() throws {
        var fixture = try Self.makeFixture(robust: false)
        try Self.change(&fixture)
        #expect(!fixture.server.client.isChangeAware)
        #expect(fixture.send("0A0B00") == "0B07")
        #expect(fixture.send("520B0009") == "")
        #expect(fixture.send("0A0B00") == "0B09")
    }

    @Test func removedAttributesAreForgotten() throws {
        var fixture = try Self.makeFixture()
        #expect(fixture.send("160B00000001") == "170B00000001")
        fixture.database.remove(AttributeHandleRange(start: 9, end: 12))
        fixture.server.databaseChanged(fixture.database)
        #expect(fixture.server.configurations == [3: .indication])
        // The client must not receive success for a write to a removed attribute.
        #expect(fixture.send("1801") == "01180B0001")
        #expect(fixture.send("1801") == "19")
        #expect(fixture.send("0A0B00") == "010A0B0012")
        #expect(fixture.send("0A0B00") == "010A0B0001")
    }

    @Test func preparedWritesOfOtherServicesAreWritten() throws {
        var fixture = try Self.makeFixture(robust: false)
        #expect(fixture.send("160B00000009") == "170B00000009")
        try Self.change(&fixture)
        #expect(fixture.send("1801") == "19")
        #expect(fixture.database.attribute(at: 0x000B)?.storedValue == [9])
    }

    @Test func aReusedHandleIsNotWritten() throws {
        var fixture = try Self.makeFixture(robust: false)
        #expect(fixture.send("160B00000001") == "170B00000001")
        #expect(fixture.send("160300000001").hasPrefix("01"))
        let range = AttributeHandleRange(start: 9, end: 12)
        fixture.database.remove(range)
        fixture.server.databaseChanged(fixture.database)
        try fixture.database.append([
            GATTService(
                0xFFF8, characteristics: [GATTCharacteristic(0xFFF9, properties: .write, value: .stored([5]))],
                handle: 9)
        ])
        fixture.server.databaseChanged(fixture.database)
        #expect(fixture.send("1801") == "01180B0001")
        #expect(fixture.database.attribute(at: 0x000B)?.storedValue == [5])
    }
}
