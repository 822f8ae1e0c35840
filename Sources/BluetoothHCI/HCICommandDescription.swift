import BluetoothPrimitives

extension HCICommand: CustomStringConvertible {
    /// The name of the command and its parameters.
    public var description: String {
        let parameters = parameterDescription
        return parameters.isEmpty ? "\(opcode)" : "\(opcode): \(parameters)"
    }

    private var parameterDescription: String {
        switch self {
        case .reset, .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures,
            .readBDADDR, .leReadLocalSupportedFeatures, .leCreateConnectionCancel, .leClearFilterAcceptList,
            .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets, .leClearAdvertisingSets:
            return ""
        case .readTransmitPowerLevel(let handle, let maximum):
            return "handle \(handle), \(maximum ? "maximum" : "current")"
        case .disconnect(let handle, let reason): return "handle \(handle), \(reason)"
        case .setEventMask(let mask): return "0x\(hexadecimal(mask.rawValue, digits: 16))"
        case .leSetEventMask(let mask): return "0x\(hexadecimal(mask.rawValue, digits: 16))"
        case .readRSSI(let handle), .leReadRemoteFeatures(let handle), .leReadPHY(let handle):
            return "handle \(handle)"
        case .leSetRandomAddress(let address): return "\(address)"
        case .leSetAdvertisingParameters(let parameters):
            return "\(parameters.type), own address \(parameters.ownAddressType), "
                + "interval \(parameters.intervalMinimum)-\(parameters.intervalMaximum) x 0.625 ms"
        case .leSetAdvertisingData(let data), .leSetScanResponseData(let data): return data.hexadecimal
        case .leSetAdvertisingEnable(let isEnabled): return onOff(isEnabled)
        case .leSetScanParameters(let parameters):
            return "\(parameters.timing), own address \(parameters.ownAddressType), \(parameters.filterPolicy)"
        case .leSetScanEnable(let isEnabled, let duplicates): return "\(onOff(isEnabled)), \(duplicates)"
        case .leCreateConnection(let parameters):
            let target = parameters.usesAcceptList ? "accept list" : "\(parameters.peer)"
            return "\(target), \(parameters.parameters)"
        case .leAddDeviceToFilterAcceptList(let entry), .leRemoveDeviceFromFilterAcceptList(let entry):
            return "\(entry)"
        case .leConnectionUpdate(let handle, let parameters, _): return "handle \(handle), \(parameters)"
        case .leSetDataLength(let handle, let octets, let time):
            return "handle \(handle), \(octets) bytes, \(time) µs"
        case .leSetPHY(let handle, let preference):
            let any = "any"
            return "handle \(handle), transmit \(preference.transmit?.description ?? any), "
                + "receive \(preference.receive?.description ?? any)"
        default: return extendedParameterDescription
        }
    }

    private var extendedParameterDescription: String {
        switch self {
        case .leSetAdvertisingSetRandomAddress(let set, let address): return "set \(set), \(address)"
        case .leSetExtendedAdvertisingParameters(let parameters):
            return "set \(parameters.advertisingHandle), \(parameters.properties), "
                + "own address \(parameters.ownAddressType), "
                + "interval \(parameters.intervalMinimum)-\(parameters.intervalMaximum) x 0.625 ms"
        case .leSetExtendedAdvertisingData(let data), .leSetExtendedScanResponseData(let data):
            return "set \(data.advertisingHandle), \(data.operation), \(data.data.hexadecimal)"
        case .leSetExtendedAdvertisingEnable(let isEnabled, let sets):
            return ([onOff(isEnabled)] + sets.map { "set \($0.advertisingHandle)" }).joined(separator: ", ")
        case .leRemoveAdvertisingSet(let set): return "set \(set)"
        case .leSetExtendedScanParameters(let parameters):
            var parts: [String] = []
            if let timing = parameters.le1M { parts.append("LE 1M \(timing)") }
            if let timing = parameters.leCoded { parts.append("LE Coded \(timing)") }
            parts.append("own address \(parameters.ownAddressType)")
            parts.append("\(parameters.filterPolicy)")
            return parts.joined(separator: ", ")
        case .leSetExtendedScanEnable(let enable):
            return "\(onOff(enable.isEnabled)), \(enable.duplicates), duration \(enable.duration) x 10 ms, "
                + "period \(enable.period) x 1.28 s"
        case .leExtendedCreateConnection(let parameters):
            let target = parameters.usesAcceptList ? "accept list" : "\(parameters.peer)"
            return "\(target), \(parameters.phys)"
        case .unknown(let opcode, let parameters):
            return opcode.carriesSecret ? "\(parameters.count) bytes" : parameters.hexadecimal
        default: return ""
        }
    }

    private func onOff(_ isEnabled: Bool) -> String { isEnabled ? "on" : "off" }
}

extension LEScanTiming: CustomStringConvertible {
    /// The scan type, window and interval.
    public var description: String { "\(type), \(window) of \(interval) x 0.625 ms" }
}
