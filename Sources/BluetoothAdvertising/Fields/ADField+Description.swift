import BluetoothPrimitives

extension ADField: CustomStringConvertible {
    /// The field and its value in one line.
    public var description: String {
        switch kind {
        case .flags(let flags): "flags \(flags)"
        case .services(let uuids, let complete): "\(complete ? "services" : "some services") \(list(uuids))"
        case .localName(let name, let complete): "\(complete ? "name" : "shortened name") \(name.debugDescription)"
        case .txPowerLevel(let power): "TX power \(power) dBm"
        case .classOfDevice(let deviceClass): "class of device \(deviceClass)"
        case .deviceID(let identifier): "device ID \(identifier)"
        case .securityManagerOutOfBandFlags(let flags):
            "security manager OOB flags 0x\(hexadecimal(flags.rawValue, digits: 2))"
        case .peripheralConnectionIntervalRange(let range): "connection interval \(range)"
        case .solicitedServices(let uuids): "solicited services \(list(uuids))"
        case .serviceData(let data): "service data \(data)"
        case .targetAddresses(let addresses): "target addresses \(list(addresses.map { $0.digits }))"
        case .appearance(let appearance): "appearance \(appearance)"
        case .advertisingInterval(let interval): "advertising interval \(interval)"
        case .leBluetoothDeviceAddress(let address): "device address \(address.digits) (\(address.kind))"
        case .leRole(let role): "LE role \(role)"
        case .uri(let uri): "URI \(uri.debugDescription)"
        case .transportDiscoveryData(let blocks): "transport discovery \(list(blocks))"
        case .leSupportedFeatures(let features): "LE supported features \(features)"
        case .channelMapUpdateIndication(let update): "channel map update \(update)"
        case .resolvableSetIdentifier(let identifier): "resolvable set identifier \(identifier)"
        case .broadcastName(let name): "broadcast name \(name.debugDescription)"
        case .encryptedAdvertisingData(let data): "encrypted data (\(data.ciphertext.count) bytes)"
        case .periodicAdvertisingResponseTiming(let timing): "periodic response timing \(timing)"
        case .manufacturerData(let data): "manufacturer data \(data)"
        // What is secret is not printed.
        case .bytes(.deviceIDOrSecurityManagerTK, _): "security manager TK value"
        case .bytes(.broadcastCode, _): "broadcast code"
        case .bytes(let type, let bytes), .other(let type, let bytes): "\(type) \(bytes.hexadecimal)"
        }
    }
}

/// Values in one line, without the reflection that an array's own description takes.
private func list(_ values: [some CustomStringConvertible]) -> String {
    "[\(values.map { $0.description }.joined(separator: ", "))]"
}
