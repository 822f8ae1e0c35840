// The snippets of the guide, for the compiler. Generated from the pages:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Glibc
import LINBLE
import LINBLESimulation
import Testing

/// README.md
enum ReadmePage {
    /// swift-bluetooth-le
    static func swiftBluetoothLe() async throws {
        struct FirstProgram {
            static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(.first, power: .powerOn)
                    let found = try await adapter.firstAdvertisement(timeout: .seconds(10)) { $0.localName == "LINBLE-Z1" }

                    let connection = try await adapter.connect(to: found)
                    for service in try await connection.discover() {
                        print(service.uuid, service.characteristics.map(\.uuid))
                    }
                } catch {
                    print(error)
                    exit(error.code == .notPermitted ? 77 : 1)
                }
            }
        }
        await FirstProgram.main()
    }

    /// A UART
    static func aUART(_ adapter: Adapter) async throws {
        let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
        try await uart.send([0x01, 0x00])
        if let answer = try await uart.read(timeout: .seconds(2)) { print(answer) }
    }

    /// A test without hardware
    static func aTestWithoutHardware() async throws {
        let radio = SimulatedRadio()                     // virtual time: the half hour takes no real time
        let kernel = radio.makeKernel()
        let linble = SimulatedLINBLE(on: radio)
        try await radio.run {
            // Your program, on `kernel` instead of the machine's own.
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
            try await uart.send([0x01, 0x00])
            try await radio.sleep(for: .seconds(1800))
            await uart.disconnect()
        }
        #expect(linble.statistics.bytesFromHosts == 2)
    }
}

/// Docs/Guide/Bonds.md
enum BondsPage {
    /// Storing bonds
    static func storingBonds() async throws {
        let store = try FileBondStore(directory: "/var/lib/sensors/bonds")
        let adapter = try await Adapter.open(power: .powerOn, bonds: .store(store))
        print(await adapter.bondStatus)
    }

    /// How many bonds
    static func howManyBonds() async throws {
        let adapter = try await Adapter.open(
            power: .powerOn, bondLimit: BondLimit(8, whenFull: .replaceUnauthenticated))
        try await adapter.setPairingAgent(JustWorksPairingAgent())
    }

    /// Listing and removing
    static func listingAndRemoving(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        for bond in await adapter.bonds() {
            print(bond)
        }
        try await adapter.removeBond(with: address)
    }

    /// Following changes
    static func followingChanges(_ adapter: Adapter) async throws {
        for try await change in await adapter.bondChanges() {
            switch change {
            case .stored(let bond): print("bonded with", bond.identity)
            case .notStored(let bond, let error): print(bond.identity, "until this program ends:", error.message)
            case .removed(let identity): print("forgot", identity)
            case .displaced(let identity, let other): print(identity, "made room for", other)
            case .refused(let peer): print("no room for", peer)
            }
        }
    }

    /// Private addresses of devices
    static func privateAddressesOfDevices(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let found = try await adapter.firstAdvertisement(timeout: .seconds(10), options: ScanOptions(filter: .address(address)))
        print(found.address == address, found.privateAddress != nil)
    }

    /// Devices known by their key
    static func devicesKnownByTheirKey(_ adapter: Adapter) async throws {
        let phone = try DeviceIdentity(name: "phone", exportedKey: "8B3F6D01C2E94A7788D0B1A35C4E9F20")
        let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .identity(phone)))
        print(phone.name, found.address != nil)
        let connection = try await adapter.connect(to: phone)
        print(connection.peer == found.address)
    }

    /// A private address for this machine
    static func aPrivateAddressForThisMachine() async throws {
        let adapter = try await Adapter.open(power: .powerOn, privacy: .on)
        print(adapter.information.usesPrivateAddresses, adapter.information.address)
    }
}

/// Docs/Guide/Capture.md
enum CapturePage {
    /// Capturing packets
    static func capturingPackets() async throws {
        let trace = try await PacketTrace.open("session.btsnoop")
        let adapter = try await Adapter.open(power: .powerOn, trace: trace)
        // … scan, connect, read …
        await adapter.close()
        await trace.close()  // the file is complete when this returns
    }
}

/// Docs/Guide/Central.md
enum CentralPage {
    /// The snippets
    static func theSnippets() async throws {
        let adapter = try await Adapter.open(power: .powerOn)
        let connection = try await adapter.connect { $0.localName == "Pulse-Z1" }
        let address = connection.peer
        print(adapter.information.name, "is connected to", address)
    }

    /// Time limits, and the event loop
    static func timeLimitsAndTheEventLoop(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let name = try await withTimeLimit(.seconds(10)) {
            let connection = try await adapter.connect(to: address)
            return try await connection.read(.deviceName, in: .genericAccess)
        }
        print(String(decoding: name, as: UTF8.self))
    }

    /// Time limits, and the event loop
    static func timeLimitsAndTheEventLoop2(_ adapter: Adapter, _ connection: Connection) async throws {
        let sum = try await adapter.run {
            var sum = 0
            for _ in 0..<1000 { sum += try await connection.read(.batteryLevel, in: .battery).count }
            return sum
        }
        print(sum)
    }
}

/// Docs/Guide/Central/Adapters.md
enum AdaptersPage {
    /// Choosing one
    static func choosingOne() async throws {
        let adapter = try await Adapter.open(power: .powerOn)
        print(adapter.information.name, adapter.information.address)
    }

    /// Choosing one
    static func choosingOne2() async throws {
        let adapter = try await Adapter.open(power: .powerOn, waitingFor: .seconds(30))
        print(adapter.information.name, "is there")
    }

    /// Following one
    static func followingOne(_ adapter: Adapter) async throws {
        for try await state in adapter.states {
            print(state)  // on, off, blocked by rfkill (soft), absent …
            if state == .absent { break }
        }
    }

    /// Following one
    static func followingOne2(_ adapter: Adapter) async throws {
        try await adapter.ready(timeout: .seconds(10))
        print(adapter.state)  // on
    }

    /// When it goes
    static func whenItGoes(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(whenAdapterLeaves: .resume)) {
            print(advertisement)
        }
    }

    /// When it goes
    static func whenItGoes2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(timeout: .seconds(60), waitsForAdapter: true)
        let connection = try await adapter.connect(to: address, options: options)
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// When its radio fails
    static func whenItsRadioFails() async throws {
        let adapter = try await Adapter.open(power: .powerOn, recovery: RecoveryOptions(mode: .recover))
        let events = await adapter.healthEvents()
        print(await adapter.health)  // good
        for try await event in events {
            print(event)  // no advertisement was received for 30 s; trying to restart the scan; works again …
            if case .gaveUp = event { break }
        }
        await adapter.close()
    }

    /// All of them
    static func allOfThem() async throws {
        for try await change in try await Adapter.changes() {
            print(change)  // hci0 (00:AA:01:00:00:01) added: off
        }
    }

    /// All of them
    static func allOfThem2() async throws {
        for information in try await Adapter.all() where information.isLowEnergySupported {
            let adapter = try await Adapter.open(.index(information.index), power: .powerOn)
            let nearest = try await adapter.firstAdvertisement(timeout: .seconds(5), options: ScanOptions(filter: .rssi(atLeast: -60)))
            print(information.name, "hears", nearest)
            await adapter.close()
        }
    }
}

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

    /// Read
    static func read4(_ connection: Connection) async throws {
        let (appearance, level) = (AttributeHandle(0x0005), AttributeHandle(0x0012))
        let values = try await connection.read([appearance, level], lengths: [2, 1])
        print(values)
    }

    /// Write
    static func write(_ connection: Connection) async throws {
        let services = try await connection.discover()
        if let control = services.characteristic(.heartRateControlPoint, in: .heartRate) {
            try await connection.write([1], to: control)
        }
    }

    /// Write
    static func write2(_ connection: Connection) async throws {
        let target = AttributeHandle(0x0012)
        let longest = await connection.maximumCommandLength  // 244 at an ATT_MTU of 247
        try await connection.write([UInt8](repeating: 0, count: longest), to: target, type: .withoutResponse)
    }

    /// Write
    static func write3(_ connection: Connection) async throws {
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
            case .presentationFormat(let format) = try await connection.readValue(of: descriptor)
        {
            let value = try await connection.read(temperature)
            print(format.number(value) ?? .nan, format.unitName ?? "")
        }
    }
}

/// Docs/Guide/Central/Caching.md
enum CachingPage {
    /// Known devices
    static func knownDevices(_ connection: Connection) async throws {
        let services = try await connection.discover()
        print(services.service(.battery)?.characteristics.map(\.uuid) ?? [])
    }

    /// Storage
    static func storage(_ adapter: Adapter) async throws {
        await adapter.setAttributeCache(try .files())                        // ~/.cache/swift-bluetooth-le/attributes
        await adapter.setAttributeCache(try .files(in: "/var/lib/sensors"))
        await adapter.setAttributeCache(nil)                                 // nothing
    }

    /// When the device changes
    static func whenTheDeviceChanges(_ connection: Connection) async throws {
        for try await handles in await connection.serviceChanges() {
            print("changed:", handles)
            let services = try await connection.discover()
            print(services.count, "services now")
        }
    }
}

/// Docs/Guide/Central/Channels.md
enum ChannelsPage {
    /// Opening one
    static func openingOne(_ connection: Connection) async throws {
        let channel = try await connection.openChannel(psm: 0x0085)
        try await channel.write(Array("hello".utf8))
        if let answer = try await channel.read() { print(answer.count, "bytes") }
        await channel.close()
    }

    /// Opening one
    static func openingOne2(_ adapter: Adapter, _ connection: Connection) async throws {
        let channel = try await adapter.openChannel(to: connection.peer, psm: 0x0085)
        for try await piece in channel { print(piece.count, "bytes") }
    }

    /// Writing
    static func writing(_ adapter: Adapter, _ connection: Connection) async throws {
        let channel = try await connection.openChannel(psm: 0x0085)
        let image = [UInt8](repeating: 0xA5, count: 1 << 20)
        try await adapter.run {
            try await channel.write(image, timeout: .seconds(120))
            try await channel.flush()
        }
        await channel.close()
    }

    /// Offering a service
    static func offeringAService(_ adapter: Adapter) async throws {
        @Sendable func serve(_ channel: ConnectionOrientedChannel) async {
            do {
                while let piece = try await channel.read() { try await channel.write(piece) }
            } catch {
                print(channel.peer, error)
            }
        }
        let listener = try await adapter.listen(psm: 0x0085, backlog: 4)
        try await adapter.run {
            try await withThrowingDiscardingTaskGroup { group in
                for try await channel in listener {
                    group.addTask { await serve(channel) }
                }
            }
        }
    }

    /// Attributes over more bearers
    static func attributesOverMoreBearers(_ connection: Connection) async throws {
        let count = try await connection.openEnhancedBearers(count: 3)
        print("\(count) more, \(await connection.bearerCount) in all")
    }
}

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

    /// Keeping a device connected
    static func keepingADeviceConnected(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let kept = adapter.keepConnected(to: address)  // or: try adapter.keepConnected(to: found)
        for try await event in await kept.events() {
            switch event {
            case .connected(let connection): print("up:", await connection.maximumTransmissionUnit)
            case .disconnected(let reason): print("down:", reason)
            case .connecting, .failed, .waitingForAdapter: continue
            }
            break
        }
        await kept.disconnect()
    }

    /// Keeping a device connected
    static func keepingADeviceConnected2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let kept = adapter.keepConnected(to: address)
        let notices = try await kept.subscribe(to: .heartRateMeasurement, in: .heartRate)
        for try await notice in notices {
            switch notice {
            case .value(let bytes): print(bytes)
            case .interrupted(let reason): print("a gap:", reason)
            case .resumed: print("resumed")
            }
            break
        }
        await kept.disconnect()
    }

    /// A UART that outlives links
    static func aUARTThatOutlivesLinks(_ adapter: Adapter) async throws {
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: adapter)
        // Waits in the buffer until there is a link.
        try await uart.send(Array("measure\n".utf8))
        for try await line in uart.frames(DelimiterFramer()) {
            print(String(decoding: line, as: UTF8.self))
            break
        }
        try await uart.flush()
        print(await uart.statistics.confirmedByteCount)
        await uart.disconnect()
    }
}

/// Docs/Guide/Central/LocalServer.md
enum LocalServerPage {
    /// Serving attributes as a central
    static func servingAttributesAsACentral(_ adapter: Adapter) async throws {
        let currentTime = LocalCharacteristic(.currentTimeCharacteristic, properties: [.read, .notify]).onRead { request in
            print(request.peer, "reads", request.uuid)
            return [0xE8, 0x07, 1, 1, 12, 0, 0, 1, 0, 0]
        }
        let published = try await adapter.publish { LocalService(.currentTimeService) { currentTime } }
        print("at", published.handles)
    }

    /// Sending values
    static func sendingValues(_ adapter: Adapter, _ connection: Connection) async throws {
        let sample = LocalCharacteristic("FFF1", properties: .notify, value: [0])
        let published = try await adapter.publish { LocalService("FFF0") { sample } }
        for try await subscription in await connection.peerSubscriptions()
        where subscription.characteristic == published[sample].handle && subscription.configuration.contains(.notification) {
            try await published[sample].notify([1, 2, 3], to: connection)
        }
    }
}

/// Docs/Guide/Central/Scanning.md
enum ScanningPage {
    /// A list of devices
    static func aListOfDevices(_ adapter: Adapter) async throws {
        for device in try await adapter.devices(for: .seconds(5)) {
            print(device.address?.description ?? "anonymous", device.rssi ?? 0, device.data)
        }
    }

    /// A stream of advertisements
    static func aStreamOfAdvertisements(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan() {
            print(advertisement.address?.description ?? "anonymous", advertisement.rssi ?? 0, advertisement.data)
        }
    }

    /// A stream of advertisements
    static func aStreamOfAdvertisements2(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duration: .seconds(5))) {
            print(advertisement)
        }
    }

    /// One device
    static func oneDevice(_ adapter: Adapter) async throws {
        let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .name("LINBLE-Z1")))
        print(found)
    }

    /// Filters
    static func filters(_ adapter: Adapter) async throws {
        let heartRate: ScanFilter = .service(.heartRate) && .rssi(atLeast: -70)
        let beacons: ScanFilter = .manufacturer(.apple, data: [0x02, 0x15]) && !.connectable
        let ours: ScanFilter = .nameContaining("linble", ignoringCase: true) || .solicitedService(.heartRate)
        let strong: ScanFilter = .matching { ($0.rssi ?? -127) > -60 }
        for try await advertisement in try await adapter.scan(ScanOptions(filter: heartRate || beacons || ours || strong)) {
            print(advertisement)
        }
    }

    /// Duplicates
    static func duplicates(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .once)) {
            print(advertisement)
        }
    }

    /// A slow consumer
    static func aSlowConsumer(_ adapter: Adapter) async throws {
        let scan = try await adapter.scan(ScanOptions(duplicates: .all, bufferCapacity: 64))
        for try await advertisement in scan {
            if advertisement.missedBefore > 0 { print("\(advertisement.missedBefore) missed, \(scan.missedCount) in all") }
        }
    }

    /// Long range, interval and window
    static func longRangeIntervalAndWindow(_ adapter: Adapter) async throws {
        let options = ScanOptions(
            le1M: ScanParameters(interval: .milliseconds(100), window: .milliseconds(50)),
            leCoded: ScanParameters(isActive: false, interval: .milliseconds(300), window: .milliseconds(150)))
        for try await advertisement in try await adapter.scan(options) {
            print(advertisement.primaryPHY, advertisement.secondaryPHY as Any, advertisement.advertisingSetID as Any)
        }
    }

    /// Advertising intervals
    static func advertisingIntervals(_ adapter: Adapter) async throws {
        var devices = DeviceTable(capacity: 1000)
        for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .all)) {
            let device = devices.record(advertisement)
            print(device.latest.address as Any, device.history.rssi, device.history.advertisingInterval as Any)
        }
    }
}

/// Docs/Guide/Central/SeveralAdapters.md
enum SeveralAdaptersPage {
    /// Room for links
    static func roomForLinks(_ adapter: Adapter) async throws {
        let capacity = await adapter.capacity
        print(capacity.ownLinks, "links of this program,", capacity.otherLinks ?? 0, "of others")
        print(capacity.advertisingSetsInUse ?? 0, "of", capacity.advertisingSets ?? 0, "advertising sets")
        print(capacity.linkLimit.map { "\($0) links at most" } ?? "no limit is known yet")
    }

    /// Room for links
    static func roomForLinks2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(timeout: .seconds(20), slotTimeout: .seconds(60))
        let connection = try await adapter.connect(to: address, options: options)
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// Several as one
    static func severalAsOne() async throws {
        var adapters: [Adapter] = []
        for information in try await Adapter.all() {
            adapters.append(try await Adapter.open(.index(information.index), power: .powerOn))
        }
        let group = try await AdapterGroup(adapters)
        for try await found in try await group.scan(ScanOptions(duration: .seconds(5))) {
            print(found.localName ?? "?", found.signals.map { "\($0.adapter): \($0.rssi ?? 0) dBm" })
        }
        await group.close()
    }

    /// Several as one
    static func severalAsOne2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let group = try await AdapterGroup([adapter])
        let connection = try await group.connect(to: address, options: ConnectionOptions(slotTimeout: .seconds(60)))
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// Several as one
    static func severalAsOne3(_ adapter: Adapter) async throws {
        let group = try await AdapterGroup([adapter])
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: group)
        try await uart.send([0x01, 0x00])
        if let answer = try await uart.read(timeout: .seconds(10)) { print(answer) }
        await uart.disconnect()
    }

    /// Coming and going
    static func comingAndGoing(_ adapter: Adapter) async throws {
        let group = try await AdapterGroup([adapter])
        let second = try await Adapter.open(.index(1), power: .powerOn)
        try await group.add(second)
        print(await group.adapters.map(\.information.name))
        await group.remove(adapter)
        try await group.ready(timeout: .seconds(10))
        await group.close()
    }
}

/// Docs/Guide/Peripheral.md
enum PeripheralPage {
    /// The peripheral role
    static func thePeripheralRole(_ adapter: Adapter) async throws {
        try await adapter.serve(AdvertisementContent(localName: "Battery", services: [.battery])) {
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [97])
            }
        } while: { _, connections in
            for try await connection in connections {
                print(connection.peer, "connected")
                break
            }
        }
    }
}

/// Docs/Guide/Peripheral/Accepting.md
enum AcceptingPage {
    /// A loop
    static func aLoop(_ adapter: Adapter) async throws {
        let incoming = try await adapter.incomingConnections()
        try await adapter.withAdvertising(AdvertisementContent(localName: "Thermometer")) { _ in
            for try await connection in incoming {
                print(connection.peer, "is here; this side is the", connection.role)
            }
        }
    }

    /// A device
    static func aDevice(_ adapter: Adapter) async throws {
        for try await connection in try await adapter.incomingConnections() {
            let services = try await connection.discover()
            if let name = services.characteristic(.deviceName, in: .genericAccess) {
                print(try await connection.read(name))
            }
            print(try await connection.rssi(), "dBm")
            break
        }
    }

    /// A device
    static func aDevice2(_ adapter: Adapter) async throws {
        for try await connection in try await adapter.incomingConnections() {
            await connection.disconnect()
            print("ended:", await connection.disconnected().disconnectReason as Any)
            break
        }
    }

    /// Several requests at a time
    static func severalRequestsAtATime(_ adapter: Adapter) async throws {
        let incoming = try await adapter.incomingConnections(IncomingConnectionOptions(enhancedBearers: 3))
        for try await connection in incoming {
            print(connection.peer, "has", await connection.bearerCount, "bearers")
            break
        }
    }
}

/// Docs/Guide/Peripheral/Advertising.md
enum AdvertisingPage {
    /// For as long as a closure runs
    static func forAsLongAsAClosureRuns(_ adapter: Adapter) async throws {
        let content = AdvertisementContent(localName: "Thermometer", services: [.healthThermometer])
        try await adapter.withAdvertising(content) { set in
            print("instance", set.instance as Any)
        }
    }

    /// Until it is stopped
    static func untilItIsStopped(_ adapter: Adapter) async throws {
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer", services: [.healthThermometer]))
        try await set.update(AdvertisementContent(localName: "Thermometer", services: [.healthThermometer, .battery]))
        await set.stop()
    }

    /// Until it is stopped
    static func untilItIsStopped2(_ adapter: Adapter) async throws {
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer"))
        print("over:", await set.stopped())
    }

    /// Content
    static func content(_ adapter: Adapter) async throws {
        var content = AdvertisementContent(
            localName: "Thermometer", services: [.healthThermometer],
            manufacturerData: [ManufacturerData(company: .internalTest, data: [1, 2, 3])],
            serviceData: [ServiceData(service: .battery, data: [97])], appearance: Appearance(rawValue: 0x0300),
            solicitedServices: [.currentTimeService], includesTransmitPower: true)
        content.scanResponse = [.uri("https://swift.org")]
        content.overflow = .leaveOut
        let set = try await adapter.advertise(content)
        print(set.payloads.leftOver.map(\.field))
        await set.stop()
    }

    /// Kinds
    static func kinds(_ adapter: Adapter) async throws {
        let options = AdvertisingOptions(
            kind: .nonConnectable, format: .extended(.le2M), interval: .milliseconds(500) ... .seconds(1), transmitPower: 0)
        let data = ManufacturerData(company: .internalTest, data: [UInt8](repeating: 7, count: 200))
        let set = try await adapter.advertise(AdvertisementContent(manufacturerData: [data]), options: options)
        print(set.transmitPower as Any)
        await set.stop()
    }

    /// Several at once
    static func severalAtOnce(_ adapter: Adapter) async throws {
        let first = try await adapter.advertise(AdvertisementContent(localName: "one"))
        let second = try await adapter.advertise(
            AdvertisementContent(localName: "two"), options: AdvertisingOptions(kind: .nonConnectable))
        await first.stop()
        await second.stop()
    }

    /// Several at once
    static func severalAtOnce2(_ adapter: Adapter) async throws {
        print(try await adapter.removeForeignAdvertising(), "removed")
    }

    /// States
    static func states(_ adapter: Adapter) async throws {
        let options = AdvertisingOptions(whenAdapterLeaves: .resume)
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer"), options: options)
        for try await state in set.states {
            switch state {
            case .advertising: print("on the air")
            case .waiting(let reason): print("not now:", reason)
            case .ended(let reason): print("over:", reason)
            }
            break
        }
        await set.stop()
    }

    /// Beacons
    static func beacons(_ adapter: Adapter) async throws {
        let beacon = IBeacon(
            proximityUUID: "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", major: 7, minor: 42, measuredPower: -59)
        let options = AdvertisingOptions(kind: .nonConnectable)
        let apple = try await adapter.advertise(.iBeacon(beacon), options: options)
        let page = try await adapter.advertise(.eddystone(.url("https://swift.org", txPower: -20)), options: options)
        let alt = try await adapter.advertise(
            .altBeacon(AltBeacon(company: .internalTest, identifier: [UInt8](repeating: 1, count: 20), referenceRSSI: -59)),
            options: options)
        for set in [apple, page, alt] { await set.stop() }
    }
}

/// Docs/Guide/Peripheral/Publishing.md
enum PublishingPage {
    /// In one call
    static func inOneCall(_ adapter: Adapter) async throws {
        try await adapter.serve(AdvertisementContent(localName: "Battery", services: [.battery])) {
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel, properties: .read, value: [97])
            }
        }
    }

    /// In one call
    static func inOneCall2(_ adapter: Adapter) async throws {
        let rate = LocalCharacteristic(.heartRateMeasurement, properties: .notify)
        try await adapter.serve(AdvertisementContent(localName: "Heart", services: [.heartRate])) {
            LocalService(.heartRate) { rate }
        } while: { published, connections in
            for try await connection in connections {
                print(connection.peer, "connected")
                for try await subscription in await connection.peerSubscriptions() where !subscription.configuration.isEmpty {
                    try await published[rate].notify([0x06, 72])
                    break
                }
                break
            }
        }
    }

    /// Stored values
    static func storedValues(_ adapter: Adapter) async throws {
        let level = LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [97], valueLengths: 1...1)
        let published = try await adapter.publish {
            LocalService(.battery) { level }
        }
        try published[level].setValue([96])
        print(published[level].value as Any)
        await published.withdraw()
    }

    /// Handlers
    static func handlers(_ adapter: Adapter) async throws {
        let greeting = LocalCharacteristic("FFF1", properties: [.read, .write])
            .onRead { request in Array("hello \(request.peer)".utf8) }
            .onWrite { request in
                guard request.value.count <= 20 else { throw ATTErrorCode.valueNotAllowed }
                print(request.peer, "writes", request.value)
            }
        let published = try await adapter.publish {
            LocalService("FFF0") { greeting }
        }
        print("published at", published.handles)
    }

    /// Requests as a stream
    static func requestsAsAStream(_ adapter: Adapter) async throws {
        let door = LocalCharacteristic("FFF3", properties: [.read, .write])
        let published = try await adapter.publish { LocalService("FFF0") { door } }
        var isOpen = false
        for try await request in try published.requests() {
            switch request {
            case .read(let read):
                read.respond(with: [isOpen ? 1 : 0])
            case .write(let write):
                guard let value = write.requests.last?.value.first, value <= 1 else {
                    write.refuse(.valueNotAllowed)
                    continue
                }
                isOpen = value == 1
                write.respond()
            }
        }
    }

    /// Descriptors and included services
    static func descriptorsAndIncludedServices(_ adapter: Adapter) async throws {
        let battery = LocalService(.battery, isPrimary: false) {
            LocalCharacteristic(.batteryLevel, properties: .read, value: [97])
        }
        let speed = LocalService("FFF0") {
            LocalCharacteristic("FFF1", properties: .read, value: [5]) {
                LocalDescriptor.userDescription("Speed")
            }
        }
        let published = try await adapter.publish([speed.including(battery), battery])
        print("published at", published.handles)
    }

    /// Sending values
    static func sendingValues(_ adapter: Adapter) async throws {
        let rate = LocalCharacteristic(.heartRateMeasurement, properties: .notify)
        let published = try await adapter.publish { LocalService(.heartRate) { rate } }
        for try await connection in try await adapter.incomingConnections() {
            for try await subscription in await connection.peerSubscriptions()
            where subscription.characteristic == published[rate].handle {
                for delivery in try await published[rate].notify([0x06, 72]) {
                    switch delivery.result {
                    case .success: print(delivery.connection.peer, "has it")
                    case .failure(let error): print(delivery.connection.peer, "has not:", error.code)
                    }
                }
                break
            }
            break
        }
    }

    /// Permissions
    static func permissions(_ adapter: Adapter) async throws {
        let secret = LocalCharacteristic(
            "FFF2", properties: [.read, .write], value: [1, 2, 3],
            permissions: [.read, .readEncrypted, .write, .writeAuthenticated])
        try await adapter.publish { LocalService("FFF0") { secret } }
    }

    /// Authorising devices
    static func authorisingDevices(_ adapter: Adapter) async throws {
        let door = LocalCharacteristic(
            "FFF3", properties: [.read, .write], value: [0], permissions: [.read, .write, .writeAuthorized])
        let authorizing: Authorizer = { request in
            print("may", request.peer, request.access, "\(request.uuid)?")
            return .whileConnected
        }
        try await adapter.publish([LocalService("FFF0", characteristics: [door])], authorizing: authorizing)
    }
}

/// Docs/Guide/Peripheral/UART.md
enum UARTPage {
    /// An echo
    static func anEcho(_ adapter: Adapter) async throws {
        try await UARTServer.run(on: adapter) { central in
            print(central.peer, "is online")
            for try await bytes in central.received { try await central.send(bytes) }
        }
    }

    /// Lines, one central at a time
    static func linesOneCentralAtATime(_ adapter: Adapter) async throws {
        let options = UARTServerOptions(name: "Greeter", profile: .nordic, isExclusive: true)
        try await UARTServer.run(on: adapter, options: options) { central in
            for try await line in central.frames(DelimiterFramer()) {
                try await central.send(Array("hello \(String(decoding: line, as: UTF8.self))\n".utf8))
                break
            }
        }
    }
}

/// Docs/Guide/Security.md
enum SecurityPage {
    /// Levels
    static func levels(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(security: SecurityOptions(.medium))
        let connection = try await adapter.connect(to: address, options: options)
        let security = try await connection.security()
        print(security, security.isEncrypted, security.isAuthenticated)
        try await connection.raiseSecurity(to: .medium)
    }

    /// Security that a device requires
    static func securityThatADeviceRequires(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(security: SecurityOptions(policy: .never))
        let connection = try await adapter.connect(to: address, options: options)
        print(try await connection.security().level)
    }

    /// Pairing
    static func pairing(_ adapter: Adapter, _ connection: Connection) async throws {
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        let outcome = try await connection.pair(to: .medium)
        print(outcome.security, outcome.isBonded ? "bonded" : "not bonded")
    }

    /// Pairing
    static func pairing2(_ adapter: Adapter) async throws {
        struct Agent: PairingAgent {
            var ioCapability: IOCapability { .displayYesNo }
            func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
                print("does \(request.peer) show \(number.digits)?")
                return true
            }
        }
        try await adapter.setPairingAgent(Agent(), secureConnections: .only)
    }

    /// Out-of-band data
    static func outOfBandData(_ connection: Connection) async throws {
        func scanned(_ code: String) async throws {
            let data = try OutOfBandData(text: code)
            let outcome = try await connection.pair(with: data)
            print(outcome.security.isAuthenticated)
        }
    }

    /// Out-of-band data
    static func outOfBandData2(_ adapter: Adapter) async throws {
        let own = try await adapter.makeOutOfBandData()
        print(own.text.prefix(8), own.nfcMessage.count, own.structures.count)
    }
}
