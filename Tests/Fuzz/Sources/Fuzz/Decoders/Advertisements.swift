@testable import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothProfiles

/// What devices advertise.
let advertisementDecoders: [FuzzTarget] = [
    FuzzTarget(name: "ad") { input in
        let (first, second) = (Array(input[..<(input.count / 2)]), Array(input[(input.count / 2)...]))
        check(AdvertisementData(input.bytes))
        check(AdvertisementData(advertising: first, scanResponse: second))
    },
    FuzzTarget(name: "beacon") { input in
        var source = ByteSource(input)
        let identifier = source.uint16()
        let content = Array(source.rest().prefix(240))
        checkBeacons(ManufacturerData(company: CompanyIdentifier(identifier), data: content))
        for service in [BluetoothUUID(identifier), Eddystone.service] {
            checkBeacons(ServiceData(service: service, data: content))
        }
        for service in [BTHome.service, MiBeacon.service] {
            let data = ServiceData(service: service, data: content)
            for case let sensor as any SensorAdvertisement in [BTHome(data) as Any, MiBeacon(data) as Any] {
                check(sensor)
            }
        }
        for company in [CompanyIdentifier(identifier), 0x0499] {
            if let sensor = RuuviTag(ManufacturerData(company: company, data: content)) { check(sensor) }
        }
    },
]

private func check(_ data: AdvertisementData) {
    _ = (data.description, data.problems, data.localName, data.services, data.hasMoreServices, data.solicitedServices)
    _ = (data.serviceData, data.manufacturerData, data.targetAddresses, data.uris, data.transportDiscoveryData)
    _ = (data.flags, data.appearance, data.advertisingInterval, data.deviceID, data.encryptedAdvertisingData)
    var services: [BluetoothUUID] = []
    var iterator = data.serviceUUIDs
    while let service = iterator.next() { services.append(service) }
    require(Set(services) == Set(data.services), "\(services) are not \(data.services)")
    for service in services { require(data.containsService(service), "\(service) is not found") }
    for field in data.fields { check(field) }
}

private func check(_ field: ADField) {
    guard let bytes = encoded([field]) else { return }
    let again = AdvertisementData(advertising: bytes).fields
    require(again == field.parts, "\(field) became \(again)")
}

/// A payload with the fields; nil if one does not fit into a structure.
private func encoded(_ fields: [ADField]) -> [UInt8]? {
    try? fields.flatMap { try $0.structures() }.flatMap { [UInt8($0.data.count + 1), $0.type.rawValue] + $0.data }
}

private func checkBeacons(_ data: ManufacturerData) {
    if let beacon = IBeacon(data) { check(beacon, .iBeacon(beacon)) }
    if let beacon = AltBeacon(data) { check(beacon, .altBeacon(beacon)) }
}

private func checkBeacons(_ data: ServiceData) {
    guard let frame = Eddystone(data), let content = try? AdvertisementContent.eddystone(frame) else { return }
    check(frame, content)
}

private func check<Beacon: AdvertisedValue & Equatable>(_ beacon: Beacon, _ content: AdvertisementContent) {
    guard let bytes = encoded(content.fields) else { return fault("\(beacon) is not encoded") }
    let again = AdvertisementData(advertising: bytes).beacon(Beacon.self)
    require(again == beacon, "\(beacon) became \(again as Any)")
}

private let key = BindKey(bytes: Array(0..<16))

private func check(_ sensor: some SensorAdvertisement) {
    _ = (sensor.values.map { "\($0)" }, sensor.isEncrypted, sensor.counter)
    guard let key, let decrypted = try? sensor.decrypted(with: key, from: "C0:98:E5:12:34:56/random") else { return }
    _ = decrypted.values.map { "\($0)" }
}
