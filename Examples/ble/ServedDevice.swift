import BluetoothATT
import BluetoothAdvertising
import BluetoothDeviceFile
import BluetoothLE
import ExampleSupport
import Synchronization

/// The device that `ble serve` acts as: services with values, some of which may change automatically.
struct ServedDevice: Sendable {
    /// How a characteristic's value changes automatically.
    enum Change: Sendable {
        /// To another value after each interval, whether or not there are subscribers.
        case periodic(every: Duration, value: @Sendable (Int) -> [UInt8])
        /// As recorded, from the first subscription on, again after each period.
        case recorded([DescribedNotification], period: Duration)
    }

    var name: String
    var content: AdvertisementContent
    /// The advertising interval; nil for the usual one.
    var interval: Duration?
    var services: [LocalService]
    var changes: [DefinitionID: Change] = [:]
    /// The characteristics that notify what is written to others.
    var echoes: [DefinitionID: DefinitionID] = [:]
    /// The errors of reads that are refused.
    var refusals: [DefinitionID: ATTErrorCode] = [:]

    var characteristics: [LocalCharacteristic] { services.flatMap(\.characteristics) }

    /// A battery that discharges by a per cent a second and is then full again.
    static let battery = ServedDevice(
        name: "Battery", service: "180F", [],
        changing: LocalCharacteristic("2A19", properties: [.read, .notify], value: [97])
    ) { [UInt8(96 - $0 % 97)] }

    /// A heart that beats between 60 and 90 times a minute; the sensor is worn at the chest.
    static let heartRate = ServedDevice(
        name: "Heart Rate", appearance: Appearance(rawValue: 0x0341), service: "180D",
        [
            LocalCharacteristic("2A38", properties: .read, value: [1]),
            LocalCharacteristic("2A39", properties: .write, valueLengths: 1...1),
        ],
        changing: LocalCharacteristic("2A37", properties: .notify)
    ) { [0x06, UInt8(60 + abs(30 - $0 % 60))] }

    /// The profiles that are no files.
    static let profiles = ["battery", "heart-rate", "bench", "firmware", "keyboard"]

    /// The battery, the heart rate sensor, or a device that a file describes.
    /// - Parameter device: the name or the address of the device in a file with several.
    init(_ profile: String, device: String? = nil) throws {
        switch profile {
        case "battery": self = .battery
        case "heart-rate": self = .heartRate
        default:
            let devices = try DescribedDevices(contentsOf: profile, orOneOf: Self.profiles)
            try self.init(devices.choose(device), from: profile)
        }
    }

    private init(
        name: String, appearance: Appearance? = nil, service: BluetoothUUID, _ others: [LocalCharacteristic],
        changing: LocalCharacteristic, value: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.name = name
        content = AdvertisementContent(localName: name, services: [service], appearance: appearance)
        services = [LocalService(service, characteristics: [changing] + others)]
        changes = [changing.id: .periodic(every: .seconds(1), value: value)]
    }

    /// Replaces the name, also in the advertisement.
    mutating func rename(_ name: String) {
        func renamed(_ fields: [ADField]) -> [ADField] {
            fields.map { $0.localName == nil ? $0 : .localName(name) }
        }
        self.name = name
        let (fields, scanResponse) = (renamed(content.fields), renamed(content.scanResponse))
        let isNamed = (fields + scanResponse).contains { $0.localName != nil }
        content.fields = fields + (isNamed ? [] : [.localName(name)])
        content.scanResponse = scanResponse
    }
}

/// The current values of the characteristics, which devices read and write.
final class ServedValues: Sendable {
    private let values: Mutex<[DefinitionID: [UInt8]]>

    init(of services: [LocalService]) {
        let characteristics = services.flatMap(\.characteristics)
        values = Mutex(
            Dictionary(characteristics.map { ($0.id, $0.value ?? []) }, uniquingKeysWith: { first, _ in first }))
    }

    subscript(characteristic: DefinitionID) -> [UInt8] {
        get { values.withLock { $0[characteristic] ?? [] } }
        set { values.withLock { $0[characteristic] = newValue } }
    }

    /// Stores a written value; a part replaces the value from its offset on.
    /// - Throws: Invalid Offset for a part beyond the end of the value.
    func store(_ write: WriteRequest) throws {
        try values.withLock { values in
            let before = values[write.target] ?? []
            guard write.offset <= before.count else { throw ATTErrorCode.invalidOffset }
            values[write.target] = before.prefix(write.offset) + write.value
        }
    }
}
