import BluetoothLE
import CoreBluetooth
import Synchronization
import TestSupport
import Testing

/// A program that publishes a service with one characteristic of every kind, and records its callbacks.
final class Server: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    static let service = CBUUID(string: "5E110000-1234-5678-9ABC-DEF012345678")
    static let dynamic = CBUUID(string: "CA110001-1234-5678-9ABC-DEF012345678")
    static let fixed = CBUUID(string: "CA110002-1234-5678-9ABC-DEF012345678")
    static let stream = CBUUID(string: "CA110003-1234-5678-9ABC-DEF012345678")

    let journal = Journal<String>()
    let fixture: Fixture
    let offer: CBMutableService
    /// Whether it publishes and advertises whenever it is powered on.
    let isEager: Bool
    let dynamic = CBMutableCharacteristic(
        type: Server.dynamic, properties: [.read, .write, .writeWithoutResponse], value: nil,
        permissions: [.readable, .writeable])
    let fixed = CBMutableCharacteristic(
        type: Server.fixed, properties: .read, value: Data("fixed".utf8), permissions: .readable)
    let stream = CBMutableCharacteristic(
        type: Server.stream, properties: .notify, value: nil, permissions: .readable)
    var manager: CBPeripheralManager?
    var value = Data((0..<300).map { UInt8(truncatingIfNeeded: $0) })
    var central: CBCentral?
    var left = 0
    /// The maximum length of the central that read last.
    let reader = Mutex<Int?>(nil)

    init(_ fixture: Fixture, _ service: CBUUID = Server.service, isEager: Bool = true) {
        self.fixture = fixture
        self.isEager = isEager
        offer = CBMutableService(type: service, primary: true)
        super.init()
        fixed.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "a label")
        ]
        offer.characteristics = [dynamic, fixed, stream]
        manager = CBPeripheralManager(
            delegate: self, queue: fixture.queue, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "server"])
    }

    private func note(_ entry: String) {
        if !fixture.isOnQueue { Issue.record("“\(entry)” was called back off the queue") }
        journal.add(entry)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        note("state \(peripheral.state.rawValue)")
        if peripheral.state == .poweredOn, isEager { begin() }
    }

    // Never called.
    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        Issue.record("state was restored")
    }

    /// Publishes and advertises.
    func begin() {
        manager?.add(offer)
        manager?.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Server", CBAdvertisementDataServiceUUIDsKey: [offer.uuid],
        ])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        note("added \(service === offer) \((error as? CBError)?.errorCode ?? 0)")
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        note("advertising \(peripheral.isAdvertising) \((error as? CBError)?.errorCode ?? 0)")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        self.central = central
        note("subscribed \(characteristic === stream) \(stream.subscribedCentrals?.count ?? 0)")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        note("unsubscribed \(central === self.central) \(stream.subscribedCentrals?.count ?? 0)")
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        reader.withLock { $0 = request.central.maximumUpdateValueLength }
        guard request.characteristic === dynamic, request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = value.subdata(in: request.offset..<value.count)
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        note("wrote \(requests.map { "\($0.offset)+\($0.value?.count ?? 0)" }.joined(separator: " "))")
        if first.value == Data([0xEE]) {
            guard let own = CBATTError.Code(rawValue: 0x81) else { return }
            return peripheral.respond(to: first, withResult: own)
        }
        peripheral.respond(to: first, withResult: .success)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        note("unpublished \(PSM) \((error as? CBError)?.errorCode ?? 0)")
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        note("ready")
        sendRest()
    }

    /// Sends the remaining values as long as there is room.
    func sendRest() {
        while left > 0 {
            let value = Data([UInt8(truncatingIfNeeded: left), UInt8(truncatingIfNeeded: left >> 8)])
            guard manager?.updateValue(value, for: stream, onSubscribedCentrals: nil) == true else { return }
            left -= 1
        }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        psm = PSM
        note("published \(PSM >= 0x80)")
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        self.channel = channel
        note("opened \(channel?.psm == psm)")
    }

    var psm: CBL2CAPPSM = 0
    var channel: CBL2CAPChannel?
}

extension Server {
    /// A program that advertises.
    static func start(_ fixture: Fixture, _ service: CBUUID = Server.service) async -> Server {
        let server = Server(fixture, service)
        await fixture.wait(for: "advertising true 0", in: server.journal)
        return server
    }

    /// Starts a program that advertises, and one on another machine that has discovered its service.
    ///
    /// - Parameter subscribing: whether the latter has subscribed to the stream as well.
    static func visited(_ fixture: Fixture, subscribing: Bool = false) async -> (Server, Recorder) {
        let server = await start(fixture)
        let client = await fixture.elsewhere { await Recorder.start(fixture) }
        await client.reach(Server.service, named: "Server")
        if subscribing {
            await client.setNotify(true, Server.stream.uuidString, in: Server.service.uuidString)
            await fixture.wait(for: "subscribed true 1", in: server.journal)
        }
        return (server, client)
    }
}
