import BluetoothAdvertising
import BluetoothDeviceFile
import BluetoothLE
import ExampleSupport

extension ServedDevice {
    /// A device that a file describes. This machine has its own Generic Access and Generic Attribute services, so those
    /// of the device are left out, and the handles are those that are free.
    init(_ device: DeviceDescription, from path: String) throws {
        let described = device.services.filter { $0.uuid != .genericAccess && $0.uuid != .genericAttribute }
        guard !described.isEmpty else {
            throw ProgramError(
                .badData, "\(path): the device has no services to serve.", remedy: "See: ble serve --help")
        }
        name = device.name ?? "served"
        services = []
        if let advertisement = device.advertisements.first(where: \.isConnectable) ?? device.advertisements.first {
            content = AdvertisementContent(advertisement)
            interval = advertisement.interval.map { min(max($0, .milliseconds(20)), .milliseconds(10_240)) }
        } else {
            let advertised = device.advertisedServices ?? described.filter(\.isPrimary).map(\.uuid)
            content = AdvertisementContent(localName: name, services: advertised, appearance: device.appearance)
            // More services than fit are usual; the device lists all of them.
            content.overflow = .leaveOut
        }
        for service in described { add(service, period: device.notificationPeriod) }
        for (index, service) in described.enumerated() {
            for include in service.includes {
                let position = described.firstIndex {
                    include.handle == nil ? $0.uuid == include.uuid : $0.handle == include.handle
                }
                services[index] =
                    if let position { services[index].including(services[position]) } else {
                        services[index].including(include.uuid)
                    }
            }
        }
    }

    private mutating func add(_ service: DescribedService, period: Duration) {
        let characteristics = service.characteristics.map { LocalCharacteristic($0) }
        for (described, own) in zip(service.characteristics, characteristics) {
            refusals[own.id] = described.value.error
            if let interval = described.interval {
                let value = described.value.bytes ?? []
                changes[own.id] = .periodic(every: interval) { number in
                    value.isEmpty
                        ? [] : value.dropLast() + [value[value.count - 1] &+ UInt8(truncatingIfNeeded: number + 1)]
                }
            }
            if !described.notifications.isEmpty {
                changes[own.id] = .recorded(described.notifications, period: period)
            }
            if let echo = described.echo { echoes[own.id] = characteristics.first { $0.uuid == echo }?.id }
        }
        services.append(LocalService(service.uuid, isPrimary: service.isPrimary, characteristics: characteristics))
    }
}

extension AdvertisementContent {
    fileprivate init(_ advertisement: DescribedAdvertisement) {
        var discoverability = Discoverability.none
        func fields(_ bytes: [UInt8]) -> [ADField] {
            AdvertisementData(advertising: bytes).fields.filter { field in
                // The system adds the flags.
                guard let flags = field.flags else { return true }
                if flags.contains(.leGeneralDiscoverable) {
                    discoverability = .general
                } else if flags.contains(.leLimitedDiscoverable) {
                    discoverability = .limited
                }
                return false
            }
        }
        let (data, scanResponse) = (fields(advertisement.data), fields(advertisement.scanResponse))
        self.init(fields: data, scanResponse: scanResponse, discoverability: discoverability)
    }
}

extension LocalCharacteristic {
    /// Configuration descriptors are those that the properties require.
    private static let configurations: Set<BluetoothUUID> = [
        .characteristicExtendedProperties, .clientCharacteristicConfiguration, .serverCharacteristicConfiguration,
    ]

    fileprivate init(_ described: DescribedCharacteristic) {
        let extended = described.descriptors.first { $0.uuid == .characteristicExtendedProperties }?.value.bytes ?? []
        self.init(
            described.uuid,
            // Signed writes cannot be published.
            properties: described.properties.subtracting([.authenticatedSignedWrites, .extendedProperties]),
            value: described.value.bytes ?? [], permissions: described.permissions,
            extendedProperties: CharacteristicExtendedProperties(rawValue: UInt16(extended.first ?? 0)))
        descriptors = described.descriptors.filter { !Self.configurations.contains($0.uuid) }.map { descriptor in
            let own = LocalDescriptor(
                descriptor.uuid, permissions: descriptor.permissions ?? .read, value: descriptor.value.bytes ?? [])
            guard let error = descriptor.value.error else { return own }
            return own.onRead { _ in throw error }
        }
    }
}
