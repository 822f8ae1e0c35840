// The snippets of Docs/Guide/Central/Attributes.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Attributes.md
enum AttributesPage {
    /// By UUID
    static func byUUID(_ connection: Connection) async throws {
        let level = try await connection.read(.batteryLevel, in: .battery)
        print(level.first ?? 0, "%")
        try await connection.write([1], to: .heartRateControlPoint, in: .heartRate)
        for try await value in try await connection.subscribe(to: .heartRateMeasurement, in: .heartRate) {
            print(value)
            if value.first == 0 { break }
        }
    }

    /// Discover
    static func discover(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let level = services.characteristic(.batteryLevel, in: .battery) {
            print(level.properties, level.descriptors.map(\.uuid))
        }
    }

    /// Discover
    static func discover2(_ connection: Connection) async throws {
        let services = try await connection.discover()
        for report in services.characteristics(.report) {
            print(report.valueHandle, services.service(containing: report.valueHandle)?.uuid ?? "nowhere")
        }
    }

    /// Discover
    static func discover3(_ connection: Connection) async throws {
        let services = try await connection.discover()
        for service in services {
            for included in service.includedServices {
                print(service.uuid, "includes", included.uuid, services.service(included)?.characteristics.count ?? 0)
            }
        }
    }

    /// Discover
    static func discover4(_ connection: Connection) async throws {
        let database = try await connection.discover()
        for problem in database.problems {
            print(problem)  // characteristic 2A37 at 0x0005: its value handle 0x0000 does not follow the declaration
        }
    }

    /// Discover
    static func discover5(_ connection: Connection) async throws {
        if let service = try await connection.discoverServices(.heartRate).first {
            let included = try await connection.discoverIncludedServices(of: service)
            let measurements = try await connection.discoverCharacteristics(.heartRateMeasurement, of: service)
            print(included.count, measurements.count)
        }
    }

    /// Read
    static func read(_ connection: Connection) async throws {
        let name = try await connection.read(AttributeHandle(0x0003), timeout: .seconds(5))
        print(String(decoding: name, as: UTF8.self))
    }

    /// Read
    static func read2(_ connection: Connection) async throws {
        for found in try await connection.readValues(of: .deviceName) {
            print(found.handle, found.value)
        }
    }

    /// Read
    static func read3(_ connection: Connection) async throws {
        let services = try await connection.discover()
        let readable = services.flatMap(\.characteristics).filter { $0.properties.contains(.read) }
        let values = try await connection.read(readable)
        print(zip(readable, values).map { "\($0.uuid): \($1)" })
    }

    /// Write
    static func write(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let control = services.characteristic(.heartRateControlPoint, in: .heartRate) {
            try await connection.write([1], to: control)
        }
    }

    /// Write without response
    static func writeWithoutResponse(_ connection: Connection) async throws {
        let target = AttributeHandle(0x0012)
        let longest = await connection.maximumCommandLength  // 244 at an ATT_MTU of 247
        try await connection.write([UInt8](repeating: 0, count: longest), to: target, type: .withoutResponse)
    }

    /// Reliable writes
    static func reliableWrites(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let low = services.characteristic(0xFFF1, in: 0xFFF0), let high = services.characteristic(0xFFF2, in: 0xFFF0),
            try await connection.extendedProperties(of: low).contains(.reliableWrite)
        {
            try await connection.writeReliably([
                AttributeWrite([10], to: low), AttributeWrite([0xFF], to: high, offset: 4),
            ])
        }
    }

    /// Subscribe
    static func subscribe(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let measurement = services.characteristic(.heartRateMeasurement, in: .heartRate) {
            for try await value in try await connection.subscribe(to: measurement) {
                print(value)
                if value.first == 0 { break }
            }
        }
    }

    /// Descriptors
    static func descriptors(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let temperature = services.characteristic(.temperature, in: .environmentalSensing),
            let descriptor = temperature.descriptor(.characteristicPresentationFormat),
            let format = try await connection.readValue(of: descriptor).presentationFormat
        {
            let value = try await connection.read(temperature)
            print(format.number(value) ?? .nan, format.unitName ?? "")
        }
    }
}
