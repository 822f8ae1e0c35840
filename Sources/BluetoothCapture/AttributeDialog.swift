import BluetoothATT
import BluetoothPrimitives

/// A PDU of the Attribute Protocol with what the PDUs before it tell about it.
package struct CapturedAttributePDU: Hashable, Sendable {
    /// A value in the PDU and its attribute.
    package struct Value: Hashable, Sendable {
        /// The attribute; nil if the request is missing in the capture.
        package var handle: AttributeHandle?
        /// Its name, once discovered.
        package var name: AttributeNames.Name?
        /// The value or a part of it; nil in a request that names the attribute only.
        package var bytes: [UInt8]?
        /// The offset of the part in the value.
        package var offset = 0
    }

    /// The opcode.
    package var opcode: ATTOpcode
    /// The attributes that are read, written or notified; empty for discovery and other PDUs.
    package var values: [Value] = []
    /// What the PDU says besides: a range, found attributes, an error.
    package var detail = ""
    /// Why the PDU is malformed.
    package var problem: String?
}

/// The dialog of client and server on one bearer: the requests that wait for their responses.
///
/// Each device may be client and server, so there is one request in each direction at most.
package struct AttributeDialog: Sendable {
    private struct Request {
        var opcode: ATTOpcode
        var handles: [AttributeHandle] = []
        var type: BluetoothUUID?
        var value: [UInt8] = []
        var offset = 0
    }

    private var requests: [Bool: Request] = [:]

    /// A dialog without requests.
    package init() {}

    /// Processes a PDU.
    ///
    /// - Parameters:
    ///   - pdu: The complete PDU.
    ///   - isSent: Whether the host sent it.
    ///   - names: The attributes of the server in this direction of the dialog; discovered ones are added.
    package mutating func receive(
        _ pdu: RawSpan, isSent: Bool, names: inout AttributeNames
    ) -> CapturedAttributePDU {
        guard let opcode = ATTOpcode(of: pdu) else {
            return CapturedAttributePDU(opcode: ATTOpcode(0), problem: "an empty PDU")
        }
        do throws(ATTDecodingError) {
            if opcode.isSentByClient {
                return receive(try ATTClientPDU(decoding: pdu), isSent: isSent, names)
            }
            return receive(try ATTServerPDU(decoding: pdu), isSent: isSent, &names)
        } catch {
            // A malformed response ends the request as well.
            if opcode.type == .response { requests[!isSent] = nil }
            return CapturedAttributePDU(opcode: opcode, problem: "\(error)")
        }
    }

    private mutating func receive(
        _ pdu: borrowing ATTClientPDU, isSent: Bool, _ names: AttributeNames
    ) -> CapturedAttributePDU {
        var result = CapturedAttributePDU(opcode: pdu.opcode)
        var request = Request(opcode: pdu.opcode)
        switch pdu {
        case .readRequest(let handle): request.handles = [handle]
        case .readBlobRequest(let handle, let offset):
            request.handles = [handle]
            request.offset = Int(offset)
        case .readMultipleRequest(var list), .readMultipleVariableRequest(var list):
            while let handle = list.next() { request.handles.append(handle) }
        case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
            .signedWriteCommand(let handle, let value, _):
            request.handles = [handle]
            request.value = [UInt8](value)
        case .prepareWriteRequest(let handle, let offset, let value):
            request.handles = [handle]
            request.offset = Int(offset)
            request.value = [UInt8](value)
        case .readByTypeRequest(_, let type), .readByGroupTypeRequest(_, let type):
            request.type = type
            result.detail = Self.detail(pdu.description, after: pdu.opcode)
        case .findByTypeValueRequest(_, let type, let value):
            request.type = BluetoothUUID(type)
            request.value = [UInt8](value)
            result.detail = Self.detail(pdu.description, after: pdu.opcode)
        default: result.detail = Self.detail(pdu.description, after: pdu.opcode)
        }
        let carriesValue = [.writeRequest, .writeCommand, .signedWriteCommand, .prepareWriteRequest]
            .contains(pdu.opcode)
        result.values = request.handles.map { handle in
            .init(
                handle: handle, name: names[handle], bytes: carriesValue ? request.value : nil, offset: request.offset)
        }
        if pdu.opcode.type == .request { requests[isSent] = request }
        return result
    }

    private mutating func receive(
        _ pdu: borrowing ATTServerPDU, isSent: Bool, _ names: inout AttributeNames
    ) -> CapturedAttributePDU {
        var result = CapturedAttributePDU(opcode: pdu.opcode)
        let request = pdu.opcode.type == .response ? requests.removeValue(forKey: !isSent) : nil
        func value(_ bytes: [UInt8]?, of handle: AttributeHandle?, offset: Int = 0) -> CapturedAttributePDU.Value {
            .init(handle: handle, name: handle.flatMap { names[$0] }, bytes: bytes, offset: offset)
        }
        switch pdu {
        case .errorResponse(let error):
            if error.handle.rawValue != 0 { result.values = [value(nil, of: error.handle)] }
            result.detail = "\(error.requestOpcode): \(error.code)"
        case .readResponse(let bytes): result.values = [value([UInt8](bytes), of: request?.handles.first)]
        case .readBlobResponse(let bytes):
            result.values = [value([UInt8](bytes), of: request?.handles.first, offset: request?.offset ?? 0)]
        case .writeResponse: result.values = request?.handles.map { value(nil, of: $0) } ?? []
        case .prepareWriteResponse(let handle, let offset, let bytes):
            result.values = [value([UInt8](bytes), of: handle, offset: Int(offset))]
        case .handleValueNotification(let handle, let bytes), .handleValueIndication(let handle, let bytes):
            result.values = [value([UInt8](bytes), of: handle)]
        case .readMultipleVariableResponse(let list):
            var (list, handles) = (list, request?.handles ?? [])
            while let entry = list.next() {
                result.values.append(value([UInt8](entry.value), of: handles.isEmpty ? nil : handles.removeFirst()))
            }
        case .multipleHandleValueNotification(var list):
            while let entry = list.next() { result.values.append(value([UInt8](entry.value), of: entry.handle)) }
        case .findInformationResponse(let list):
            var (list, texts) = (list, [String]())
            while let entry = list.next() {
                names.record(entry.type, of: entry.handle)
                texts.append("\(Self.title(entry.type)) \(entry.handle)")
            }
            result.detail = texts.joined(separator: ", ")
        case .readByGroupTypeResponse(let list): result.detail = Self.services(list)
        case .findByTypeValueResponse(let list):
            let uuid = request.flatMap { Self.uuid($0.value.span.bytes) }.map { "\(Self.title($0)) " } ?? ""
            result.detail = uuid + list.description
        case .readByTypeResponse(let list): receive(list, of: request?.type, &names, &result)
        default: result.detail = Self.detail(pdu.description, after: pdu.opcode)
        }
        return result
    }

    private func receive(
        _ list: ATTAttributeDataList, of type: BluetoothUUID?, _ names: inout AttributeNames,
        _ result: inout CapturedAttributePDU
    ) {
        var (list, texts) = (list, [String]())
        while let entry = list.next() {
            if type == BluetoothUUID(0x2803) {
                names.record(BluetoothUUID(0x2803), of: entry.handle)
                guard let found = names.recordCharacteristic(entry.value) else { continue }
                texts.append("\(Self.title(found.uuid)) \(found.handle)")
            } else if type == BluetoothUUID(0x2802) {
                texts.append("include \(entry.handle): \(Self.hexadecimal(entry.value))")
            } else {
                if let type { names.record(type, of: entry.handle) }
                result.values.append(
                    .init(handle: entry.handle, name: names[entry.handle], bytes: [UInt8](entry.value)))
            }
        }
        result.detail = texts.joined(separator: ", ")
    }

    private static func services(_ list: ATTGroupAttributeDataList) -> String {
        var (list, texts) = (list, [String]())
        while let entry = list.next() {
            texts.append("\(uuid(entry.value).map(title) ?? hexadecimal(entry.value)) \(entry.range)")
        }
        return texts.joined(separator: ", ")
    }

    private static func uuid(_ value: RawSpan) -> BluetoothUUID? {
        var reader = ByteReader(value)
        guard let width: BluetoothUUID.Width = value.byteCount == 2 ? .bits16 : value.byteCount == 16 ? .bits128 : nil
        else { return nil }
        return try? reader.readUUID(width)
    }

    private static func title(_ uuid: BluetoothUUID) -> String {
        uuid.assignedName.map { "\(uuid) \($0)" } ?? "\(uuid)"
    }

    private static func detail(_ description: String, after opcode: ATTOpcode) -> String {
        String(description.dropFirst("\(opcode) ".count))
    }

    private static func hexadecimal(_ value: RawSpan) -> String { [UInt8](value).hexadecimal }
}
