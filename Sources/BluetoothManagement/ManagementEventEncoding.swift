import BluetoothPrimitives

extension ManagementEvent {
    /// The event's code.
    public var code: ManagementEventCode {
        switch self {
        case .commandComplete: return .commandComplete
        case .commandStatus: return .commandStatus
        case .controllerError: return .controllerError
        case .indexAdded: return .indexAdded
        case .indexRemoved: return .indexRemoved
        case .newSettings: return .newSettings
        case .newLongTermKey: return .newLongTermKey
        case .newIdentityResolvingKey: return .newIdentityResolvingKey
        case .newSignatureResolvingKey: return .newSignatureResolvingKey
        case .newConnectionParameters: return .newConnectionParameter
        case .deviceConnected: return .deviceConnected
        case .deviceDisconnected: return .deviceDisconnected
        case .connectFailed: return .connectFailed
        case .userConfirmationRequest: return .userConfirmationRequest
        case .userPasskeyRequest: return .userPasskeyRequest
        case .passkeyNotify: return .passkeyNotify
        case .authenticationFailed: return .authenticationFailed
        case .deviceUnpaired: return .deviceUnpaired
        case .deviceFound: return .deviceFound
        case .discovering: return .discovering
        case .deviceAdded: return .deviceAdded
        case .deviceRemoved: return .deviceRemoved
        case .advertisingAdded: return .advertisingAdded
        case .advertisingRemoved: return .advertisingRemoved
        case .unknown(let code, _): return code
        }
    }

    /// The event as a packet about the adapter hci`index`, or about none.
    ///
    /// Throws ``BufferFull`` when the parameters take more than 65535 bytes.
    public func packet(for index: UInt16 = ManagementPacket.noController) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: ManagementPacket.headerByteCount + parameterCapacity)
        try encode(for: index, into: &writer)
        return writer.bytes
    }

    /// Appends the event as a packet about the adapter hci`index`, or about none, as the kernel sends it.
    ///
    /// Throws ``BufferFull`` when `writer` or the event has no room for it, leaving `writer` unchanged.
    public func encode(
        for index: UInt16 = ManagementPacket.noController, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try writer.writePacket(code: code.rawValue, index: index) { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }

    /// An upper bound of the parameters' size in bytes.
    private var parameterCapacity: Int {
        switch self {
        case .commandComplete(let event): return 3 + event.returnParameters.byteCount
        case .deviceConnected(let event): return 13 + event.data.byteCount
        case .deviceFound(let event): return 14 + event.data.byteCount
        case .unknown(_, let parameters): return parameters.byteCount
        default: return 64
        }
    }

    private func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .commandComplete(let event):
            try writer.write(event.opcode.rawValue)
            try writer.write(event.status.rawValue)
            try writer.write(event.returnParameters)
        case .commandStatus(let opcode, let status):
            try writer.write(opcode.rawValue)
            try writer.write(status.rawValue)
        case .controllerError(let code): try writer.write(code)
        case .indexAdded, .indexRemoved: break
        case .newSettings(let settings): try writer.write(settings.rawValue)
        case .deviceConnected(let event): try event.write(to: &writer)
        case .deviceDisconnected(let address, let reason):
            try address.write(to: &writer)
            try writer.write(reason.rawValue)
        case .connectFailed(let address, let status), .authenticationFailed(let address, let status):
            try address.write(to: &writer)
            try writer.write(status.rawValue)
        case .deviceFound(let event): try event.write(to: &writer)
        case .discovering(let types, let isDiscovering):
            try writer.write(types.rawValue)
            try writer.write(isDiscovering)
        case .deviceAdded(let address, let action):
            try address.write(to: &writer)
            try writer.write(action.rawValue)
        case .userPasskeyRequest(let address), .deviceUnpaired(let address), .deviceRemoved(let address):
            try address.write(to: &writer)
        case .advertisingAdded(let instance), .advertisingRemoved(let instance): try writer.write(instance)
        case .unknown(_, let parameters): try writer.write(parameters)
        case .newLongTermKey(let key, let isStored):
            try writer.write(isStored)
            try key.write(to: &writer)
        case .newIdentityResolvingKey(let key, let randomAddress, let isStored):
            try writer.write(isStored)
            try writer.write(randomAddress ?? .zero)
            try key.write(to: &writer)
        case .newSignatureResolvingKey(let key, let isStored):
            try writer.write(isStored)
            try key.write(to: &writer)
        case .newConnectionParameters(let parameters, let isStored):
            try ManagementAddress(parameters.address).write(to: &writer)
            try writer.write(isStored)
            try writer.write(parameters.intervalMinimum)
            try writer.write(parameters.intervalMaximum)
            try writer.write(parameters.latency)
            try writer.write(parameters.supervisionTimeout)
        case .userConfirmationRequest(let address, let isSimple, let value):
            try address.write(to: &writer)
            try writer.write(isSimple)
            try writer.write(value)
        case .passkeyNotify(let address, let passkey, let enteredCount):
            try address.write(to: &writer)
            try writer.write(passkey)
            try writer.write(enteredCount)
        }
    }

    /// The event's name and its parameters; for keys only their owner, and no secret number of pairing.
    public var description: String {
        let parameters = parameterDescription
        return parameters.isEmpty ? "\(code)" : "\(code): \(parameters)"
    }

    private var parameterDescription: String {
        switch self {
        case .commandComplete(let event): return event.description
        case .commandStatus(let opcode, let status): return "\(opcode), \(status)"
        case .controllerError(let code): return "0x\(hexadecimal(code, digits: 2))"
        case .indexAdded, .indexRemoved: return ""
        case .newSettings(let settings): return "\(settings)"
        case .newLongTermKey(let key, let isStored): return "\(key)\(notStored(isStored))"
        case .newIdentityResolvingKey(let key, let randomAddress, let isStored):
            return "\(key)\(randomAddress.map { ", known as \($0)" } ?? "")\(notStored(isStored))"
        case .newSignatureResolvingKey(let key, let isStored): return "\(key)\(notStored(isStored))"
        case .newConnectionParameters(let parameters, let isStored): return "\(parameters)\(notStored(isStored))"
        case .deviceConnected(let event): return event.description
        case .deviceDisconnected(let address, let reason): return "\(address), \(reason)"
        case .connectFailed(let address, let status), .authenticationFailed(let address, let status):
            return "\(address), \(status)"
        case .userConfirmationRequest(let address, let isSimple, _):
            return "\(address), \(isSimple ? "yes or no" : "compare numbers")"
        case .passkeyNotify(let address, _, let enteredCount): return "\(address), \(enteredCount) digits entered"
        case .userPasskeyRequest(let address), .deviceUnpaired(let address), .deviceRemoved(let address):
            return "\(address)"
        case .deviceFound(let event): return event.description
        case .discovering(let types, let isDiscovering): return "\(types), \(isDiscovering ? "on" : "off")"
        case .deviceAdded(let address, let action): return "\(address), \(action)"
        case .advertisingAdded(let instance), .advertisingRemoved(let instance): return "instance \(instance)"
        // Events this type does not name may contain keys of BR/EDR.
        case .unknown(_, let parameters): return "\(parameters.byteCount) bytes"
        }
    }

    private func notStored(_ isStored: Bool) -> String { isStored ? "" : ", not to be stored" }
}
