import BluetoothAdvertising
import BluetoothPrimitives
import CBenchmarkSupport
import Glibc
import BluetoothHCI

/// LE Advertising Report events of a LINBLE: flags, one 128-bit service and a name fill the payload's 31 bytes.
private struct ReportEvents {
    /// Several with different addresses, which the compiler cannot predict.
    static let count = 16
    static let service = BluetoothUUID(high: 0x2752_3010_1234_5678, low: 0x1234_5678_9ABC_DEF0)
    let bytes: [UInt8]
    let length: Int

    init() throws {
        var all: [UInt8] = []
        for index in 0..<Self.count {
            var payload = AdvertisementDataBuilder()
            try payload.add(.flags([.leGeneralDiscoverable, .brEDRNotSupported]))
            try payload.add(.services([Self.service], complete: true))
            try payload.add(.localName("LINBLE-\(index % 10)", complete: true))
            var event = AdvertisingReportEvent(layout: .legacy)
            let report = AdvertisingReport(
                address: BluetoothAddress(0xC000_0000_0000 + UInt64(index), kind: .random),
                properties: [.connectable, .scannable, .legacy], rssi: -40 - Int8(index),
                data: payload.bytes.span.bytes)
            try event.append(report)
            all += event.packet
        }
        bytes = all
        length = all.count / Self.count
    }
}

/// The data that a program stores of a report.
private struct Owned {
    var address: BluetoothAddress?
    var rssi: Int8?
    var data: AdvertisementData
}

func advertisingBenchmarks(_ harness: Harness) throws -> Report.Section {
    let events = try ReportEvents()
    let (length, service) = (events.length, ReportEvents.service)

    /// Calls `body` with each event in turn, and consumes a number made of its results.
    @inline(__always)
    func cycle(_ count: Int, _ body: (RawSpan) throws -> Int) rethrows {
        var sum = 0
        let all = events.bytes.span.bytes
        for index in 0..<count {
            let start = index % ReportEvents.count * length
            sum &+= try body(all.extracting(start..<start + length))
        }
        consume(sum)
    }

    /// Calls `body` with every report of an event.
    @inline(__always)
    func reports(in packet: RawSpan, _ body: (borrowing AdvertisingReport) -> Int) throws -> Int {
        var sum = 0
        if var reports = try HCIEventPacket(decoding: packet).advertisingReports() {
            while let report = try reports.next() { sum &+= body(report) }
        }
        return sum
    }

    let scan = try harness.measure("the same bytes scanned by hand, unchecked") { count in
        var sum = 0
        events.bytes.withUnsafeBytes { all in
            for index in 0..<count {
                sum &+= scanByHand(UnsafeRawBufferPointer(rebasing: all[(index % ReportEvents.count * length)...]))
            }
        }
        consume(sum)
    }

    let event = try harness.measure("event → borrowed report", allocationGoal: 0, floor: .allocation) { count in
        try cycle(count) { packet in
            try reports(in: packet) { Int($0.rssi ?? 0) &+ $0.data.byteCount }
        }
    }
    let borrowed = try harness.measure("event → 3 fields, borrowed", allocationGoal: 0, floor: .allocation) { count in
        try cycle(count) { packet in
            try reports(in: packet) { report in
                var sum = Int(report.rssi ?? 0)
                var structures = ADStructures(report.data)
                while let structure = structures.next() {
                    switch structure.type {
                    case .flags, .completeLocalName, .completeServices128: sum &+= structure.data.byteCount
                    default: break
                    }
                }
                return sum
            }
        }
    }
    let matched = try harness.measure("event → does it offer the service?", allocationGoal: 0, floor: .allocation) {
        count in
        try cycle(count) { packet in
            try reports(in: packet) { ADStructures($0.data).containsService(service) ? 1 : 0 }
        }
    }
    let kept = try harness.measure("event → owned value", goal: 5, allocationGoal: 0, floor: .allocation) {
        count in
        try cycle(count) { packet in
            try reports(in: packet) { report in
                let owned = Owned(
                    address: report.address, rssi: report.rssi, data: AdvertisementData(report.data))
                return Int(owned.rssi ?? 0) &+ (owned.data.isEmpty ? 1 : 0)
            }
        }
    }
    let owned = try harness.measure(
        "event → owned value, 3 typed fields read", goal: 14, allocationGoal: 0, floor: .allocation
    ) { count in
        try cycle(count) { packet in
            try reports(in: packet) { report in
                let owned = Owned(
                    address: report.address, rssi: report.rssi, data: AdvertisementData(report.data))
                return Int(owned.data.flags?.rawValue ?? 0) &+ serviceCount(of: owned.data)
                    &+ (owned.data.localName?.utf8.count ?? 0)
            }
        }
    }
    return Report.Section(
        title: "Advertising: one report of 31 bytes",
        measurements: [scan, event, borrowed, matched, kept, owned] + (try fieldBenchmarks(harness, events)))
}

/// The cost of reading each field.
private func fieldBenchmarks(_ harness: Harness, _ events: ReportEvents) throws -> [Measurement] {
    let length = events.length
    let all = (0..<ReportEvents.count).map { index in
        AdvertisementData(advertising: Array(events.bytes[(index * length + 14)..<((index + 1) * length - 1)]))
    }
    func measure(_ name: String, allocationGoal: Double, _ read: (AdvertisementData) -> Int) throws -> Measurement {
        try harness.measure("… \(name)", allocationGoal: allocationGoal) { count in
            var sum = 0
            for index in 0..<count { sum &+= read(all[index % ReportEvents.count]) }
            consume(sum)
        }
    }
    return [
        try measure("its flags", allocationGoal: 0) { Int($0.flags?.rawValue ?? 0) },
        try measure("its services", allocationGoal: 0) { serviceCount(of: $0) },
        try measure("its services as an array", allocationGoal: 1) { $0.services.count },
        try measure("its local name", allocationGoal: 0) { $0.localName?.utf8.count ?? 0 },
        try measure("whether it offers a service", allocationGoal: 0) {
            $0.containsService(ReportEvents.service) ? 1 : 0
        },
    ]
}

private func serviceCount(of data: AdvertisementData) -> Int {
    var services = data.serviceUUIDs
    var count = 0
    while services.next() != nil { count &+= 1 }
    return count
}

/// The equivalent C: walks the structures' lengths and types without checks.
@inline(never)
private func scanByHand(_ packet: UnsafeRawBufferPointer) -> Int {
    let data = 14
    var position = data
    let end = data + Int(packet[13])
    var sum = Int(Int8(bitPattern: packet[end]))
    while position < end {
        let length = Int(packet[position])
        switch packet[position + 1] {
        case 0x01, 0x07, 0x09: sum &+= length - 1
        default: break
        }
        position += 1 + length
    }
    return sum
}
