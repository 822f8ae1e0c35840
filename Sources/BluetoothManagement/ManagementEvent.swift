import BluetoothPrimitives

/// What the kernel's management socket tells.
///
/// Answers, data and unnamed events are borrowed from the packet. Without CAP_NET_ADMIN only Index Added and Removed,
/// New Settings and answers to one's own commands arrive.
public enum ManagementEvent: ~Escapable {
    /// A command was carried out, or refused with an answer.
    case commandComplete(ManagementCommandComplete)
    /// A command was refused, or is being carried out.
    case commandStatus(ManagementOpcode, ManagementStatus)
    /// The controller found a fault in itself, with a code of its maker.
    case controllerError(UInt8)
    /// There is a new adapter.
    case indexAdded
    /// An adapter is gone.
    case indexRemoved
    /// An adapter's settings changed.
    case newSettings(ManagementSettings)
    /// Pairing made a long term key; without `isStored` it is for this connection only.
    case newLongTermKey(LongTermKey, isStored: Bool)
    /// A device told its identity resolving key. `randomAddress` is the private address it was known by, if any; from
    /// now on it is known by the identity in the key.
    case newIdentityResolvingKey(IdentityResolvingKey, randomAddress: BluetoothAddress?, isStored: Bool)
    /// Pairing made a signature resolving key.
    case newSignatureResolvingKey(SignatureResolvingKey, isStored: Bool)
    /// A peripheral asked for connection parameters and got them.
    case newConnectionParameters(DeviceConnectionParameters, isStored: Bool)
    /// There is a new connection.
    case deviceConnected(ManagementDeviceConnected)
    /// A connection ended.
    case deviceDisconnected(ManagementAddress, ManagementDisconnectReason)
    /// A connection could not be made.
    case connectFailed(ManagementAddress, ManagementStatus)
    /// Pairing needs a yes or no. With `isSimple` there is no number to compare, and the question is whether to pair at
    /// all; it is asked for Just Works too, and pairing waits for the answer.
    case userConfirmationRequest(ManagementAddress, isSimple: Bool, value: UInt32)
    /// Pairing needs the number the other device shows.
    case userPasskeyRequest(ManagementAddress)
    /// Pairing needs a number shown here to be entered there; `enteredCount` digits have been.
    case passkeyNotify(ManagementAddress, passkey: UInt32, enteredCount: UInt8)
    /// Pairing failed, or a connection could not be encrypted.
    case authenticationFailed(ManagementAddress, ManagementStatus)
    /// Somebody else's command made the kernel forget a device's keys.
    case deviceUnpaired(ManagementAddress)
    /// Discovery found a device.
    case deviceFound(ManagementDeviceFound)
    /// Discovery began or ended.
    case discovering(ManagementAddressTypes, isDiscovering: Bool)
    /// Somebody else's command added a device.
    case deviceAdded(ManagementAddress, AddDeviceAction)
    /// Somebody else's command removed a device.
    case deviceRemoved(ManagementAddress)
    /// Somebody else's command added an advertising instance.
    case advertisingAdded(UInt8)
    /// Somebody else's command, or its time limit, removed an advertising instance.
    case advertisingRemoved(UInt8)
    /// An event this type does not name.
    case unknown(ManagementEventCode, parameters: RawSpan)

    /// Reads the event of a packet.
    ///
    /// Throws when a named event has too few parameters; those beyond the known ones are ignored.
    @_lifetime(copy packet)
    public init(decoding packet: ManagementPacket) throws(TruncatedBytes) {
        var reader = ByteReader(packet.parameters)
        let code = ManagementEventCode(rawValue: packet.code)
        switch code {
        case .commandComplete:
            self = .commandComplete(
                ManagementCommandComplete(
                    opcode: ManagementOpcode(rawValue: try reader.readUInt16()),
                    status: ManagementStatus(rawValue: try reader.readUInt8()),
                    returnParameters: reader.readRemaining()))
        case .commandStatus:
            let opcode = ManagementOpcode(rawValue: try reader.readUInt16())
            self = .commandStatus(opcode, ManagementStatus(rawValue: try reader.readUInt8()))
        case .controllerError: self = .controllerError(try reader.readUInt8())
        case .indexAdded: self = .indexAdded
        case .indexRemoved: self = .indexRemoved
        case .newSettings: self = .newSettings(ManagementSettings(rawValue: try reader.readUInt32()))
        case .deviceFound: self = .deviceFound(try ManagementDeviceFound(reading: &reader))
        case .discovering:
            let types = ManagementAddressTypes(rawValue: try reader.readUInt8())
            self = .discovering(types, isDiscovering: try reader.readBool())
        case .deviceConnected: self = .deviceConnected(try ManagementDeviceConnected(reading: &reader))
        case .deviceDisconnected:
            let address = try ManagementAddress(reading: &reader)
            self = .deviceDisconnected(address, ManagementDisconnectReason(rawValue: try reader.readUInt8()))
        case .connectFailed:
            let address = try ManagementAddress(reading: &reader)
            self = .connectFailed(address, ManagementStatus(rawValue: try reader.readUInt8()))
        case .deviceAdded:
            let address = try ManagementAddress(reading: &reader)
            self = .deviceAdded(address, AddDeviceAction(rawValue: try reader.readUInt8()))
        case .deviceRemoved: self = .deviceRemoved(try ManagementAddress(reading: &reader))
        case .advertisingAdded: self = .advertisingAdded(try reader.readUInt8())
        case .advertisingRemoved: self = .advertisingRemoved(try reader.readUInt8())
        default: self = try ManagementEvent(pairing: code, parameters: packet.parameters)
        }
    }

    /// The events of pairing and its keys, and those without a name.
    @_lifetime(copy parameters)
    private init(pairing code: ManagementEventCode, parameters: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(parameters)
        switch code {
        case .newLongTermKey:
            let isStored = try reader.readBool()
            self = .newLongTermKey(try LongTermKey(reading: &reader), isStored: isStored)
        case .newIdentityResolvingKey:
            let isStored = try reader.readBool()
            let address = try reader.readAddress(.random)
            let key = try IdentityResolvingKey(reading: &reader)
            self = .newIdentityResolvingKey(key, randomAddress: address.isZero ? nil : address, isStored: isStored)
        case .newSignatureResolvingKey:
            let isStored = try reader.readBool()
            self = .newSignatureResolvingKey(try SignatureResolvingKey(reading: &reader), isStored: isStored)
        case .newConnectionParameter:
            let address = try ManagementAddress(reading: &reader).address
            let isStored = try reader.readBool()
            self = .newConnectionParameters(
                DeviceConnectionParameters(
                    address: address, intervalMinimum: try reader.readUInt16(),
                    intervalMaximum: try reader.readUInt16(), latency: try reader.readUInt16(),
                    supervisionTimeout: try reader.readUInt16()), isStored: isStored)
        case .userConfirmationRequest:
            let address = try ManagementAddress(reading: &reader)
            let isSimple = try reader.readBool()
            self = .userConfirmationRequest(address, isSimple: isSimple, value: try reader.readUInt32())
        case .userPasskeyRequest: self = .userPasskeyRequest(try ManagementAddress(reading: &reader))
        case .passkeyNotify:
            let address = try ManagementAddress(reading: &reader)
            let passkey = try reader.readUInt32()
            self = .passkeyNotify(address, passkey: passkey, enteredCount: try reader.readUInt8())
        case .authenticationFailed:
            let address = try ManagementAddress(reading: &reader)
            self = .authenticationFailed(address, ManagementStatus(rawValue: try reader.readUInt8()))
        case .deviceUnpaired: self = .deviceUnpaired(try ManagementAddress(reading: &reader))
        default: self = .unknown(code, parameters: parameters)
        }
    }
}
