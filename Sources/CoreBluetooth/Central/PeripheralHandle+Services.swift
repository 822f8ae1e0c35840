import BluetoothLE
import Foundation

// The cached services of a peripheral, and the values that it sends.
extension PeripheralHandle {
    func isCurrent(_ service: CBService?) -> Bool {
        guard let service, let remote = service.remote else { return false }
        return shared { $0.database.known[remote.handles.start] === service }
    }

    /// Updates the services from the peripheral's database, keeping the objects of unchanged ones, and shows the
    /// requested services in addition to those discovered before.
    func updateServices(_ found: RemoteDatabase, of peripheral: CBPeripheral, _ uuids: [BluetoothUUID]?) {
        let before = shared { $0.database.known }
        var known: [AttributeHandle: CBService] = [:]
        for service in found {
            let old = before[service.handles.start]
            known[service.handles.start] = old?.remote == service ? old : CBService(service, of: peripheral)
        }
        let all = found.compactMap { $0.isPrimary ? known[$0.handles.start] : nil }.filter(isShown)
        shared { [known] shared in
            shared.database.known = known
            shared.database.services = shown(all, besides: shared.database.services, uuids)
        }
    }

    /// Whether the program may see a service: Core Bluetooth hides those that describe the device and its database.
    func isShown(_ service: CBService) -> Bool {
        let uuid = service.uuid.bluetooth
        return central.configuration.showsGenericServices || uuid != .genericAccess && uuid != .genericAttribute
    }

    /// Removes the services in a range of handles, and returns those that were visible.
    func remove(_ range: AttributeHandleRange) -> [CBService] {
        func isIn(_ service: CBService) -> Bool {
            guard let handles = service.remote?.handles else { return false }
            return handles.start <= range.end && range.start <= handles.end
        }
        let (gone, silenced) = shared { shared -> ([CBService], [CBCharacteristic]) in
            let gone = (shared.database.services ?? []).filter(isIn)
            shared.database.services?.removeAll(where: isIn)
            shared.database.known = shared.database.known.filter { !isIn($0.value) }
            let silenced = shared.database.notifying.filter { range.contains($0.key) }
            for handle in silenced.keys { shared.database.notifying[handle] = nil }
            return (gone, Array(silenced.values))
        }
        for characteristic in silenced { characteristic.contents { $0.isNotifying = false } }
        return gone
    }

    /// Receives the peripheral's own events, in the order received.
    func receive(_ event: LinkEvent, _ attempt: Int) {
        switch event {
        case .value(let value, let handle): receive(value, of: handle, attempt)
        case .servicesChanged(let range): receiveChange(of: range, attempt)
        case .began, .answered, .failed: break
        }
    }

    private func receiveChange(of range: AttributeHandleRange, _ attempt: Int) {
        let isDue = shared { shared -> Bool in
            // Of a device that changes faster than the program processes it, only the fact that it has changed is
            // reported.
            guard shared.traffic.changes.count < Self.changeLimit else {
                shared.traffic.changes[Self.changeLimit - 1] = .all
                return false
            }
            shared.traffic.changes.append(range)
            return true
        }
        guard isDue else { return }
        central.callbacks.post(from: .device(address)) { [self] in
            let next = shared { $0.traffic.changes.isEmpty ? nil : $0.traffic.changes.removeFirst() }
            guard let next else { return }
            deliver(attempt) { peripheral, delegate in
                let gone = remove(next)
                delegate?.peripheral(peripheral, didModifyServices: gone)
            }
        }
    }

    /// Receives a value that the peripheral notifies or indicates.
    private func receive(_ value: [UInt8], of handle: AttributeHandle, _ attempt: Int) {
        let (characteristic, isFull) = shared { shared -> (CBCharacteristic?, Bool) in
            guard let characteristic = shared.database.notifying[handle] else { return (nil, false) }
            guard shared.traffic.valueCount < Self.valueLimit else {
                shared.database.notifying[handle] = nil
                return (characteristic, true)
            }
            shared.traffic.valueCount += 1
            return (characteristic, false)
        }
        guard let characteristic else { return }
        if isFull { return request(.stopNotifying(characteristic), "setNotifyValue(_:for:)") }
        central.callbacks.post(from: .device(address)) { [self] in
            deliver(attempt, record: { $0.valueCount -= 1 }) { peripheral, delegate in
                characteristic.contents { $0.value = Data(value) }
                delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
            }
        }
    }
}

extension CBService {
    /// Shows the requested characteristics in addition to those discovered before.
    func addCharacteristics(_ uuids: [BluetoothUUID]?) {
        let all = knownCharacteristics()
        contents { $0.characteristics = shown(all, besides: $0.characteristics, uuids) }
    }

    /// Shows the requested included services in addition to those discovered before.
    func addIncludedServices(_ uuids: [BluetoothUUID]?, of peripheral: CBPeripheral) {
        let starts = remote?.includedServices.map(\.handles.start) ?? []
        let all = peripheral.handle.shared { shared in starts.compactMap { shared.database.known[$0] } }
            .filter(peripheral.handle.isShown)
        contents { $0.includedServices = shown(all, besides: $0.includedServices, uuids) }
    }
}

/// Those that were shown before or have one of the given UUIDs; nil means all.
private func shown<Attribute: CBAttribute>(
    _ all: [Attribute], besides before: [Attribute]?, _ uuids: [BluetoothUUID]?
) -> [Attribute] {
    all.filter { attribute in
        before?.contains { $0 === attribute } == true || uuids?.contains(attribute.uuid.bluetooth) ?? true
    }
}
