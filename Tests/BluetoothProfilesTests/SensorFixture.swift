import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation

/// A sensor on one machine, which this library serves, and a connection to it from another, in virtual time.
struct SensorFixture: Sendable {
    let radio: SimulatedRadio
    let published: PublishedServices
    let connection: Connection

    static func run(
        @GATTBuilder<LocalService> _ services: () -> [LocalService],
        story: @escaping @Sendable (SensorFixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let (sensorKernel, kernel) = (radio.makeKernel(), radio.makeKernel())
        let services = services()
        try await radio.run(limit: .seconds(600)) {
            let sensor = try await Adapter.open(on: sensorKernel)
            let published = try await sensor.publish(services)
            let set = try await sensor.advertise(AdvertisementContent(localName: "Sensor"))
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect { $0.localName == "Sensor" }
            try await story(SensorFixture(radio: radio, published: published, connection: connection))
            await connection.disconnect()
            await set.close()
            await adapter.close()
            await sensor.close()
        }
    }

    /// The values that a subscription receives after one another, each notified or indicated when the subscription is there.
    func notified<Value: Sendable>(
        _ values: [Value], of characteristic: Characteristic<Value>
    ) async throws -> [Value] {
        let stream = try await connection.subscribe(to: characteristic)
        for value in values {
            if characteristic.properties.contains(.indicate) {
                try await published.indicate(value, of: characteristic)
            } else {
                try await published.notify(value, of: characteristic)
            }
        }
        var received: [Value] = []
        for try await value in stream {
            received.append(value)
            if received.count == values.count { break }
        }
        return received
    }
}
