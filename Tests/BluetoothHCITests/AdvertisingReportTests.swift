import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

private let advertiser = BluetoothAddress(0xC098_E512_3456, kind: .random)

/// The descriptions of an event's reports, and the error that ended the iteration.
private func walk(_ packet: [UInt8]) throws -> (lines: [String], error: HCIDecodingError?) {
    guard let event = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else {
        Issue.record("no advertising reports")
        return ([], nil)
    }
    var reports = event
    var lines: [String] = []
    do throws(HCIDecodingError) {
        while let report = try reports.next() { lines.append(report.description) }
    } catch {
        return (lines, error)
    }
    return (lines, nil)
}

@Suite("Advertising reports (Core Vol 4 Part E §7.7.65)")
struct AdvertisingReportTests {
    @Test("the five legacy event types become properties (§7.7.65.2)")
    func legacyTypes() throws {
        let expected = [
            "connectable, scannable, legacy", "connectable, directed, legacy", "scannable, legacy", "legacy",
            "scannable, scan response, legacy",
        ]
        for (type, properties) in expected.enumerated() {
            var packet = hex("04 3e 0f 02 01 00 01 563412e598c0 03 020106 c4")
            packet[5] = UInt8(type)
            let (lines, error) = try walk(packet)
            #expect(lines == ["C0:98:E5:12:34:56 (random), \(properties), RSSI -60 dBm, 020106"])
            #expect(error == nil)
        }
    }

    @Test("address types determine public, random and resolved identities; RSSI 127 is nil")
    func addressTypes() throws {
        let expected = ["public", "random", "public identity", "random identity"]
        for (type, kind) in expected.enumerated() {
            var packet = hex("04 3e 0c 02 01 00 01 563412e598c0 00 7f")
            packet[6] = UInt8(type)
            #expect(try walk(packet).lines == ["C0:98:E5:12:34:56 (\(kind)), connectable, scannable, legacy, "])
        }
    }

    @Test("several reports in one event are all returned")
    func severalReports() throws {
        let packet = hex("04 3e 1b 02 02 00 01 563412e598c0 03 020106 c4 04 01 563412e598c0 02 0109 c5")
        let (lines, error) = try walk(packet)
        #expect(
            lines == [
                "C0:98:E5:12:34:56 (random), connectable, scannable, legacy, RSSI -60 dBm, 020106",
                "C0:98:E5:12:34:56 (random), scannable, scan response, legacy, RSSI -59 dBm, 0109",
            ])
        #expect(error == nil)
    }

    @Test("a malformed report throws after the reports before it were returned")
    func malformedReport() throws {
        // The second report's data exceeds the event.
        let tooLong = hex("04 3e 1b 02 02 00 01 563412e598c0 03 020106 c4 04 01 563412e598c0 20 0109 c5")
        var result = try walk(tooLong)
        #expect(result.lines.count == 1)
        #expect(result.error != nil)
        // The second report has a reserved event type.
        let reserved = hex("04 3e 1b 02 02 00 01 563412e598c0 03 020106 c4 05 01 563412e598c0 02 0109 c5")
        result = try walk(reserved)
        #expect(result.lines.count == 1)
        #expect(result.error == .reservedEventType)
        // The event announces a second report and has none.
        let missing = hex("04 3e 0f 02 02 00 01 563412e598c0 03 020106 c4")
        result = try walk(missing)
        #expect(result.lines.count == 1)
        #expect(result.error != nil)
    }

    @Test("iteration returns nil after its end, also after an error")
    func ended() throws {
        let packet = hex("04 3e 0f 02 02 00 01 563412e598c0 03 020106 c4")
        guard let event = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else {
            Issue.record("no advertising reports")
            return
        }
        var reports = event
        #expect(reports.remainingCount == 2)
        _ = try reports.next()
        #expect(throws: HCIDecodingError.self) { _ = try reports.next() }
        #expect(reports.remainingCount == 0)
        if try reports.next() != nil { Issue.record("a report after the end") }
    }

    @Test("extended reports have all fields (§7.7.65.13)")
    func extended() throws {
        let packet = hex("04 3e 1d 0d 01 0500 00 554433221100 01 02 0a f4 c4 5000 fe 563412e5984f 03 020106")
        guard let event = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else {
            Issue.record("no advertising reports")
            return
        }
        var reports = event
        guard let report = try reports.next() else {
            Issue.record("no report")
            return
        }
        let address = report.address
        let properties = report.properties
        let dataStatus = report.dataStatus
        let primaryPHY = report.primaryPHY
        let secondaryPHY = report.secondaryPHY
        let advertisingSetID = report.advertisingSetID
        let transmitPower = report.transmitPower
        let rssi = report.rssi
        let periodicAdvertisingInterval = report.periodicAdvertisingInterval
        let directAddress = report.directAddress
        let isDirectAddressUnresolved = report.isDirectAddressUnresolved
        let data = [UInt8](report.data)
        #expect(address == BluetoothAddress(0x0011_2233_4455, kind: .public))
        #expect(properties == [.connectable, .directed])
        #expect(dataStatus == .complete)
        #expect(primaryPHY == .le1M)
        #expect(secondaryPHY == .le2M)
        #expect(advertisingSetID == 0x0A)
        #expect(transmitPower == -12)
        #expect(rssi == -60)
        #expect(periodicAdvertisingInterval == 0x50)
        #expect(directAddress == BluetoothAddress(0x4F98_E512_3456, kind: .random))
        #expect(isDirectAddressUnresolved)
        #expect(data == hex("020106"))
    }

    @Test("anonymous advertisers have no address, legacy PDUs no set")
    func anonymousAndLegacy() throws {
        let anonymous = hex("04 3e 1a 0d 01 2000 ff 000000000000 03 03 01 7f 7f 0000 00 000000000000 00")
        #expect(try walk(anonymous).lines == ["anonymous, none, more to come, LE Coded / LE Coded, set 1, "])
        let legacy = hex("04 3e 1d 0d 01 1b00 01 563412e598c0 01 00 ff 7f c4 0000 00 000000000000 03 020106")
        #expect(
            try walk(legacy).lines == [
                "C0:98:E5:12:34:56 (random), connectable, scannable, scan response, legacy, RSSI -60 dBm, 020106"
            ])
    }

    @Test("data status: complete, more to come, truncated; the reserved value counts as truncated")
    func dataStatus() throws {
        let words = ["", "more to come, ", "truncated, ", "truncated, "]
        for (status, word) in words.enumerated() {
            var packet = hex("04 3e 1a 0d 01 0000 01 563412e598c0 01 01 00 7f 7f 0000 00 000000000000 00")
            packet[5] = UInt8(status) << 5
            #expect(try walk(packet).lines == ["C0:98:E5:12:34:56 (random), none, \(word)LE 1M / LE 1M, set 0, "])
        }
    }

    @Test("a host decodes what a controller encodes, in every layout")
    func writing() throws {
        let data = hex("020106")
        var legacy = AdvertisingReportEvent(layout: .legacy)
        #expect(legacy.packet.isEmpty)
        try legacy.append(
            AdvertisingReport(
                address: advertiser, properties: [.connectable, .scannable, .legacy], rssi: -60, data: data.span.bytes))
        try legacy.append(
            AdvertisingReport(
                address: advertiser, properties: [.scannable, .scanResponse, .legacy], rssi: nil, data: data.span.bytes)
        )
        #expect(
            legacy.packet.hexadecimal
                == hex("04 3e 1c 02 02 00 01 563412e598c0 03 020106 c4 04 01 563412e598c0 03 020106 7f").hexadecimal)

        var extended = AdvertisingReportEvent(layout: .extended)
        try extended.append(
            AdvertisingReport(
                address: nil, properties: [], dataStatus: .truncated, primaryPHY: .leCoded, secondaryPHY: .leCoded,
                advertisingSetID: 3, transmitPower: 4, rssi: -70, data: data.span.bytes))
        #expect(
            extended.packet.hexadecimal
                == hex("04 3e 1d 0d 01 4000 ff 000000000000 03 03 03 04 ba 0000 00 000000000000 03 020106").hexadecimal)

        var directed = AdvertisingReportEvent(layout: .directed)
        try directed.append(
            AdvertisingReport(
                address: advertiser, properties: [.connectable, .directed, .legacy], rssi: -60,
                directAddress: BluetoothAddress(0x4F98_E512_3456, kind: .random), isDirectAddressUnresolved: true,
                data: [UInt8]().span.bytes))
        #expect(
            directed.packet.hexadecimal
                == hex("04 3e 12 0b 01 01 01 563412e598c0 fe 563412e5984f c4").hexadecimal)
        #expect(try walk(directed.packet).error == nil)
        #expect(try walk(directed.packet).lines.count == 1)
        let packet = directed.packet
        let event = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports()
        guard var reports = event else { return }
        let isUnresolved = try reports.next()?.isDirectAddressUnresolved
        #expect(isUnresolved == true)
    }

    @Test("an event without room refuses a report and is unchanged")
    func full() throws {
        let data = [UInt8](repeating: 0xFF, count: 100)
        var event = AdvertisingReportEvent(layout: .extended)
        let report = AdvertisingReport(address: advertiser, properties: [], rssi: -60, data: data.span.bytes)
        try event.append(report)
        let before = event.packet
        try event.append(report)
        #expect(event.count == 2)
        let twice = event.packet
        #expect(twice.count > before.count)
        #expect(throws: BufferFull.self) { try event.append(report) }
        #expect(event.packet == twice)
        #expect(try walk(twice).lines.count == 2)
        let tooLong = [UInt8](repeating: 0, count: 300)
        var other = AdvertisingReportEvent(layout: .extended)
        #expect(throws: BufferFull.self) {
            try other.append(AdvertisingReport(address: nil, properties: [], rssi: 0, data: tooLong.span.bytes))
        }
        #expect(other.packet.isEmpty)
    }
}
