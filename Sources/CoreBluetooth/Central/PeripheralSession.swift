import BluetoothATT
import BluetoothLE
import BluetoothLoop
import BluetoothSockets
import Foundation
import Logging

/// The program's requests to a connected peripheral, in order: a request starts when the one before it has been
/// answered, and a write without response when every request before it has been handed to the link.
struct PeripheralSession: Sendable {
    let handle: PeripheralHandle
    /// The link, held for as long as the session lasts.
    let hold: LinkHold
    /// The connection request that the session serves.
    let attempt: Int

    private var connection: Connection { hold.connection }
    private var radio: Radio { handle.radio }

    /// Performs the requests of a lane until there are no more.
    func work(_ requests: PeripheralRequestQueue, _ lane: PeripheralRequestQueue.Lane, on radio: isolated Radio) async {
        while let (request, turn) = await requests.next(lane) {
            await perform(request, turn)
            turn.end()
        }
    }

    private nonisolated(nonsending) func send(_ value: [UInt8], to characteristic: RemoteCharacteristic) async {
        do throws(BluetoothError) {
            try await connection.writeCommand(value, to: characteristic)
        } catch {
            if error.code != .disconnected, error.code != .cancelled { misuse("a value was not written: \(error)") }
        }
        didSend()
    }

    /// Records that the kernel has accepted a write without response, so that there is room for another.
    private func didSend() {
        guard handle.shared({ $0.connectionRequest.attempt == attempt && $0.traffic.flow.didSend() }) else { return }
        handle.report(attempt) { peripheral, delegate in
            guard peripheral.handle.shared({ $0.traffic.flow.renew() }) else { return }
            delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
        }
    }

    /// Performs a request.
    private nonisolated(nonsending) func perform(_ request: PeripheralRequest, _ turn: PeripheralRequestQueue.Turn)
        async
    {
        // The link reports when a request begins, which may wait for requests of its own; otherwise its turn is over at
        // its end.
        switch request {
        // They send none about attributes.
        case .readRSSI, .openChannel: turn.end()
        case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors:
            turn.end()
            await handle.central.callbacks.turn()
        default: break
        }
        switch request {
        case .readRSSI: await readRSSI()
        case .discoverServices(let uuids):
            // Of a device that changes while it is discovered, one discovery answers all that wait for it.
            let others = turn.queue.removeFirst { if case .discoverServices(uuids) = $0 { true } else { false } }
            await discoverServices(uuids, times: 1 + others)
        case .discoverIncludedServices(let uuids, let service):
            discover(in: service) { peripheral, delegate, error in
                if error == nil { service.addIncludedServices(uuids, of: peripheral) }
                delegate?.peripheral(peripheral, didDiscoverIncludedServicesFor: service, error: error)
            }
        case .discoverCharacteristics(let uuids, let service):
            discover(in: service) { peripheral, delegate, error in
                if error == nil { service.addCharacteristics(uuids) }
                delegate?.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: error)
            }
        case .discoverDescriptors(let characteristic):
            discover(in: characteristic.service) { peripheral, delegate, error in
                if error == nil {
                    let descriptors = characteristic.knownDescriptors()
                    characteristic.contents { $0.descriptors = descriptors }
                }
                delegate?.peripheral(peripheral, didDiscoverDescriptorsFor: characteristic, error: error)
            }
        case .read(let characteristic):
            await send(characteristic.remote.map { .read($0) }, turn) { peripheral, delegate, value, error in
                if error == nil { characteristic.contents { $0.value = Data(value) } }
                delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
            }
        case .readDescriptor(let descriptor):
            await send(descriptor.remote.map { .read($0) }, turn) { peripheral, delegate, value, error in
                if error == nil {
                    descriptor.contents { $0.value = CBDescriptor.value(value, of: descriptor.uuid.bluetooth) }
                }
                delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
            }
        case .write(let characteristic, let value):
            let isWritable = characteristic.remote?.properties.contains(.write) == true
            await write(value, to: characteristic.remote, isPermitted: isWritable, turn) {
                $1?.peripheral($0, didWriteValueFor: characteristic, error: $2)
            }
        case .writeCommand(let characteristic, let value): await send(value, to: characteristic)
        case .writeLongCommand(let characteristic, let value):
            // The ATT_MTU may have grown.
            if await value.count <= connection.maximumCommandLength { return await send(value, to: characteristic) }
            coreBluetoothLog.notice(
                "\(value.count) bytes for \(characteristic.uuid) are too long for a command; they are written in parts."
            )
            await reportingFailure { () throws(BluetoothError) in
                try await connection.write(value, to: characteristic)
            } report: { error in
                misuse("a value was not written: \(error)")
            }
            didSend()
        case .writeDescriptor(let descriptor, let value):
            let isConfiguration = descriptor.remote?.uuid == .clientCharacteristicConfiguration
            if isConfiguration {
                misuse("the client characteristic configuration is not written; use setNotifyValue(_:for:).")
            }
            await write(value, to: descriptor.remote, isPermitted: !isConfiguration, turn) {
                $1?.peripheral($0, didWriteValueFor: descriptor, error: $2)
            }
        case .setNotify(let isOn, let characteristic): await setNotify(isOn, characteristic, turn)
        case .stopNotifying(let characteristic): await stopNotifying(characteristic)
        case .openChannel(let psm): await openChannel(psm)
        }
    }

    /// Whether to report an error: not one of the connection's end, after which no request is called back. A refusal by
    /// the peripheral is reported even if the pairing that it requires has cost the connection.
    private static func isReported(_ error: BluetoothError, isConnected: Bool) -> Bool {
        error.code == .pairingFailed || isConnected && error.code != .cancelled
    }

    /// Reports an error, if it is one to report.
    private func reportingFailure(
        _ body: () async throws(BluetoothError) -> Void, report: (any Error) -> Void
    ) async {
        do throws(BluetoothError) {
            try await body()
        } catch {
            if Self.isReported(error, isConnected: await connection.isConnected) { report(error.coreBluetooth) }
        }
    }

    private func readRSSI() async {
        await reportingFailure { () throws(BluetoothError) in
            let rssi = try await connection.rssi()
            answer { peripheral, delegate in
                peripheral.handle.shared { $0.information.rssi = rssi }
                delegate?.peripheral(peripheral, didReadRSSI: NSNumber(value: rssi), error: nil)
            }
        } report: { error in
            answer { $1?.peripheral($0, didReadRSSI: NSNumber(value: 127), error: error) }
        }
    }

    /// Calls the delegate with the answer to a request.
    private func answer(
        times: Int = 1, _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        for _ in 0..<times { handle.report(attempt, record: { $0.requestCount -= 1 }, body) }
    }

    // MARK: Name

    /// Reads the peripheral's name, which may differ from the advertised one (Core Vol 3 Part C §12.1).
    func readName() async {
        do throws(BluetoothError) {
            let found = try await connection.readValues(of: .deviceName)
            guard let bytes = found.first?.value, !bytes.isEmpty else { return }
            let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            handle.report(attempt) { peripheral, delegate in
                let hasChanged = peripheral.handle.shared { shared -> Bool in
                    defer { (shared.information.name, shared.information.isNameRead) = (name, true) }
                    return shared.information.name != name
                }
                let handle = peripheral.handle
                handle.radio.devices.withLock { $0.setName(name, of: handle.address, isRead: true) }
                if hasChanged { delegate?.peripheralDidUpdateName(peripheral) }
            }
        } catch {
            // A device without a readable name keeps the advertised one.
            coreBluetoothLog.logger.debug("\(error)")
        }
    }

    // MARK: Discovery

    private func discoverServices(_ uuids: [BluetoothUUID]?, times: Int) async {
        await reportingFailure { () throws(BluetoothError) in
            let found = try await connection.discover()
            radio.devices.withLock { $0.connected[handle.address]?.formUnion(found.map(\.uuid)) }
            await handle.central.callbacks.turn()
            answer(times: times) { peripheral, delegate in
                peripheral.handle.updateServices(found, of: peripheral, uuids)
                delegate?.peripheral(peripheral, didDiscoverServices: nil)
            }
        } report: { error in
            answer(times: times) { $1?.peripheral($0, didDiscoverServices: error) }
        }
    }

    /// Discovers the content of a service: everything was discovered together with the services, unless the peripheral
    /// has changed it.
    private func discover(
        in service: CBService?,
        _ report: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?, (any Error)?) -> Void
    ) {
        answer { peripheral, delegate in
            report(peripheral, delegate, peripheral.handle.isCurrent(service) ? nil : CBError(.invalidHandle))
        }
    }

    // MARK: Values

    /// Sends a request. `report` is called with the result in order with values, but not with an error of the
    /// connection's end; see ``isReported(_:isConnected:)``.
    private nonisolated(nonsending) func ask(
        _ request: AttributeRequest, _ turn: PeripheralRequestQueue.Turn,
        report: @escaping @Sendable ([UInt8], (any Error)?) -> Void
    ) async {
        await radio.ask(request, hold) { [connection] event in
            switch event {
            case .answered(_, let value): report(value, nil)
            case .failed(_, let error) where Self.isReported(error, isConnected: connection.isConnectedNow):
                report([], error.coreBluetooth)
            default: break
            }
            // It has begun, or ended without that.
            turn.end()
        }
    }

    /// Sends a request, and calls the delegate with the answer.
    private nonisolated(nonsending) func send(
        _ request: AttributeRequest?, _ turn: PeripheralRequestQueue.Turn,
        report: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?, [UInt8], (any Error)?) -> Void
    ) async {
        guard let request else { return notOurs() }
        await ask(request, turn) { [self] value, error in
            answer { report($0, $1, value, error) }
        }
    }

    private nonisolated(nonsending) func write(
        _ value: [UInt8], to attribute: (any RemoteAttribute)?, isPermitted: Bool, _ turn: PeripheralRequestQueue.Turn,
        report: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?, (any Error)?) -> Void
    ) async {
        guard let attribute else { return notOurs() }
        guard isPermitted else { return answer { report($0, $1, CBATTError(.writeNotPermitted)) } }
        guard value.count <= AttributeProtocol.maximumAttributeValueLength else {
            return answer { report($0, $1, CBATTError(.invalidAttributeValueLength)) }
        }
        await send(.write(value, to: attribute), turn) { report($0, $1, $3) }
    }

    private func notOurs() {
        misuse("an attribute of this program is not one of a peripheral's.")
        answer { _, _ in }
    }

    // MARK: Notifications

    private nonisolated(nonsending) func setNotify(
        _ isOn: Bool, _ characteristic: CBCharacteristic, _ turn: PeripheralRequestQueue.Turn
    ) async {
        guard let remote = characteristic.remote else { return notOurs() }
        let value = remote.valueHandle
        let report: @Sendable ((any Error)?) -> Void = { [self] error in
            answer { peripheral, delegate in
                if error == nil { characteristic.contents { $0.isNotifying = isOn } }
                delegate?.peripheral(peripheral, didUpdateNotificationStateFor: characteristic, error: error)
            }
        }
        let isNotified = remote.properties.contains(.notify)
        guard isNotified || remote.properties.contains(.indicate) else {
            return report(CBATTError(.requestNotSupported))
        }
        // Without one nothing is written, and the values that the peripheral sends are delivered.
        let descriptor = remote.descriptor(.clientCharacteristicConfiguration)
        let wasOn = handle.shared { $0.database.notifying[value] != nil }
        if wasOn == isOn { return report(nil) }
        if isOn {
            // The first value may arrive before the peripheral's answer.
            handle.shared { $0.database.notifying[value] = characteristic }
            if let descriptor { await radio.addSubscription(value, by: descriptor, hold) }
        } else if await !radio.removeSubscription(value, hold) {
            // Another manager still has a subscription.
            handle.shared { $0.database.notifying[value] = nil }
            return report(nil)
        }
        guard let descriptor else {
            if !isOn { handle.shared { $0.database.notifying[value] = nil } }
            return report(nil)
        }
        let configuration: [UInt8] = [!isOn ? 0 : isNotified ? 1 : 2, 0]
        await ask(.write(configuration, to: descriptor), turn) { [self] _, error in
            if isOn == (error != nil) { handle.shared { $0.database.notifying[value] = nil } }
            report(error)
        }
        if isOn, !handle.shared({ $0.database.notifying[value] != nil }) {
            _ = await radio.removeSubscription(value, hold)
        }
    }

    private func stopNotifying(_ characteristic: CBCharacteristic) async {
        let limit = PeripheralHandle.valueLimit
        misuse("\(limit) values are queued for the program, so \(characteristic.uuid) was unsubscribed.")
        if let remote = characteristic.remote,
            let descriptor = remote.descriptor(.clientCharacteristicConfiguration),
            await radio.removeSubscription(remote.valueHandle, hold)
        {
            try? await connection.write([0, 0], to: descriptor)
        }
        answer { peripheral, delegate in
            characteristic.contents { $0.isNotifying = false }
            delegate?.peripheral(
                peripheral, didUpdateNotificationStateFor: characteristic, error: CBError(.outOfSpace))
        }
    }

    // MARK: Channels

    private func openChannel(_ psm: CBL2CAPPSM) async {
        await reportingFailure { () throws(BluetoothError) in
            let channel = try await connection.openChannel(psm: psm)
            handle.shared { shared in
                shared.traffic.channels.removeAll { $0.object == nil }
                shared.traffic.channels.append(WeakReference(to: channel))
            }
            answer { peripheral, delegate in
                delegate?.peripheral(peripheral, didOpen: CBL2CAPChannel(channel, peripheral), error: nil)
            }
        } report: { error in
            answer { $1?.peripheral($0, didOpen: nil, error: error) }
        }
    }
}
