// The snippets of Docs/Guide/Central/Connecting.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Connecting.md
enum ConnectingPage {
    /// To a device
    static func toADevice(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        print(await connection.maximumTransmissionUnit)
        await connection.disconnect()
    }

    /// To a device
    static func toADevice2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address, options: ConnectionOptions(timeout: nil))
        print("in range:", connection.peer)
        await connection.disconnect()
    }

    /// To a device
    static func toADevice3(_ adapter: Adapter) async throws {
        let found = try await adapter.firstAdvertisement { $0.isConnectable }
        let first = try await adapter.connect(to: found)
        print(first.peer)
        await first.disconnect()

        let second = try await adapter.connect { $0.localName == "LINBLE-Z1" }
        print(second.peer)
        await second.disconnect()
    }

    /// To a device
    static func toADevice4(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let services = try await adapter.withConnection(to: address) { connection in
            try await connection.discover()
        }
        print(services.map(\.uuid))
    }

    /// Several parts of a program, one device
    static func severalPartsOfAProgramOneDevice(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let one = try await adapter.connect(to: address)
        let other = try await adapter.connect(to: address, options: ConnectionOptions(use: .throughput))
        print(one === other)  // true
        await one.disconnect()
    }

    /// Why a link ended
    static func whyALinkEnded(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        await connection.disconnect()
        let end = await connection.disconnected()
        switch end.disconnectReason {
        case .local: print("we did")
        case .remote, .remotePowerOff, .remoteLowResources: print("the device did")
        case .supervisionTimeout: print("it went out of reach")
        case .authentication: print("it requires pairing")
        case .adapterOff, .adapterRemoved: print("the adapter is gone")
        default: print(end)
        }
    }

    /// The link itself
    static func theLinkItself(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        print(try await connection.rssi())
        print(await connection.parameters as Any)
        let parameters = try await connection.requestParameters(.lowLatency)
        print(parameters.interval)
        print(try await connection.setPHYs(transmit: .le2M, receive: .le2M))
        try await connection.requestDataLength(251)
        await connection.disconnect()
    }

    /// The link itself
    static func theLinkItself2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        for try await change in try await connection.linkChanges() {
            print(change)
            break
        }
        await connection.disconnect()
    }

    /// The link itself
    static func theLinkItself3(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        try await connection.setParameterPolicy(.keep(.lowLatency))
        await connection.disconnect()
    }

    /// Settings from the first packet
    static func settingsFromTheFirstPacket(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address, options: ConnectionOptions(use: .throughput))
        print(await connection.parameters as Any)
        try await connection.adapt(to: .lowPower)
        await connection.disconnect()
    }

    /// Long range
    static func longRange(_ adapter: Adapter) async throws {
        let found = try await adapter.firstAdvertisement(options: ScanOptions(coded: true)) {
            $0.primaryPHY == .leCoded && $0.isConnectable
        }
        let connection = try await adapter.connect(to: found)
        print(try await connection.phys())
        await connection.disconnect()
    }

    /// Keeping a device connected
    static func keepingADeviceConnected(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let kept = adapter.keepConnected(to: address)  // or: try adapter.keepConnected(to: found)
        for try await event in await kept.events() {
            if let reason = event.disconnected { print("down:", reason) }
            guard let connection = event.connected else { continue }
            print("up:", await connection.maximumTransmissionUnit)
            break
        }
        await kept.disconnect()
    }

    /// Keeping a device connected
    static func keepingADeviceConnected2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let kept = adapter.keepConnected(to: address)
        let notices = try await kept.subscribe(to: .heartRateMeasurement, in: .heartRate, timeout: nil)
        for try await notice in notices {
            switch notice {
            case .value(let bytes): print(bytes)
            case .interrupted(let reason): print("a gap:", reason.message)
            case .resumed: print("resumed")
            }
            break
        }
        await kept.disconnect()
    }

    /// Several devices
    static func severalDevices(_ adapter: Adapter) async throws {
        let devices = try await adapter.devices(for: .seconds(5), options: ScanOptions(filter: .service(.heartRate)))
        await withDiscardingTaskGroup { group in
            for device in devices {
                group.addTask {
                    do throws(BluetoothError) {
                        let kept = try adapter.keepConnected(to: device)
                        let notices = try await kept.subscribe(to: .heartRateMeasurement, in: .heartRate, timeout: nil)
                        for try await notice in notices { print(device.localName ?? "-", notice) }
                        await kept.disconnect()
                    } catch {
                        print(device.localName ?? "-", error.code)
                    }
                }
            }
        }
    }
}
