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
        case .simplePairingHash192(let bytes): "hash C-192 \(bytes.hexadecimal)"
        case .simplePairingRandomizer192(let bytes): "randomizer R-192 \(bytes.hexadecimal)"
        case .deviceID(let identifier): "device ID \(identifier)"
        case .securityManagerTK: "security manager TK value"
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
        case .simplePairingHash256(let bytes): "hash C-256 \(bytes.hexadecimal)"
        case .simplePairingRandomizer256(let bytes): "randomizer R-256 \(bytes.hexadecimal)"
        case .secureConnectionsConfirmation(let bytes): "SC confirmation \(bytes.hexadecimal)"
        case .secureConnectionsRandom(let bytes): "SC random \(bytes.hexadecimal)"
        case .uri(let uri): "URI \(uri.debugDescription)"
        case .indoorPositioning(let bytes): "indoor positioning \(bytes.hexadecimal)"
        case .transportDiscoveryData(let blocks): "transport discovery \(list(blocks))"
        case .leSupportedFeatures(let features): "LE supported features \(features)"
        case .channelMapUpdateIndication(let update): "channel map update \(update)"
        case .pbADV(let bytes): "mesh PB-ADV \(bytes.hexadecimal)"
        case .meshMessage(let bytes): "mesh message \(bytes.hexadecimal)"
        case .meshBeacon(let bytes): "mesh beacon \(bytes.hexadecimal)"
        case .bigInfo(let bytes): "BIGInfo \(bytes.hexadecimal)"
        case .broadcastCode: "broadcast code"
        case .resolvableSetIdentifier(let identifier): "resolvable set identifier \(identifier)"
        case .broadcastName(let name): "broadcast name \(name.debugDescription)"
        case .encryptedAdvertisingData(let data): "encrypted data (\(data.ciphertext.count) bytes)"
        case .periodicAdvertisingResponseTiming(let timing): "periodic response timing \(timing)"
        case .electronicShelfLabel(let bytes): "electronic shelf label \(bytes.hexadecimal)"
        case .information3D(let bytes): "3D information \(bytes.hexadecimal)"
        case .manufacturerData(let data): "manufacturer data \(data)"
        case .other(let type, let bytes): "\(type) \(bytes.hexadecimal)"
        }
    }
}

/// Values in one line, without the reflection that an array's own description takes.
private func list(_ values: [some CustomStringConvertible]) -> String {
    "[\(values.map { $0.description }.joined(separator: ", "))]"
}
