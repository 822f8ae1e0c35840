import BluetoothATT
import BluetoothAdvertising
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import Synchronization

// The devices of a file, on the air.
extension SimulationFile.Device {
    /// The server of its attributes; throws unless they form a valid database.
    func server(at place: String) throws(SimulationFile.Problem) -> SimulatedGATTServer {
        do throws(AttributeDatabaseError) {
            return try makeServer()
        } catch {
            throw SimulationFile.Problem(place: place, reason: "\(error)")
        }
    }

    private func makeServer() throws(AttributeDatabaseError) -> SimulatedGATTServer {
        let name = GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array((name ?? "").utf8)))
        let changed = GATTCharacteristic(.serviceChanged, properties: .indicate, value: .dynamic)
        return try SimulatedGATTServer(
            [
                GATTService(.genericAccess, characteristics: [name]),
                GATTService(.genericAttribute, characteristics: [changed]),
            ] + services.map { $0.layout })
    }

    func put(on radio: SimulatedRadio) {
        // Creating the server has succeeded once, when the file was read.
        guard let server = try? makeServer() else { return }
        for service in services { service.animate(server, on: radio) }
        let payloads = AdvertisingPayloads(
            [.flags([.leGeneralDiscoverable, .brEDRNotSupported])]
                + (advertisedServices.isEmpty ? [] : [.services(advertisedServices)])
                + (name.map { [.localName($0)] } ?? []))
        SimulatedPeripheral(
            on: radio, address: address,
            advertisements: [SimulatedAdvertisement(data: payloads.advertising, scanResponse: payloads.scanResponse)],
            signalStrength: signalStrength, gatt: server)
    }
}

extension SimulationFile.DescribedService {
    /// Starts the periodic notifications and the echoes that the service describes.
    fileprivate func animate(_ server: SimulatedGATTServer, on radio: SimulatedRadio) {
        var echoes: [AttributeHandle: AttributeHandle] = [:]
        for characteristic in characteristics {
            guard let handle = server.handle(of: characteristic.uuid, in: uuid) else { continue }
            if let interval = characteristic.interval {
                ValueClock(characteristic.value, of: handle, every: interval, server, radio.loop).start()
            }
            if let echo = characteristic.echo { echoes[handle] = server.handle(of: echo, in: uuid) }
        }
        if !echoes.isEmpty { server.echo(echoes, on: radio) }
    }
}

extension SimulatedGATTServer {
    /// Echoes each value written to a characteristic: notifies it as the value of another, to the client that has
    /// written it.
    ///
    /// A write is dropped while 1024 others wait, as in a device whose buffer is full.
    fileprivate func echo(_ echoes: [AttributeHandle: AttributeHandle], on radio: SimulatedRadio) {
        let (writes, continuation) = AsyncStream.makeStream(
            of: (value: [UInt8], handle: AttributeHandle, link: SimulatedLink).self,
            bufferingPolicy: .bufferingOldest(1024))
        onWrite { requests, link in
            for write in requests {
                if let handle = echoes[write.handle] { continuation.yield((write.value, handle, link)) }
            }
            return .accept
        }
        Task(executorPreference: radio.loop) {
            for await write in writes { await self.notify(write.value, of: write.handle, to: write.link) }
        }
    }
}

/// A value that is periodically notified to its subscribers; its last byte counts up.
private final class ValueClock: Sendable {
    private let value: Mutex<[UInt8]>
    private let handle: AttributeHandle
    private let interval: Duration
    private let server: SimulatedGATTServer
    private let timer = Mutex<LoopTimer?>(nil)
    private let loop: EventLoop

    init(
        _ value: [UInt8], of handle: AttributeHandle, every interval: Duration, _ server: SimulatedGATTServer,
        _ loop: EventLoop
    ) {
        self.value = Mutex(value)
        self.handle = handle
        self.interval = interval
        self.server = server
        self.loop = loop
    }

    func start() {
        let made = loop.makeTimer { self.tick() }
        timer.withLock { $0 = made }
        made.set(after: interval)
    }

    private func tick() {
        let value = value.withLock { value -> [UInt8] in
            if let last = value.indices.last { value[last] &+= 1 }
            return value
        }
        // A notification without room is dropped, as by a sensor.
        server.notifyAtOnce(value, of: handle)
        timer.withLock { $0 }?.set(after: interval)
    }
}
