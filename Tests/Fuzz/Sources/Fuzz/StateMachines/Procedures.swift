import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// Every procedure with a server that responds with anything: it ends, and asks for nothing again and again.
let gattProcedures = FuzzTarget("gatt-procedures") { source in
    let mtu = source.choose([23, 24, 65, 247, 517]) ?? 23
    var procedure = procedure(&source)
    answer(&procedure, mtu: mtu, &source)
}

func procedure(_ source: inout ByteSource) -> any ClientProcedure {
    let uuid: BluetoothUUID = source.flag() ? 0x1801 : 0x2A19
    let handle = AttributeHandle(UInt16(source.byte()) + 1)
    switch source.number(below: 14) {
    case 0: return ServiceDiscovery()
    case 1: return ServiceDiscovery(uuid: uuid)
    case 2: return CharacteristicDiscovery(in: AttributeHandleRange(start: handle, end: .last), uuid: uuid)
    case 3: return DescriptorDiscovery(in: AttributeHandleRange(start: handle, end: .last))
    case 4: return IncludedServiceDiscovery(in: .all)
    case 5: return DatabaseDiscovery(requestLimit: 300)
    case 6: return CharacteristicSearch(uuid, in: uuid)
    case 7: return ValueRead(handle)
    case 8: return ValueReadByUUID(uuid)
    case 9: return MultipleValueRead((0..<UInt16(source.byte() & 31)).map { AttributeHandle(handle.rawValue + $0) })
    case 10: return ValueWrite(source.bytes(atMost: 20), to: handle)
    case 11: return ReliableWrite(source.bytes(atMost: 520), to: handle)
    case 12:
        return ReliableWrite([
            AttributeWrite(handle, value: source.bytes(atMost: 60)),
            AttributeWrite(0x200, offset: 7, value: source.bytes(atMost: 60)),
        ])
    default: return source.flag() ? DatabaseHashRead() : MTUExchange(offering: source.uint16())
    }
}

/// Answers the requests of a procedure until it ends: with the input, and when that has ended with refusals.
private func answer(_ procedure: inout any ClientProcedure, mtu: Int, _ source: inout ByteSource) {
    var asked: [[UInt8]: Int] = [:]
    var writer = ByteWriter(capacity: mtu)
    do {
        while true {
            writer.removeAll()
            writer.capacity = mtu
            try procedure.writeRequest(into: &writer)
            let request = writer.bytes
            require(request.count <= mtu, "a request of \(request.count) bytes")
            require((try? ATTClientPDU(decoding: request.span.bytes)) != nil, "the malformed \(request.hexadecimal)")
            // A service may be found as a primary and as a secondary one.
            asked[request, default: 0] += 1
            require(asked[request] ?? 0 <= 2, "\(request.hexadecimal) is requested again and again")
            let response = response(to: request, mtu: mtu, &source)
            guard let pdu = try? ATTServerPDU(decoding: response.span.bytes) else { break }
            if try procedure.isDone(after: pdu) { break }
            if source.byte() == 0xFF, !procedure.stop() { break }
        }
    } catch {}
    require(procedure.problems.count <= 1000, "\(procedure.problems.count) problems")
}

private func response(to request: [UInt8], mtu: Int, _ source: inout ByteSource) -> [UInt8] {
    func next(_ offset: UInt8) -> [UInt8] {
        let start = UInt16(request.count > 2 ? UInt16(request[1]) | UInt16(request[2]) << 8 : 0) &+ UInt16(offset)
        return [UInt8(truncatingIfNeeded: start), UInt8(start >> 8)]
    }
    let refusal = [0x01, request[0], 0, 0, 0x0A] as [UInt8]
    guard !source.isEmpty else { return refusal }
    let opcode = request[0] + 1
    let kind = source.byte()
    switch kind & 7 {
    case 0: return source.bytes(atMost: mtu)
    case 1: return [0x01, request[0], 0, 0, source.byte()]
    case 2: return [opcode] + source.bytes(atMost: mtu - 1)
    case 3 where [0x0A, 0x0C].contains(request[0]): return [opcode] + [UInt8](repeating: 7, count: mtu - 1)
    case 3 where request[0] == 0x16: return [opcode] + request.dropFirst()
    default: break
    }
    let first = next(kind >> 6)
    switch request[0] {
    case 0x04: return [opcode, 1] + first + [source.byte() & 7, 0x29]
    case 0x06: return [opcode] + first + next(source.byte())
    case 0x10: return [opcode, 6] + first + next(source.byte()) + [kind >> 5 & 1, 0x18]
    case 0x08 where request.suffix(2) == [2, 0x28]:
        let included = next(source.byte()) + next(source.byte())
        return [opcode, 8] + first + included + [1, 0x18]
    case 0x08: return [opcode, 7] + first + [source.byte()] + next(source.byte()) + [0x19, 0x2A]
    case 0x20: return [opcode] + [UInt8](0..<kind >> 3).flatMap { [$0 & 3, 0] + [0, 0, 0].prefix(Int($0 & 3)) }
    default: return refusal
    }
}
