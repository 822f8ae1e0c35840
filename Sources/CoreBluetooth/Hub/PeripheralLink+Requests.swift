import BluetoothKernel
import BluetoothLE
import Foundation
import Logging

// What a program asks of a connected peripheral, in order: a request is begun when the one before it has been answered,
// and a write without response when every request before it has been begun.
extension PeripheralLink {
    func work(
        _ requests: RequestQueue<PeripheralRequest>, _ hold: LinkHold, _ attempt: Int
    ) async {
        let connection = hold.connection
        await withTaskGroup(of: Void.self) { group in
            var isBusy = false
            while let request = await requests.next() {
                if case .writeCommand(let characteristic, let value) = request {
                    let isShort = await value.count <= connection.maximumCommandLength
                    if isShort {
                        await send(value, to: characteristic, on: connection, attempt)
                        continue
                    }
                }
                if isBusy { await group.next() }
                isBusy = true
                let hasBegun = Promise<Void, Never>()
                group.addTask { [self] in await perform(request, hold, attempt, hasBegun) }
                await hasBegun.value(ifCancelled: ())
            }
        }
    }

    private func send(
        _ value: [UInt8], to characteristic: RemoteCharacteristic, on connection: Connection, _ attempt: Int
    ) async {
        do throws(BluetoothError) {
            try await connection.writeCommand(value, to: characteristic)
        } catch {
            if error.code != .disconnected, error.code != .cancelled { misuse("a value was not written: \(error)") }
        }
        didSend(attempt)
    }

    /// The kernel has a write without response, so there is room for another.
    private nonisolated func didSend(_ attempt: Int) {
        guard shared({ $0.attempt == attempt && $0.flow.didSend() }) else { return }
        tell(attempt) { peripheral, delegate in
            guard peripheral.link.shared({ $0.flow.renew() }) else { return }
            delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
        }
    }

    /// Does a request; says by `hasBegun` when what follows it in the queue may follow it on the air.
    private nonisolated func perform(
        _ request: PeripheralRequest, _ hold: LinkHold, _ attempt: Int, _ hasBegun: Promise<Void, Never>
    ) async {
        let connection = hold.connection
        if case .write = request {} else { hasBegun.succeed() }
        defer { hasBegun.succeed() }
        switch request {
        case .readRSSI: await readRSSI(connection, attempt)
        case .discoverServices(let uuids): await discoverServices(uuids, connection, attempt)
        case .discoverIncludedServices(let uuids, let service):
            await discover(in: service, connection, attempt) { peripheral, delegate, error in
                if error == nil { service.object.addIncludedServices(uuids, of: peripheral) }
                delegate?.peripheral(peripheral, didDiscoverIncludedServicesFor: service.object, error: error)
            }
        case .discoverCharacteristics(let uuids, let service):
            await discover(in: service, connection, attempt) { peripheral, delegate, error in
                if error == nil { service.object.addCharacteristics(uuids) }
                delegate?.peripheral(peripheral, didDiscoverCharacteristicsFor: service.object, error: error)
            }
        case .discoverDescriptors(let characteristic): discoverDescriptors(characteristic, attempt)
        case .read(let characteristic): await read(characteristic, connection, attempt)
        case .readDescriptor(let descriptor): await read(descriptor, connection, attempt)
        case .write(let characteristic, let value):
            await write(value, to: characteristic, connection, attempt, hasBegun)
        case .writeCommand(let characteristic, let value):
            coreBluetoothLog.notice(
                "\(value.count) bytes for \(characteristic.uuid) are too long for a command; they are written in parts."
            )
            await ifItFails(connection, attempt) { () throws(BluetoothError) in
                try await connection.write(value, to: characteristic)
            } tell: { error in
                misuse("a value was not written: \(error)")
            }
            didSend(attempt)
        case .writeDescriptor(let descriptor, let value): await write(value, to: descriptor, connection, attempt)
        case .setNotify(let isOn, let characteristic): await setNotify(isOn, characteristic, hold, attempt)
        case .stopNotifying(let characteristic): await stopNotifying(characteristic, hold, attempt)
        case .openChannel(let psm): await openChannel(psm, connection, attempt)
        }
    }

    /// Tells of an error, but not of one that comes from the connection's end: nobody is called back then. What the
    /// peripheral has refused before is told, also where the pairing it wanted has cost the connection.
    private nonisolated func ifItFails(
        _ connection: Connection, _ attempt: Int, _ body: () async throws(BluetoothError) -> Void,
        tell: (any Error) -> Void
    ) async {
        do throws(BluetoothError) {
            try await body()
        } catch {
            let isConnected = await connection.isConnected
            if error.code == .pairingFailed || isConnected && error.code != .cancelled { tell(error.coreBluetooth) }
        }
    }

    private nonisolated func readRSSI(_ connection: Connection, _ attempt: Int) async {
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            let rssi = try await connection.rssi()
            answer(attempt) { peripheral, delegate in
                peripheral.link.shared { $0.rssi = rssi }
                delegate?.peripheral(peripheral, didReadRSSI: NSNumber(value: rssi), error: nil)
            }
        } tell: { error in
            answer(attempt) { $1?.peripheral($0, didReadRSSI: NSNumber(value: 127), error: error) }
        }
    }

    // MARK: Name

    /// Asks the peripheral for its name, which may be another than the one it advertises (Core Vol 3 Part C §12.1).
    nonisolated func readName(_ connection: Connection, _ attempt: Int) async {
        do throws(BluetoothError) {
            let found = try await connection.readValues(of: .deviceName)
            guard let bytes = found.first?.value, !bytes.isEmpty else { return }
            let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            tell(attempt) { peripheral, delegate in
                let isNews = peripheral.link.shared { shared -> Bool in
                    defer { (shared.name, shared.isNameRead) = (name, true) }
                    return shared.name != name
                }
                if isNews { delegate?.peripheralDidUpdateName(peripheral) }
            }
        } catch {
            // One that does not tell its name keeps the one it advertises.
            coreBluetoothLog.debug("\(error)")
        }
    }

    // MARK: Discovery

    private nonisolated func discoverServices(_ uuids: [BluetoothUUID]?, _ connection: Connection, _ attempt: Int) async
    {
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            let found = try await connection.discover()
            hub.radio.connected.withLock { $0[address]?.formUnion(found.map(\.uuid)) }
            answer(attempt) { peripheral, delegate in
                peripheral.link.take(found, of: peripheral, uuids)
                delegate?.peripheral(peripheral, didDiscoverServices: nil)
            }
        } tell: { error in
            answer(attempt) { $1?.peripheral($0, didDiscoverServices: error) }
        }
    }

    /// Discovers what is in a service: all was, together with the services, unless the peripheral has changed it.
    private nonisolated func discover(
        in service: Handed<CBService>, _ connection: Connection, _ attempt: Int,
        _ tell: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?, (any Error)?) -> Void
    ) async {
        answer(attempt) { peripheral, delegate in
            tell(peripheral, delegate, peripheral.link.isCurrent(service.object) ? nil : CBError(.invalidHandle))
        }
    }

    private nonisolated func discoverDescriptors(_ characteristic: Handed<CBCharacteristic>, _ attempt: Int) {
        answer(attempt) { peripheral, delegate in
            let isCurrent = peripheral.link.isCurrent(characteristic.object.service)
            if isCurrent {
                let descriptors = characteristic.object.knownDescriptors()
                characteristic.object.contents { $0.descriptors = descriptors }
            }
            delegate?.peripheral(
                peripheral, didDiscoverDescriptorsFor: characteristic.object,
                error: isCurrent ? nil : CBError(.invalidHandle))
        }
    }

    private nonisolated func isCurrent(_ service: CBService?) -> Bool {
        guard let service, let remote = service.remote else { return false }
        return shared { $0.known[remote.handles.start] === service }
    }

    /// Takes over what the peripheral has, keeping the objects of what has not changed, and shows those services that
    /// were asked for besides those that were found before.
    private nonisolated func take(_ found: RemoteDatabase, of peripheral: CBPeripheral, _ uuids: [BluetoothUUID]?) {
        let before = shared { $0.known }
        var known: [AttributeHandle: CBService] = [:]
        for service in found {
            let old = before[service.handles.start]
            known[service.handles.start] = old?.remote == service ? old : CBService(service, of: peripheral)
        }
        let all = found.compactMap { $0.isPrimary ? known[$0.handles.start] : nil }.filter(isShown)
        shared { [known] shared in
            shared.known = known
            let shown = shared.services ?? []
            shared.services = all.filter { service in
                shown.contains { $0 === service } || uuids?.contains(service.uuid.bluetooth) ?? true
            }
        }
    }

    /// Whether the program may see a service: Core Bluetooth keeps those that describe the device and its database.
    nonisolated func isShown(_ service: CBService) -> Bool {
        let uuid = service.uuid.bluetooth
        return hub.configuration.showsGenericServices || uuid != .genericAccess && uuid != .genericAttribute
    }

    /// Tells of the peripheral's changes of its services.
    func followServices(of connection: Connection, _ attempt: Int) async {
        let told = BoundedCallbacks(on: hub.callbacks)
        let tellChange: @Sendable (AttributeHandleRange) async -> Void = { [self] range in
            await told.post { [self] in
                deliver(attempt) { peripheral, delegate in
                    let gone = peripheral.link.remove(range)
                    delegate?.peripheral(peripheral, didModifyServices: gone)
                }
            }
        }
        while true {
            do throws(BluetoothError) {
                for try await range in await connection.serviceChanges() { await tellChange(range) }
                return
            } catch {
                guard error.code == .overflow else { return coreBluetoothLog.debug("\(error)") }
            }
            // Which changes there were besides is not known any more.
            await tellChange(.all)
        }
    }

    /// Forgets the services in a range of handles, and returns those that were shown.
    private nonisolated func remove(_ range: AttributeHandleRange) -> [CBService] {
        func isIn(_ service: CBService) -> Bool {
            guard let handles = service.remote?.handles else { return false }
            return handles.start <= range.end && range.start <= handles.end
        }
        let (gone, silenced) = shared { shared -> ([CBService], [Handed<CBCharacteristic>]) in
            let gone = (shared.services ?? []).filter(isIn)
            shared.services?.removeAll(where: isIn)
            shared.known = shared.known.filter { !isIn($0.value) }
            let silenced = shared.notifying.filter { range.contains($0.key) }
            for handle in silenced.keys { shared.notifying[handle] = nil }
            return (gone, Array(silenced.values))
        }
        for characteristic in silenced { characteristic.object.contents { $0.isNotifying = false } }
        return gone
    }

    // MARK: Values

    /// Takes a value that the peripheral notifies or indicates, as it arrives.
    nonisolated func take(_ value: [UInt8], of handle: AttributeHandle, _ attempt: Int) {
        let (characteristic, isFull) = shared { shared -> (Handed<CBCharacteristic>?, Bool) in
            guard let characteristic = shared.notifying[handle] else { return (nil, false) }
            guard shared.valueCount < Self.valueLimit else {
                shared.notifying[handle] = nil
                return (characteristic, true)
            }
            shared.valueCount += 1
            return (characteristic, false)
        }
        guard let characteristic else { return }
        if isFull { return request(.stopNotifying(characteristic), "setNotifyValue(_:for:)") }
        tell(attempt) { peripheral, delegate in
            peripheral.link.shared { $0.valueCount -= 1 }
            characteristic.object.contents { $0.value = Data(value) }
            delegate?.peripheral(peripheral, didUpdateValueFor: characteristic.object, error: nil)
        }
    }

    private nonisolated func read(_ characteristic: Handed<CBCharacteristic>, _ connection: Connection, _ attempt: Int)
        async
    {
        guard let remote = characteristic.object.remote else { return notOurs(attempt) }
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            _ = try await connection.read(remote) { [self] value in
                answer(attempt) { peripheral, delegate in
                    characteristic.object.contents { $0.value = Data(value) }
                    delegate?.peripheral(peripheral, didUpdateValueFor: characteristic.object, error: nil)
                }
            }
        } tell: { error in
            answer(attempt) { $1?.peripheral($0, didUpdateValueFor: characteristic.object, error: error) }
        }
    }

    private nonisolated func read(_ descriptor: Handed<CBDescriptor>, _ connection: Connection, _ attempt: Int) async {
        guard let remote = descriptor.object.remote else { return notOurs(attempt) }
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            _ = try await connection.read(remote) { [self] value in
                answer(attempt) { peripheral, delegate in
                    descriptor.object.contents { $0.value = CBDescriptor.value(value, of: remote.uuid) }
                    delegate?.peripheral(peripheral, didUpdateValueFor: descriptor.object, error: nil)
                }
            }
        } tell: { error in
            answer(attempt) { $1?.peripheral($0, didUpdateValueFor: descriptor.object, error: error) }
        }
    }

    private nonisolated func write(
        _ value: [UInt8], to characteristic: Handed<CBCharacteristic>, _ connection: Connection, _ attempt: Int,
        _ hasBegun: Promise<Void, Never>
    ) async {
        guard let remote = characteristic.object.remote else { return notOurs(attempt) }
        let tell: @Sendable ((any Error)?) -> Void = { [self] error in
            answer(attempt) { $1?.peripheral($0, didWriteValueFor: characteristic.object, error: error) }
        }
        guard remote.properties.contains(.write) else { return tell(CBATTError(.writeNotPermitted)) }
        if let error = lengthError(of: value) { return tell(error) }
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            try await connection.write(value, to: remote, departure: { hasBegun.succeed() }) { _ in tell(nil) }
        } tell: { error in
            tell(error)
        }
    }

    private nonisolated func write(
        _ value: [UInt8], to descriptor: Handed<CBDescriptor>, _ connection: Connection, _ attempt: Int
    ) async {
        guard let remote = descriptor.object.remote else { return notOurs(attempt) }
        let tell: @Sendable ((any Error)?) -> Void = { [self] error in
            answer(attempt) { $1?.peripheral($0, didWriteValueFor: descriptor.object, error: error) }
        }
        guard remote.uuid != .clientCharacteristicConfiguration else {
            misuse("the client characteristic configuration is not written; use setNotifyValue(_:for:).")
            return tell(CBATTError(.writeNotPermitted))
        }
        if let error = lengthError(of: value) { return tell(error) }
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            try await connection.write(value, to: remote) { _ in tell(nil) }
        } tell: { error in
            tell(error)
        }
    }

    /// What is wrong with the length of a value that is to be written; nil when nothing is.
    private nonisolated func lengthError(of value: [UInt8]) -> CBATTError? {
        value.count <= AttributeProtocol.maximumAttributeValueLength ? nil : CBATTError(.invalidAttributeValueLength)
    }

    private nonisolated func notOurs(_ attempt: Int) {
        misuse("an attribute of this program is not one of a peripheral's.")
        answer(attempt) { _, _ in }
    }

    // MARK: Notifications

    private nonisolated func setNotify(
        _ isOn: Bool, _ characteristic: Handed<CBCharacteristic>, _ hold: LinkHold, _ attempt: Int
    ) async {
        guard let remote = characteristic.object.remote else { return notOurs(attempt) }
        let handle = remote.valueHandle
        let tell: @Sendable ((any Error)?) -> Void = { [self] error in
            answer(attempt) { peripheral, delegate in
                if error == nil { characteristic.object.contents { $0.isNotifying = isOn } }
                delegate?.peripheral(peripheral, didUpdateNotificationStateFor: characteristic.object, error: error)
            }
        }
        let isNotified = remote.properties.contains(.notify)
        guard isNotified || remote.properties.contains(.indicate) else { return tell(CBATTError(.requestNotSupported)) }
        guard let descriptor = remote.descriptor(.clientCharacteristicConfiguration) else {
            return tell(CBATTError(.attributeNotFound))
        }
        let wasOn = shared { $0.notifying[handle] != nil }
        if wasOn == isOn { return tell(nil) }
        if isOn {
            // The first value may come ahead of the peripheral's answer.
            shared { $0.notifying[handle] = characteristic }
            await hub.radio.want(handle, by: descriptor, hold)
        } else if await !hub.radio.unwant(handle, hold) {
            // Another manager wants it still.
            shared { $0.notifying[handle] = nil }
            return tell(nil)
        }
        let configuration: [UInt8] = [!isOn ? 0 : isNotified ? 1 : 2, 0]
        await ifItFails(hold.connection, attempt) { () throws(BluetoothError) in
            try await hold.connection.write(configuration, to: descriptor) { [self] _ in
                if !isOn { shared { $0.notifying[handle] = nil } }
                tell(nil)
            }
        } tell: { error in
            if isOn { shared { $0.notifying[handle] = nil } }
            tell(error)
        }
        if isOn, !shared({ $0.notifying[handle] != nil }) { _ = await hub.radio.unwant(handle, hold) }
    }

    private nonisolated func stopNotifying(
        _ characteristic: Handed<CBCharacteristic>, _ hold: LinkHold, _ attempt: Int
    ) async {
        misuse("\(Self.valueLimit) values wait to be taken, so \(characteristic.object.uuid) notifies no more.")
        if let remote = characteristic.object.remote,
            let descriptor = remote.descriptor(.clientCharacteristicConfiguration),
            await hub.radio.unwant(remote.valueHandle, hold)
        {
            try? await hold.connection.write([0, 0], to: descriptor)
        }
        answer(attempt) { peripheral, delegate in
            characteristic.object.contents { $0.isNotifying = false }
            delegate?.peripheral(
                peripheral, didUpdateNotificationStateFor: characteristic.object, error: CBError(.outOfSpace))
        }
    }

    // MARK: Channels

    private nonisolated func openChannel(_ psm: CBL2CAPPSM, _ connection: Connection, _ attempt: Int) async {
        await ifItFails(connection, attempt) { () throws(BluetoothError) in
            let channel = try await connection.openChannel(psm: psm)
            shared { shared in
                shared.channels.removeAll { $0.object == nil }
                shared.channels.append(WeakReference(channel))
            }
            answer(attempt) { peripheral, delegate in
                delegate?.peripheral(peripheral, didOpen: CBL2CAPChannel(channel, peripheral), error: nil)
            }
        } tell: { error in
            answer(attempt) { $1?.peripheral($0, didOpen: nil, error: error) }
        }
    }
}

extension CBService {
    /// Shows the characteristics that were asked for besides those that were found before.
    fileprivate func addCharacteristics(_ uuids: [BluetoothUUID]?) {
        let all = knownCharacteristics()
        contents { contents in
            let shown = contents.characteristics ?? []
            contents.characteristics = all.filter { characteristic in
                shown.contains { $0 === characteristic } || uuids?.contains(characteristic.uuid.bluetooth) ?? true
            }
        }
    }

    /// Shows the included services that were asked for besides those that were found before.
    fileprivate func addIncludedServices(_ uuids: [BluetoothUUID]?, of peripheral: CBPeripheral) {
        let starts = remote?.includedServices.map(\.handles.start) ?? []
        let all = peripheral.link.shared { shared in starts.compactMap { shared.known[$0] } }
            .filter(peripheral.link.isShown)
        contents { contents in
            let shown = contents.includedServices ?? []
            contents.includedServices = all.filter { service in
                shown.contains { $0 === service } || uuids?.contains(service.uuid.bluetooth) ?? true
            }
        }
    }
}
