import BluetoothPrimitives

extension ManagementCommand: CustomStringConvertible {
    /// The command's name and its parameters; for keys only their owner.
    public var description: String {
        let parameters = parameterDescription
        return parameters.isEmpty ? "\(opcode)" : "\(opcode): \(parameters)"
    }

    private var parameterDescription: String {
        switch self {
        case .readVersionInformation, .readSupportedCommands, .readControllerIndexList, .readControllerInformation,
            .getConnections, .readAdvertisingFeatures, .readDefaultSystemConfiguration, .getPHYConfiguration:
            return ""
        case .setDefaultSystemConfiguration(let list): return lines(list)
        case .setPHYConfiguration(let phys): return "\(phys)"
        case .setPowered(let isOn), .setConnectable(let isOn), .setBondable(let isOn), .setLowEnergy(let isOn),
            .setBREDR(let isOn), .setSecureSimplePairing(let isOn):
            return isOn ? "on" : "off"
        case .setSecureConnections(let mode): return "\(mode)"
        case .setStaticAddress(let address): return "\(address)"
        case .setPrivacy(let mode, _): return "\(mode)"
        case .setIOCapability(let capability): return "\(capability)"
        case .setAppearance(let appearance): return "0x\(hexadecimal(appearance, digits: 4))"
        case .disconnect(let address), .getConnectionInformation(let address), .removeDevice(let address),
            .cancelPairDevice(let address), .userConfirmationReply(let address),
            .userConfirmationNegativeReply(let address), .userPasskeyNegativeReply(let address),
            .removeRemoteOutOfBandData(let address), .addRemoteOutOfBandData(let address, _, _):
            return "\(address)"
        case .addDevice(let address, let action): return "\(address), \(action)"
        case .loadConnectionParameters(let list): return lines(list)
        case .pairDevice(let address, let capability): return "\(address), \(capability)"
        case .unpairDevice(let address, let disconnect): return "\(address)\(disconnect ? ", disconnect" : "")"
        // The passkey is secret during the pairing.
        case .userPasskeyReply(let address, _): return "\(address)"
        case .loadLongTermKeys(let keys): return lines(keys)
        case .loadIdentityResolvingKeys(let keys): return lines(keys)
        case .startDiscovery(let types), .stopDiscovery(let types), .readLocalOutOfBandExtendedData(let types):
            return "\(types)"
        case .startServiceDiscovery(let types, let threshold, let services):
            let strength = threshold.map { "at least \($0) dBm" } ?? "any signal strength"
            return "\(types), \(strength), services \(services)"
        case .setAdvertising(let mode): return "\(mode)"
        case .addAdvertising(let instance):
            return "instance \(instance.instance), \(instance.flags), data \(instance.advertisingData.hexadecimal), "
                + "scan response \(instance.scanResponse.hexadecimal)"
        case .removeAdvertising(let instance): return instance == 0 ? "all instances" : "instance \(instance)"
        case .addExtendedAdvertisingParameters(let parameters):
            return "instance \(parameters.instance), \(parameters.flags)"
        case .addExtendedAdvertisingData(let data):
            return "instance \(data.instance), data \(data.advertisingData.hexadecimal), "
                + "scan response \(data.scanResponse.hexadecimal)"
        // Commands this type does not name may contain keys of BR/EDR.
        case .unknown(_, let parameters): return "\(parameters.count) bytes"
        }
    }

    private func lines(_ list: [some CustomStringConvertible]) -> String {
        (["\(list.count)"] + list.map(\.description)).joined(separator: "; ")
    }
}
