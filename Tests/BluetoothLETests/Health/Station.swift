import BluetoothGATT
import BluetoothSimulation
import Synchronization

@testable import BluetoothLE

/// A program that runs unattended: it scans, advertises a service, and keeps a sensor connected whose values it counts.
///
/// In range are beacons, the sensor, and a visitor on another machine that reads the service.
final class Station: Sendable {
    private static let service: BluetoothUUID = 0xFFF0
    private static let values: BluetoothUUID = 0xFFF3

    /// The moments of the latest signs of life.
    private struct Signs {
        var report: KernelInstant?
        var value: KernelInstant?
        var reportCount = 0
        var valueCount = 0
    }

    let fixture: Fixture
    /// Scans and serves.
    let serving: Adapter
    /// Keeps the sensor connected; may be the same.
    let central: Adapter
    let sensor: SimulatedPeripheral
    private let server: SimulatedGATTServer
    private let kept: KeptConnection
    private let visitor: Adapter
    private let holds: (PublishedServices, AdvertisingSet)
    private let signs = Mutex(Signs())
    private let tasks = Mutex<[Task<Void, any Error>]>([])

    /// - Parameter pace: the time between two advertisements of a beacon, and a sixth of that between two values.
    init(
        _ fixture: Fixture, serving: Adapter, central: Adapter, pace: Duration, policy: AdapterUnavailablePolicy = .end
    ) async throws {
        (self.fixture, self.serving, self.central) = (fixture, serving, central)
        server = try SimulatedGATTServer([
            GATTService(
                Self.service,
                characteristics: [
                    GATTCharacteristic(Self.values, properties: [.notify, .read], value: .stored([0]))
                ])
        ])
        for _ in 0..<3 {
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 0x01, 0x06], interval: pace)])
        }
        sensor = SimulatedPeripheral(
            on: fixture.radio, advertisements: [SimulatedAdvertisement(interval: .seconds(1))], gatt: server)
        visitor = try await Adapter.open(on: fixture.radio.makeKernel())
        let published = try await serving.publish([
            LocalService(
                Self.service,
                characteristics: [LocalCharacteristic(Self.values, properties: .read, value: [7])])
        ])
        holds = (
            published,
            try await serving.advertise(
                AdvertisementContent(services: [Self.service]),
                options: AdvertisingOptions(interval: .seconds(2)...(.seconds(2)), whenAdapterUnavailable: policy))
        )
        kept = central.keepConnected(to: sensor.address)
        try await begin(pace, policy)
    }

    private func begin(_ pace: Duration, _ policy: AdapterUnavailablePolicy) async throws {
        let scan = try await serving.scan(ScanOptions(duplicates: .all, whenAdapterUnavailable: policy))
        let notices = try await kept.subscribe(to: Self.values, in: Self.service)
        let (fixture, kept) = (fixture, kept)
        keep {
            for try await report in scan {
                self.signs.withLock { ($0.report, $0.reportCount) = (report.time, $0.reportCount + 1) }
            }
        }
        keep {
            for try await notice in notices {
                guard case .value = notice else { continue }
                self.signs.withLock { ($0.value, $0.valueCount) = (fixture.radio.now, $0.valueCount + 1) }
            }
        }
        let handle = server.handle(of: Self.values, in: Self.service)
        keep { [server] in
            while let handle {
                try await fixture.radio.sleep(for: pace * 6)
                _ = server.notifyAtOnce([1], of: handle)
            }
        }
        // A link on which nothing is sent does not show that its controller hangs.
        keep {
            while true {
                try await fixture.radio.sleep(for: pace * 60)
                _ = try? await kept.connection?.read(Self.values, in: Self.service)
            }
        }
    }

    private func keep(_ body: @escaping @Sendable () async throws -> Void) {
        let task = fixture.begin(body)
        tasks.withLock { $0.append(task) }
    }

    /// Whether the scan hears, and the sensor's values arrive, both within the last `time`.
    func isAlive(within time: Duration) -> Bool {
        let limit = fixture.radio.now.advanced(by: .zero - time)
        return signs.withLock { signs in
            signs.report.map { $0 > limit } ?? false && signs.value.map { $0 > limit } ?? false
        }
    }

    /// Waits until ``isAlive(within:)``; false if that takes longer than `limit`.
    func waitUntilAlive(within time: Duration, limit: Duration) async throws -> Bool {
        let start = fixture.radio.now
        while !isAlive(within: time) {
            guard start.duration(to: fixture.radio.now) < limit else { return false }
            try await fixture.radio.sleep(for: .seconds(10))
        }
        return true
    }

    /// What is known about the station, for a message.
    var state: String {
        get async {
            let now = fixture.radio.now
            func age(_ moment: KernelInstant?) -> String {
                moment.map { "\($0.duration(to: now).inSeconds) ago" } ?? "never"
            }
            let signs = signs.withLock { $0 }
            return
                "report \(age(signs.report)), value \(age(signs.value)), serving \(serving.state) \(await serving.health), "
                + "central \(central.state) \(await central.health)"
        }
    }

    /// The signs of life so far.
    var counts: (reports: Int, values: Int) { signs.withLock { ($0.reportCount, $0.valueCount) } }

    /// What the visitor reads from the station.
    func visit() async throws -> [UInt8] {
        let connection = try await visitor.connect(
            to: serving.information.address, options: ConnectionOptions(timeout: .seconds(60)))
        let value = try await connection.read(Self.values, in: Self.service)
        await connection.disconnect()
        return value
    }

    /// Ends everything.
    func close() async {
        await kept.disconnect()
        for adapter in [serving, central, visitor] { await adapter.close() }
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }
}
