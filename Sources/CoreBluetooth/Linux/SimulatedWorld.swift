import BluetoothLE
import BluetoothLoop
import BluetoothSimulation
import Foundation
import LINBLESimulation

/// A simulated radio that a file describes: a machine with an adapter, LINBLEs, and peripherals with services.
///
/// Docs/Guide/PortingCoreBluetooth.md tells what the file may say.
struct SimulatedWorld: Decodable {
    struct Device: Decodable {
        var name: String?
        var address: String?
        var rssi: Int?
        var services: [Service]?
        var advertisedServices: [String]?
        /// "loopback" or "nothing" make it a LINBLE.
        var linble: String?
    }

    struct Service: Decodable {
        var uuid: String
        var characteristics: [Characteristic]?
    }

    struct Characteristic: Decodable {
        var uuid: String
        var properties: [String]
        var value: String?
        var text: String?
        var description: String?
        /// Every how many seconds the value is notified, its last byte counting up.
        var every: Double?
    }

    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    var seed: UInt64?
    var devices: [Device]

    init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(SimulatedWorld.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The kernel of the machine, in real time.
    func makeKernel() throws -> any BluetoothKernel {
        let radio = SimulatedRadio(time: .real, seed: seed ?? 1)
        for device in devices { try device.put(on: radio) }
        return radio.makeKernel(adapters: [.fresh])
    }
}

extension SimulatedWorld.Device {
    fileprivate func put(on radio: SimulatedRadio) throws {
        let address = try address.map { text in
            guard let address = BluetoothAddress(text, kind: .random) else {
                throw SimulatedWorld.Problem(description: "\"\(text)\" is not an address.")
            }
            return address
        }
        let strength = Int8(clamping: rssi ?? -50)
        if let linble {
            let attached: any AttachedDevice =
                switch linble {
                case "loopback": .loopback
                case "nothing": .silent
                default: throw SimulatedWorld.Problem(description: "\"\(linble)\" is nothing that a LINBLE has.")
                }
            _ = SimulatedLINBLE(
                on: radio,
                .init(name: name ?? "LINBLE-Z1", address: address, attached: attached, signalStrength: strength))
            return
        }
        let server = try SimulatedGATTServer(GATTService.system(name: name) + (services ?? []).map { try $0.layout })
        for service in services ?? [] { try service.tell(server, on: radio) }
        let advertised = try (advertisedServices ?? services?.map(\.uuid) ?? []).map { try uuid($0) }
        let content = try AdvertisingPayloads(
            [.flags([.leGeneralDiscoverable, .brEDRNotSupported])] + (advertised.isEmpty ? [] : [.services(advertised)])
                + (name.map { [.localName($0)] } ?? []))
        SimulatedPeripheral(
            on: radio, address: address,
            advertisements: [
                SimulatedAdvertisement(data: content.advertising, scanResponse: content.scanResponse)
            ], signalStrength: strength, gatt: server)
    }
}

extension SimulatedWorld.Service {
    fileprivate var layout: GATTService {
        get throws {
            GATTService(
                try SimulatedWorld.uuid(uuid), characteristics: try (characteristics ?? []).map { try $0.layout })
        }
    }

    /// Has those values told that change by the clock, for as long as somebody wants them.
    fileprivate func tell(_ server: SimulatedGATTServer, on radio: SimulatedRadio) throws {
        let service = try SimulatedWorld.uuid(uuid)
        for characteristic in characteristics ?? [] {
            guard let seconds = characteristic.every, seconds > 0,
                let handle = server.handle(of: try SimulatedWorld.uuid(characteristic.uuid), in: service)
            else { continue }
            let clock = ValueClock(try characteristic.bytes, of: handle, every: .seconds(seconds), server, radio.loop)
            clock.start()
        }
    }
}

extension SimulatedWorld.Characteristic {
    fileprivate var bytes: [UInt8] {
        get throws {
            if let text { return Array(text.utf8) }
            guard let value else { return [] }
            guard let bytes = [UInt8](hexadecimal: value) else {
                throw SimulatedWorld.Problem(description: "\"\(value)\" is not hexadecimal.")
            }
            return bytes
        }
    }

    fileprivate var layout: GATTCharacteristic {
        get throws {
            let known: [String: CharacteristicProperties] = [
                "read": .read, "write": .write, "writeWithoutResponse": .writeWithoutResponse, "notify": .notify,
                "indicate": .indicate,
            ]
            let own = try properties.reduce(into: CharacteristicProperties()) { own, name in
                guard let property = known[name] else {
                    throw SimulatedWorld.Problem(description: "\"\(name)\" is no property of a characteristic.")
                }
                own.insert(property)
            }
            return GATTCharacteristic(
                try SimulatedWorld.uuid(uuid), properties: own, value: .stored(try bytes),
                descriptors: description.map {
                    [GATTDescriptor(.characteristicUserDescription, value: .stored(Array($0.utf8)))]
                } ?? [])
        }
    }
}

extension SimulatedWorld {
    fileprivate static func uuid(_ text: String) throws -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else { throw Problem(description: "\"\(text)\" is not a UUID.") }
        return uuid
    }
}

private func uuid(_ text: String) throws -> BluetoothUUID { try SimulatedWorld.uuid(text) }

extension GATTService {
    /// The services that every device has.
    fileprivate static func system(name: String?) -> [GATTService] {
        [
            GATTService(
                .genericAccess,
                characteristics: [
                    GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array((name ?? "").utf8)))
                ]),
            GATTService(
                .genericAttribute,
                characteristics: [GATTCharacteristic(.serviceChanged, properties: .indicate, value: .dynamic)]),
        ]
    }
}

/// Tells a value to who has subscribed, by the clock; its last byte counts.
private final class ValueClock: Sendable {
    private let value: Locked<[UInt8]>
    private let handle: AttributeHandle
    private let interval: Duration
    private let server: SimulatedGATTServer
    private let timer: Locked<LoopTimer?>
    private let loop: EventLoop

    init(
        _ value: [UInt8], of handle: AttributeHandle, every interval: Duration, _ server: SimulatedGATTServer,
        _ loop: EventLoop
    ) {
        self.value = Locked(value)
        self.handle = handle
        self.interval = interval
        self.server = server
        self.loop = loop
        timer = Locked(nil)
    }

    func start() {
        let made = loop.makeTimer { self.tick() }
        timer { $0 = made }
        made.set(after: interval)
    }

    private func tick() {
        let value = value { value -> [UInt8] in
            if let last = value.indices.last { value[last] &+= 1 }
            return value
        }
        // What has no room now is not sent, as with a sensor.
        server.notifyAtOnce(value, of: handle)
        timer { $0 }?.set(after: interval)
    }
}
