import BluetoothAdvertising
import BluetoothCapture
import BluetoothHCI
import BluetoothLE
import BluetoothPrimitives
import ExampleSupport

/// The choice of packets to print.
struct CaptureFilter: Sendable {
    private static let nameCapacity = 1024

    let kinds: Set<CapturedMessage.Kind>
    private let address: BluetoothAddress?
    private let kind: BluetoothAddress.Kind?
    /// The advertisements with the name; nil for all devices.
    private let name: ScanFilter?
    /// The addresses that have advertised ``name``.
    private var named: Set<BluetoothAddress> = []

    /// - Parameter name: A part of the name, in any case.
    init(kinds: Set<CapturedMessage.Kind>, address: BluetoothAddress?, kind: BluetoothAddress.Kind?, name: String?) {
        (self.kinds, self.address, self.kind) = (kinds, address, kind)
        self.name = name.map { .nameContaining($0, ignoringCase: true) }
    }

    /// Whether the packets of some devices were chosen.
    var isOfDevice: Bool { address != nil || kind != nil || name != nil }

    /// Records the name of a device.
    mutating func record(_ advertisement: Advertisement) {
        guard let name, let address = advertisement.address, named.count < Self.nameCapacity,
            name.matches(advertisement)
        else { return }
        named.insert(address)
    }

    /// Whether packets of this device are chosen; those without a device are unless one was named.
    func contains(_ device: BluetoothAddress?) -> Bool {
        guard isOfDevice else { return true }
        guard let device else { return false }
        return (address.map { $0.value == device.value } ?? true) && (kind.map { $0 == device.kind } ?? true)
            && (name == nil || named.contains(device))
    }
}

/// The packets of a capture as text or JSON Lines.
struct CaptureDisplay {
    private let console: Console
    private var filter: CaptureFilter
    private let raw: Bool
    private var decoder = CaptureDecoder()
    private var joiner = AdvertisementJoiner(deviceLimit: 4096)
    private var secrets = SecretFilter()
    private var hiddenCount = 0
    private var problemCount = 0
    private var drops: UInt32 = 0

    init(_ console: Console, _ filter: CaptureFilter, raw: Bool) {
        (self.console, self.filter, self.raw) = (console, filter, raw)
    }

    /// Prints the messages of a record.
    mutating func show(_ record: CaptureRecord) {
        let bytes = raw ? visible(record) : nil
        if record.drops > drops { reportDrops(record) }
        let messages = decoder.decode(record)
        for message in messages {
            if message.problem != nil { problemCount += 1 }
            if message.kind == .advertising {
                showReports(of: record, bytes)
                guard message.problem != nil else { continue }
            }
            guard filter.kinds.contains(message.kind), filter.contains(message.peer) else {
                if !filter.kinds.contains(message.kind) { hiddenCount += 1 }
                continue
            }
            show(message, of: record, bytes)
        }
        guard messages.isEmpty, let bytes, filter.kinds.contains(.l2cap), !filter.isOfDevice else { return }
        show(CapturedMessage(kind: .l2cap, text: "fragment of a frame"), of: record, bytes)
    }

    /// Prints the number of packets to standard error.
    func finish(_ reader: CaptureReader) {
        guard let format = reader.format else { return }
        var summary = "\(quantity(reader.recordCount, "packet")) of \(format)"
        if hiddenCount > 0 { summary += ", \(hiddenCount) not shown" }
        if problemCount > 0 { summary += ", \(problemCount) with problems" }
        if drops > 0 { summary += ", \(drops) dropped while recording" }
        console.message(summary)
    }

    private mutating func reportDrops(_ record: CaptureRecord) {
        let count = record.drops - drops
        drops = record.drops
        guard filter.kinds.contains(.note), !filter.isOfDevice else { return }
        show(
            CapturedMessage(
                kind: .note, text: "\(quantity(count, "packet")) missing: dropped while recording"),
            of: record, nil)
    }

    /// The bytes of a record up to a key, and the number of hidden ones.
    private mutating func visible(_ record: CaptureRecord) -> String {
        guard case .packet(let kind) = record.kind else { return record.payload.hexadecimal }
        let packet = CapturedPacket(adapter: record.adapter, kind: kind, payload: record.payload.span.bytes)
        let count = min(secrets.visibleByteCount(of: packet) ?? .max, record.payload.count)
        return Array(record.payload.prefix(count)).hexadecimal
            + String(repeating: "00", count: record.payload.count - count)
    }

    // MARK: Advertising reports

    private mutating func showReports(of record: CaptureRecord, _ bytes: String?) {
        let packet = [4] + record.payload
        guard let event = try? HCIEventPacket(decoding: packet.span.bytes),
            var reports = try? event.advertisingReports()
        else { return }
        do {
            while let report = try reports.next() {
                guard let joined = joiner.receive(ReceivedReport(report)) else { continue }
                show(Advertisement(joined, report, at: KernelInstant(nanoseconds: 0)), of: record)
            }
        } catch {
            // The message of the event has the problem.
        }
    }

    private mutating func show(_ advertisement: Advertisement, of record: CaptureRecord) {
        filter.record(advertisement)
        guard filter.kinds.contains(.advertising) else {
            hiddenCount += 1
            return
        }
        guard filter.contains(advertisement.address) else { return }
        if console.isJSON {
            return console.result(fields(of: advertisement, raw: raw), at: timestamp(microseconds: record.time))
        }
        printLine(record, "adv", printable("\(advertisement)"))
        guard raw else { return }
        console.result("    advertising \(advertisement.data.advertising.hexadecimal)")
        if !advertisement.data.scanResponse.isEmpty {
            console.result("    scan response \(advertisement.data.scanResponse.hexadecimal)")
        }
    }

    // MARK: Other messages

    private func show(_ message: CapturedMessage, of record: CaptureRecord, _ bytes: String?) {
        if console.isJSON {
            return console.result(
                message.fields(of: record, raw: bytes), at: timestamp(microseconds: record.time))
        }
        var parts: [String] = []
        if let peer = message.peer {
            parts.append(peer.digits)
        } else if let handle = message.handle {
            parts.append("link 0x\(hexadecimal(handle, digits: 4))")
        }
        let text = printable(message.summary)
        if !text.isEmpty { parts.append(text) }
        if message.missingByteCount > 0 {
            parts.append(
                console.output.yellow("(\(quantity(message.missingByteCount, "byte")) missing in the capture)"))
        }
        if let problem = message.problem {
            let bytes =
                message.problemBytes.isEmpty ? "" : ": " + ValueText.hexadecimal(message.problemBytes, limit: 32)
            parts.append(console.output.red("problem: \(printable(problem))") + bytes)
        }
        let arrow = message.isSent.map { $0 ? " →" : " ←" } ?? ""
        printLine(record, message.kind.title + arrow, parts.joined(separator: "  "))
        if let bytes { console.result("    \(bytes)") }
    }

    private func printLine(_ record: CaptureRecord, _ label: String, _ text: String) {
        let adapter = record.adapter == 0 || record.adapter == CapturedPacket.noAdapter ? "" : "hci\(record.adapter)  "
        let padding = String(repeating: " ", count: max(0, 7 - label.count))
        console.result("\(console.time(record.time))  \(adapter)\(console.output.cyan(label))\(padding)  \(text)")
    }
}

extension CapturedMessage.Kind {
    /// The name in a line of text.
    fileprivate var title: String {
        switch self {
        case .attribute, .pairing, .l2cap, .hci: rawValue.uppercased()
        case .advertising, .link, .management, .note: rawValue
        }
    }
}

extension CapturedMessage {
    /// The message in one line; attributes as the other commands name them.
    fileprivate var summary: String {
        guard let attribute else { return text }
        var parts = ["\(attribute.opcode)"]
        if !attribute.detail.isEmpty { parts.append(attribute.detail) }
        parts += attribute.values.map(\.text)
        return parts.joined(separator: "  ")
    }

    /// The fields of its JSON object.
    fileprivate func fields(of record: CaptureRecord, raw: String?) -> [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = [
            ("event", .string("packet")), ("protocol", .string(kind.rawValue)),
            ("adapter", JSONValue(record.adapter == CapturedPacket.noAdapter ? nil : "hci\(record.adapter)")),
            ("address", JSONValue(peer.map(\.digits))), ("addressType", JSONValue(peer.map { "\($0.kind)" })),
            ("link", JSONValue(handle.map { Int($0) })),
            ("direction", JSONValue(isSent.map { $0 ? "sent" : "received" })), ("text", .string(summary)),
        ]
        if let attribute {
            fields.append(("pdu", .string("\(attribute.opcode)")))
            fields.append(("values", .array(attribute.values.map { .object($0.fields) })))
        }
        if missingByteCount > 0 { fields.append(("missing", .integer(missingByteCount))) }
        if let problem {
            fields.append(("problem", .string(problem)))
            fields.append(("problemBytes", .string(problemBytes.hexadecimal)))
        }
        if let raw { fields.append(("raw", .string(raw))) }
        return fields
    }
}

extension CapturedAttributePDU.Value {
    /// `2A19 Battery Level 0x0012  61  97 %`.
    fileprivate var text: String {
        var title = [
            name.map { "\($0.uuid)" }, name?.uuid.assignedName, handle.map { "\($0)" },
            name?.characteristic.map { "of \($0.assignedName ?? "\($0)")" },
        ].compactMap { $0 }.joined(separator: " ")
        if offset > 0 { title += " from byte \(offset)" }
        guard let bytes else { return title }
        // A part has no meaning of its own.
        let value = ValueText.describe(bytes, of: offset > 0 ? nil : name?.uuid, in: name?.characteristic)
        return title.isEmpty ? value : "\(title)  \(value)"
    }

    fileprivate var fields: [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = [
            ("uuid", JSONValue(name.map { "\($0.uuid)" })), ("name", JSONValue(name?.uuid.assignedName)),
            ("handle", JSONValue(handle.map { Int($0.rawValue) })),
        ]
        if let characteristic = name?.characteristic {
            fields.append(("characteristic", .string("\(characteristic)")))
        }
        if offset > 0 { fields.append(("offset", .integer(offset))) }
        if let bytes { fields += valueFields(bytes, of: offset > 0 ? nil : name?.uuid, in: name?.characteristic) }
        return fields
    }
}
