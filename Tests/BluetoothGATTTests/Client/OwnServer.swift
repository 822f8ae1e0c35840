import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothGATT

/// The expected discovery of `database`, from its attributes: primary services, and included secondary ones.
func expectedTree(of database: AttributeDatabase) throws -> [RemoteService] {
    var services: [RemoteService] = []
    for (position, attribute) in database.attributes.enumerated() {
        switch attribute.type {
        case .primaryService, .secondaryService:
            let value = attribute.storedValue ?? []
            let uuid = BluetoothUUID(attributeValue: value.span.bytes)
            let range = AttributeHandleRange(start: attribute.handle, end: attribute.groupEnd)
            services.append(
                RemoteService(
                    uuid: try #require(uuid), handles: range, isPrimary: attribute.type == .primaryService))
        case .include:
            let value = try #require(attribute.storedValue)
            let start = AttributeHandle(UInt16(value[0]) | UInt16(value[1]) << 8)
            let end = AttributeHandle(UInt16(value[2]) | UInt16(value[3]) << 8)
            let declaration = try #require(database.attribute(at: start)?.storedValue)
            let uuid = BluetoothUUID(attributeValue: declaration.span.bytes)
            services[services.count - 1].includedServices.append(
                RemoteIncludedService(
                    uuid: try #require(uuid),
                    handles: AttributeHandleRange(start: start, end: end), declarationHandle: attribute.handle))
        case .characteristic:
            guard let service = services.last, service.handles.contains(attribute.handle) else { continue }
            services[services.count - 1].characteristics.append(
                try expectedCharacteristic(at: position, in: service, of: database))
        default: break
        }
    }
    // The services reachable from the primary ones.
    var known = Set(services.filter(\.isPrimary).map(\.handles.start))
    var toVisit = services.filter(\.isPrimary)
    while let service = toVisit.popLast() {
        for included in service.includedServices where known.insert(included.handles.start).inserted {
            toVisit.append(try #require(services.first { $0.handles == included.handles }))
        }
    }
    return services.filter { known.contains($0.handles.start) }
}

private func expectedCharacteristic(
    at position: Int, in service: RemoteService, of database: AttributeDatabase
) throws -> RemoteCharacteristic {
    let attributes = database.attributes
    var value = try #require(attributes[position].storedValue)
    let properties = CharacteristicProperties(rawValue: value.removeFirst())
    let next = attributes[(position + 1)...].first { $0.type == .characteristic }?.handle.previous
    let end = min(next ?? .last, service.handles.end)
    let members = attributes[(position + 2)...].prefix { $0.handle <= end }
    return RemoteCharacteristic(
        uuid: attributes[position + 1].type, properties: properties, declarationHandle: attributes[position].handle,
        valueHandle: attributes[position + 1].handle, endHandle: end,
        descriptors: members.map { RemoteDescriptor(uuid: $0.type, handle: $0.handle) })
}

extension ServerFixture {
    /// Lets the server respond until the procedure ends; counts the requests.
    ///
    /// Reads of dynamic values are answered with `value`, and writes to them are accepted.
    mutating func perform<Procedure: ClientProcedure>(
        _ procedure: Procedure, value: [UInt8] = []
    ) throws -> (output: Procedure.Output, requests: Int) {
        var procedure = procedure
        var requests = 0
        while true {
            var request = ByteWriter(capacity: server.mtu)
            try procedure.writeRequest(into: &request)
            requests += 1
            var answer = send(request.bytes)
            while server.isWaitingForProgram {
                if case .readRequested = events.first {
                    answer = hex(try self.answer(value.hexadecimal))
                } else {
                    answer = hex(try accept())
                }
            }
            try #require(answer.count <= server.mtu)
            if case .done(let output) = try procedure.receive(try ATTServerPDU(decoding: answer.span.bytes)) {
                return (output, requests)
            }
        }
    }

    /// The failure of a procedure.
    mutating func failure(of procedure: some ClientProcedure) throws -> String {
        do {
            _ = try perform(procedure)
            return "no failure"
        } catch let failure as TransactionFailure {
            return ending(failure)
        }
    }
}
