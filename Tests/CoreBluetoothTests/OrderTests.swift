import BluetoothGATT
import BluetoothSimulation
import BluetoothSockets
import CoreBluetooth
import Synchronization
import TestSupport
import Testing

/// A request that a program can ask of a peripheral.
private enum Kind: String, CaseIterable, Sendable {
    case rssi, services, included, characteristics, descriptors, read, readDescriptor, write, command, longCommand
    case writeDescriptor, notify, channel

    /// The opcode and the handle of its first ATT PDU to the device; nil if it needs none.
    func packet(to device: Device) -> String? {
        let note = device.handle(Device.uuid(1), in: Device.own).rawValue
        let commands = device.handle(Device.uuid(2), in: Device.own).rawValue
        let values = device.handle(Device.uuid(5), in: Device.own).rawValue
        return switch self {
        case .rssi, .services, .included, .characteristics, .descriptors, .channel: nil
        case .read: "a \(note)"
        case .readDescriptor: "a \(note + 1)"
        case .write: "12 \(note)"
        case .command: "52 \(commands)"
        case .longCommand: "16 \(commands)"
        case .writeDescriptor: "12 \(note + 1)"
        case .notify: "12 \(values + 1)"
        }
    }

    /// Whether a callback answers it.
    var isAnswered: Bool { self != .command && self != .longCommand }

    func ask(_ peripheral: CBPeripheral, isOn: Bool) {
        guard let note = peripheral.characteristic(Device.uuid(1), in: Device.own), let service = note.service,
            let commands = peripheral.characteristic(Device.uuid(2), in: Device.own),
            let values = peripheral.characteristic(Device.uuid(5), in: Device.own), let label = note.descriptors?.first
        else { return }
        switch self {
        case .rssi: peripheral.readRSSI()
        case .services: peripheral.discoverServices([CBUUID(string: Device.own)])
        case .included: peripheral.discoverIncludedServices(nil, for: service)
        case .characteristics: peripheral.discoverCharacteristics(nil, for: service)
        case .descriptors: peripheral.discoverDescriptors(for: commands)
        case .read: peripheral.readValue(for: note)
        case .readDescriptor: peripheral.readValue(for: label)
        case .write: peripheral.writeValue(Data([1]), for: note, type: .withResponse)
        case .command: peripheral.writeValue(Data([2]), for: commands, type: .withoutResponse)
        case .longCommand: peripheral.writeValue(Data(count: 200), for: commands, type: .withoutResponse)
        case .writeDescriptor: peripheral.writeValue(Data([4]), for: label)
        case .notify: peripheral.setNotifyValue(isOn, for: values)
        case .channel: peripheral.openL2CAPChannel(0x85)
        }
    }
}

/// A program that asks for two things as soon as it has discovered what they need, while the link's own requests are
/// outstanding.
private final class Asker: NSObject, CBPeripheralDelegate, Sendable {
    let answers = Journal<String>()
    private let kinds: [Kind]
    private let hasAsked = Mutex(false)

    init(_ kinds: [Kind]) { self.kinds = kinds }

    private func note(_ kind: Kind) { if hasAsked.withLock({ $0 }) { answers.add(kind.rawValue) } }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        note(.services)
        guard !hasAsked.withLock({ $0 }) else { return }
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        note(.characteristics)
        guard !hasAsked.withLock({ $0 }), let note = peripheral.characteristic(Device.uuid(1), in: Device.own) else {
            return
        }
        peripheral.discoverDescriptors(for: note)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note(.descriptors)
        guard !hasAsked.withLock({ $0 }) else { return }
        hasAsked.withLock { $0 = true }
        for (number, kind) in kinds.enumerated() { kind.ask(peripheral, isOn: number == 0 || kinds[0] != .notify) }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) { note(.included) }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) { note(.rssi) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { note(.read) }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note(.readDescriptor)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { note(.write) }
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note(.writeDescriptor)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { note(.notify) }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        note(.channel)
    }
}

/// The first packets of the requests that a machine sends, as its kernel's monitor shows them.
struct AirLog {
    private let socket: any PacketSocket
    private let events = SocketRecorder()

    init(_ kernel: SimulatedKernel) async throws {
        socket = try await kernel.onLoop { [events] in
            let socket = try kernel.openMonitor { events.handle($0) }
            events.attach(socket)
            return socket
        }
    }

    /// The opcode and the handle of each ATT PDU.
    var packets: [String] {
        events.journal.entries.compactMap { entry in
            // A monitor header of six bytes, those of HCI and L2CAP of four each. Continuations have neither.
            guard case .packet(let bytes) = entry, bytes.count > 16, bytes[0] == 4, bytes[7] & 0x30 != 0x10 else {
                return nil
            }
            return bytes[12] == 4 ? "\(String(bytes[14], radix: 16)) \(Int(bytes[15]) | Int(bytes[16]) << 8)" : nil
        }
    }

    func close() {
        socket.close()
        events.detach()
    }
}

/// Requests reach the air, and are answered, in the order in which the program asked.
@Suite struct OrderTests {
    @Test(arguments: Kind.allCases) fileprivate func everyPair(first: Kind) async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio, limits: GATTServer.Limits(receiveMTU: 100))
            device.peripheral.setService(0x85, receiveMTU: 64)
            let air = try await AirLog(fixture.kernel)
            for second in Kind.allCases {
                let pair = [first, second]
                let before = air.packets.count
                // A program of its own for each, so that the link is a new one.
                let program = await Recorder.start(fixture)
                let asker = Asker(pair)
                await program.perform { manager, program in
                    program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
                    program.then["connected"] = { program, _ in
                        program.peripherals.first?.delegate = asker
                        program.peripherals.first?.discoverServices(nil)
                    }
                    manager.connect(program.peripherals[0])
                }
                let answered = pair.filter(\.isAnswered).map(\.rawValue)
                let sent = pair.compactMap { $0.packet(to: device) }
                await fixture.settle {
                    let packets = air.packets.dropFirst(before)
                    return asker.answers.entries.count >= answered.count
                        && sent.allSatisfy { packet in packets.count { $0 == packet } >= sent.count { $0 == packet } }
                }
                #expect(asker.answers.entries == answered)
                let seen = air.packets.dropFirst(before)
                let places = sent.map { seen.firstIndex(of: $0) ?? 0 }
                #expect(places == places.sorted(), "\(pair)")
                await program.disconnect()
                await program.wait(for: "disconnected")
                try await fixture.radio.sleep(for: .seconds(3))
            }
            air.close()
        }
    }
}
