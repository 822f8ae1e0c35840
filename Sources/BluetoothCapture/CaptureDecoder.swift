import BluetoothATT
import BluetoothHCI
import BluetoothManagement
import BluetoothPrimitives

/// The meaning of a capture's records, in order: links, reassembled frames, and attributes with the names that the
/// capture has shown. Keys, confirm values and passkeys never appear.
package struct CaptureDecoder: Sendable {
    private var joiner = FrameJoiner()
    private var links = CapturedLinks()

    /// A decoder at the beginning of a capture.
    package init() {}

    /// The messages of a record; none for a fragment of a frame that continues.
    package mutating func decode(_ record: CaptureRecord) -> [CapturedMessage] {
        let payload = record.payload
        switch record.kind {
        case .log(let type): return [CapturedMessage(kind: .note, text: "\(type): \(Self.text(payload))")]
        case .other(let type): return [CapturedMessage(kind: .hci, text: "\(type): \(payload.count) bytes")]
        case .unknown:
            return [
                CapturedMessage(kind: .hci, problem: "a packet of an unknown kind", problemBytes: payload)
            ]
        case .packet(.command): return [hci(1, record, isSent: true)]
        case .packet(.event): return [event(record)]
        case .packet(let kind) where kind == .aclSent || kind == .aclReceived:
            return data(record, isSent: kind == .aclSent)
        case .packet(let kind) where kind == .synchronousSent || kind == .isochronousSent:
            return [CapturedMessage(kind: .hci, isSent: true, text: "\(kind): \(payload.count) bytes")]
        case .packet(let kind) where kind == .synchronousReceived || kind == .isochronousReceived:
            return [CapturedMessage(kind: .hci, isSent: false, text: "\(kind): \(payload.count) bytes")]
        case .packet(let kind): return [monitor(kind, record)]
        }
    }

    /// The problem of a packet that the recorder cut.
    private static let cut = "the capture has only its beginning"

    // MARK: HCI

    private func hci(_ type: UInt8, _ record: CaptureRecord, isSent: Bool) -> CapturedMessage {
        let packet = [type] + record.payload
        let text = try? HCIPacketType.text(of: packet.span.bytes, isEvent: type != 1)
        var message = CapturedMessage(
            kind: .hci, isSent: isSent, text: text ?? HCIPacketType.description(of: packet.span.bytes))
        message.missingByteCount = record.missingByteCount
        if text == nil { Self.markMalformed(&message, record) }
        return message
    }

    /// Secret bytes do not appear: what is malformed may be a key.
    private static func markMalformed(_ message: inout CapturedMessage, _ record: CaptureRecord) {
        message.problem = record.missingByteCount > 0 ? cut : message.text
        message.text = ""
        message.problemBytes = visible(record)
    }

    private static func visible(_ record: CaptureRecord) -> [UInt8] {
        guard case .packet(let kind) = record.kind else { return record.payload }
        var filter = SecretFilter()
        let packet = CapturedPacket(adapter: record.adapter, kind: kind, payload: record.payload.span.bytes)
        return Array(record.payload.prefix(filter.visibleByteCount(of: packet) ?? .max))
    }

    private mutating func event(_ record: CaptureRecord) -> CapturedMessage {
        var message = hci(4, record, isSent: false)
        let packet = [4] + record.payload
        guard message.problem == nil, let event = try? HCIEventPacket(decoding: packet.span.bytes) else {
            return message
        }
        func key(_ handle: ConnectionHandle) -> CapturedLinks.Key {
            CapturedLinks.Key(adapter: record.adapter, handle: handle.rawValue)
        }
        func mark(
            _ handle: ConnectionHandle, _ text: String, _ status: HCIStatus = .success, otherwise failure: String = ""
        ) {
            message.kind = .link
            message.isSent = nil
            message.handle = handle.rawValue
            message.peer = links.peer(of: key(handle))
            message.text = status.isSuccess ? text : "\(failure): \(status)"
        }
        if var reports = try? event.advertisingReports() {
            (message.kind, message.isSent, message.text) = (.advertising, nil, "")
            do throws(HCIDecodingError) {
                while try reports.next() != nil {}
            } catch {
                message.problem = "malformed advertising report: \(error)"
                message.problemBytes = record.payload
            }
        } else if let link = try? event.connectionComplete() {
            guard link.status.isSuccess else {
                (message.kind, message.isSent) = (.link, nil)
                message.text = "connection failed: \(link.status)"
                return message
            }
            joiner.removeFrames(adapter: record.adapter, handle: link.handle.rawValue)
            links.begin(key(link.handle), peer: link.peer.address)
            mark(link.handle, "connected as \(link.role), \(Self.text(link.parameters))")
        } else if let end = try? event.as(HCIDisconnectionComplete.self) {
            mark(end.handle, "disconnected: \(end.reason)", end.status, otherwise: "not disconnected")
            guard end.status.isSuccess else { return message }
            joiner.removeFrames(adapter: record.adapter, handle: end.handle.rawValue)
            links.end(key(end.handle))
        } else if let change = try? event.as(HCIEncryptionChange.self) {
            let state = change.isEncrypted ? "encrypted" : "not encrypted"
            mark(change.handle, state, change.status, otherwise: "encryption failed")
        } else if let update = try? event.as(LEConnectionUpdateComplete.self) {
            let text = "parameters changed: \(Self.text(update.parameters))"
            mark(update.handle, text, update.status, otherwise: "parameters not changed")
        } else if let update = try? event.as(LEPHYUpdate.self) {
            let text = "PHYs: transmit \(update.phys.transmit), receive \(update.phys.receive)"
            mark(update.phys.handle, text, update.status, otherwise: "PHYs not changed")
        } else if let change = try? event.as(LEDataLengthChange.self) {
            let (transmit, receive) = (change.length.transmitOctets, change.length.receiveOctets)
            mark(change.handle, "data length: transmit \(transmit), receive \(receive) bytes")
        }
        return message
    }

    private static func text(_ parameters: LEActiveConnectionParameters) -> String {
        "interval \(milliseconds(parameters.interval)) ms, latency \(parameters.latency), "
            + "supervision timeout \(Int(parameters.supervisionTimeout) * 10) ms"
    }

    // MARK: Links

    private mutating func data(_ record: CaptureRecord, isSent: Bool) -> [CapturedMessage] {
        let (handle, outcomes) = joiner.receive(record.payload, adapter: record.adapter, isSent: isSent)
        return outcomes.flatMap { outcome -> [CapturedMessage] in
            var messages: [CapturedMessage]
            switch outcome {
            case .problem(let text):
                // The bytes of an incomplete frame may be those of a key.
                messages = [CapturedMessage(kind: .l2cap, problem: text, problemBytes: Self.visible(record))]
            case .frame(let frame):
                let key = CapturedLinks.Key(adapter: record.adapter, handle: handle ?? 0)
                messages = decode(frame, on: key, isSent: isSent)
                for index in messages.indices { messages[index].missingByteCount = frame.missingByteCount }
            }
            for index in messages.indices {
                messages[index].handle = handle
                messages[index].isSent = isSent
                messages[index].peer = handle.flatMap {
                    links.peer(of: CapturedLinks.Key(adapter: record.adapter, handle: $0))
                }
            }
            return messages
        }
    }

    private mutating func decode(
        _ frame: CapturedFrame, on key: CapturedLinks.Key, isSent: Bool
    ) -> [CapturedMessage] {
        let payload = frame.payload
        let isCut = frame.missingByteCount > 0
        switch frame.channel {
        case 0x0004 where payload.isEmpty && isCut, 0x0005 where payload.isEmpty && isCut:
            return [CapturedMessage(kind: frame.channel == 4 ? .attribute : .l2cap, problem: Self.cut)]
        case 0x0004:
            let isFromClient = ATTOpcode(of: payload.span.bytes)?.isSentByClient == true
            let pdu = links.receive(payload, on: key, isSent: isSent, isFromClient: isFromClient)
            return [
                CapturedMessage(
                    kind: .attribute, attribute: pdu,
                    problem: isCut && pdu.problem != nil ? Self.cut : pdu.problem,
                    problemBytes: pdu.problem == nil ? [] : payload)
            ]
        case 0x0005:
            return SignallingText.describe(payload).map { text, channels, problem in
                if let channels { links.record(channels, on: key, isSent: isSent) }
                return CapturedMessage(
                    kind: .l2cap, text: text, problem: isCut && problem != nil ? Self.cut : problem,
                    problemBytes: problem == nil ? [] : payload)
            }
        case 0x0006, 0x0007:
            let (text, problem) = PairingText.describe(payload, missing: frame.missingByteCount)
            // Malformed or not, it may contain a key: only its code is shown.
            return [
                CapturedMessage(
                    kind: .pairing, text: text, problem: problem,
                    problemBytes: problem == nil ? [] : Array(payload.prefix(1)))
            ]
        default:
            let psm = links.psm(of: frame.channel, on: key, isSent: isSent)
            let name = psm.map { " (PSM \(hexadecimal($0)))" } ?? ""
            let count = payload.count + frame.missingByteCount
            return [
                CapturedMessage(
                    kind: .l2cap,
                    text: "channel \(hexadecimal(frame.channel))\(name): frame of \(count) bytes")
            ]
        }
    }

    // MARK: The monitor channel

    private mutating func monitor(_ kind: CapturedPacketKind, _ record: CaptureRecord) -> CapturedMessage {
        let payload = record.payload
        var reader = ByteReader(payload.span.bytes)
        var message = CapturedMessage(kind: .note)
        switch kind {
        case .newIndex, .deletedIndex, .openedIndex, .closedIndex:
            links.endAll(of: record.adapter)
            joiner.removeFrames(adapter: record.adapter, handle: nil)
            message.text = "\(kind)"
            guard kind == .newIndex, (try? reader.skip(2)) != nil, let address = try? reader.readAddress(.public) else {
                break
            }
            message.text = "new adapter \(address.digits) \(Self.text(Array(payload.dropFirst(8))))"
        case .indexInformation:
            guard let address = try? reader.readAddress(.public), let company = try? reader.readUInt16() else {
                return malformed(kind, record)
            }
            message.text = "adapter \(address.digits), made by \(CompanyIdentifier(company))"
        case .systemNote: message.text = Self.text(payload)
        case .userLogging:
            guard (try? reader.skip(1)) != nil, let count = try? reader.readUInt8(),
                let ident = try? reader.read(Int(count))
            else { return malformed(kind, record) }
            message.text = "\(Self.text([UInt8](ident))): \(Self.text([UInt8](reader.readRemaining())))"
        case .controlOpened:
            guard (try? reader.skip(13)) != nil, let count = try? reader.readUInt8(),
                let name = try? reader.read(Int(count))
            else { return malformed(kind, record) }
            message = CapturedMessage(kind: .management, text: "opened by \(Self.text([UInt8](name)))")
        case .controlClosed: message = CapturedMessage(kind: .management, text: "closed")
        case .controlCommand, .controlEvent:
            guard payload.count >= 6, payload.count - 6 <= Int(UInt16.max) else { return malformed(kind, record) }
            let count = payload.count - 6
            let noIndex: [UInt8] = [0xFF, 0xFF]
            let length = [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
            let packet = payload[4..<6] + noIndex + length + payload[6...]
            message = CapturedMessage(
                kind: .management, isSent: kind == .controlCommand,
                text: ManagementPacket.description(of: Array(packet).span.bytes, isSent: kind == .controlCommand))
            if Self.isRemoved(kind, record) {
                // What follows the name would be a description of the zeros.
                message.text = message.text.prefix { $0 != ":" } + ": not recorded, since it is secret"
            } else if message.text.hasPrefix("malformed ") {
                Self.markMalformed(&message, record)
            }
        default: message.text = "\(kind): \(payload.count) bytes"
        }
        message.missingByteCount = record.missingByteCount
        return message
    }

    /// Whether the parameters of a management packet with keys were replaced by zeros when it was recorded.
    private static func isRemoved(_ kind: CapturedPacketKind, _ record: CaptureRecord) -> Bool {
        let parameters = record.payload.dropFirst(6)
        // The two bytes of an empty list are zeros as well.
        guard parameters.count > 2, parameters.allSatisfy({ $0 == 0 }) else { return false }
        var filter = SecretFilter()
        let packet = CapturedPacket(adapter: record.adapter, kind: kind, payload: record.payload.span.bytes)
        return filter.visibleByteCount(of: packet) == 6
    }

    private func malformed(_ kind: CapturedPacketKind, _ record: CaptureRecord) -> CapturedMessage {
        CapturedMessage(
            kind: .note,
            problem: record.missingByteCount > 0 ? Self.cut : "malformed \(kind)",
            problemBytes: Self.visible(record), missingByteCount: record.missingByteCount)
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
