import BluetoothATT
import BluetoothAdvertising
import BluetoothGATT
import BluetoothHCI
import BluetoothPrimitives

// A peripheral and a central in one program without a runtime: what Tests/Embedded/check runs.

/// A server with a heart rate service, and a client that discovers it over nothing but bytes.
private func discover() -> RemoteDatabase? {
    let rate = GATTCharacteristic("2A37", properties: .notify, value: .dynamic)
    let level = GATTCharacteristic("2A19", properties: .read, value: .stored([97]))
    guard
        var database = try? AttributeDatabase([
            GATTService("180D", characteristics: [rate]), GATTService("180F", characteristics: [level]),
        ])
    else { return nil }
    print("hash \(database.hash)")
    var server = GATTServer()
    var client = DatabaseDiscovery()
    var request = ByteWriter(capacity: 23)
    var response = ByteWriter(capacity: 23)
    while true {
        request.removeAll()
        guard (try? client.writeRequest(into: &request)) != nil else { return nil }
        _ = server.receive(request.bytes.span.bytes, database: &database, into: &response)
        guard let answer = try? ATTServerPDU(decoding: response.bytes.span.bytes),
            let step = try? client.receive(answer)
        else { return nil }
        if case .done(let found) = step { return found }
    }
}

/// The name and the services in an advertising report of a controller.
private func report() {
    let payloads = AdvertisingPayloads([.flags(.brEDRNotSupported), .services(["180D"]), .localName("Pulse")])
    let data = AdvertisementData(advertising: payloads.advertising)
    print("\(data.localName ?? "no name"): \(data)")
    let length = UInt8(truncatingIfNeeded: payloads.advertising.count)
    var packet: [UInt8] = [0x04, 0x3E, length &+ 12, 0x02, 1, 0, 1, 0x56, 0x34, 0x12, 0xE5, 0x98, 0xC0, length]
    packet += payloads.advertising
    packet.append(0xC4)
    guard let event = try? HCIPacketType.text(of: packet.span.bytes, isEvent: true) else { return print("no event") }
    print(event)
}

@main struct Smoke {
    static func main() {
        report()
        guard let database = discover() else { return print("nothing discovered") }
        for service in database.services {
            print("\(service.uuid): \(service.characteristics.map { $0.uuid.description }.joined(separator: ", "))")
        }
    }
}
