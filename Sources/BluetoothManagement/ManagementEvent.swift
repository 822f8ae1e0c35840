import BluetoothPrimitives

/// An event of the kernel's management socket.
///
/// Replies, data and unknown events borrow from the packet. Without CAP_NET_ADMIN only Index Added and Removed, New
/// Settings and replies to own commands arrive.
public enum ManagementEvent: ~Escapable {
    /// A command was carried out, or refused with a reply.
    case commandComplete(ManagementCommandComplete)
    /// A command was refused, or is being carried out.
    case commandStatus(ManagementOpcode, ManagementStatus)
    /// The controller reported a fault, with a vendor-specific code.
    case controllerError(UInt8)
    /// An adapter was added.
    case indexAdded
    /// An adapter was removed.
    case indexRemoved
    /// An adapter's settings changed.
    case newSettings(ManagementSettings)
    /// Pairing made a long term key; without `isStored` it is valid for this connection only.
    case newLongTermKey(LongTermKey, isStored: Bool)
    /// A device distributed its identity resolving key. `randomAddress` is the private address it was known by, if any;
    /// from now on it is known by the identity in the key.
    case newIdentityResolvingKey(IdentityResolvingKey, randomAddress: BluetoothAddress?, isStored: Bool)
    /// Pairing exchanged a signature resolving key.
    case newSignatureResolvingKey(SignatureResolvingKey, isStored: Bool)
    /// A peripheral requested connection parameters and got them.
    case newConnectionParameters(DeviceConnectionParameters, isStored: Bool)
    /// A device connected.
    case deviceConnected(ManagementDeviceConnected)
    /// A connection ended.
    case deviceDisconnected(ManagementAddress, ManagementDisconnectReason)
    /// A connection could not be made.
    case connectFailed(ManagementAddress, ManagementStatus)
    /// Pairing needs a confirmation. With `isSimple` there is no number to compare, and the question is whether to pair
    /// at all; it is asked for Just Works too, and pairing waits for the answer.
    case userConfirmationRequest(ManagementAddress, isSimple: Bool, value: UInt32)
    /// Pairing needs the passkey that the other device shows.
    case userPasskeyRequest(ManagementAddress)
    /// Pairing shows a passkey here that is entered at the device; `enteredCount` digits were entered so far.
    case passkeyNotify(ManagementAddress, passkey: UInt32, enteredCount: UInt8)
    /// Pairing failed, or a connection could not be encrypted.
    case authenticationFailed(ManagementAddress, ManagementStatus)
    /// Another program made the kernel forget a device's keys.
    case deviceUnpaired(ManagementAddress)
    /// Discovery found a device.
    case deviceFound(ManagementDeviceFound)
    /// Discovery began or ended.
    case discovering(ManagementAddressTypes, isDiscovering: Bool)
    /// Another program added a device.
    case deviceAdded(ManagementAddress, AddDeviceAction)
    /// Another program removed a device.
    case deviceRemoved(ManagementAddress)
    /// Another program added an advertising instance.
    case advertisingAdded(UInt8)
    /// Another program, or a time limit, removed an advertising instance.
    case advertisingRemoved(UInt8)
    /// An event this type does not name.
    case unknown(ManagementEventCode, parameters: RawSpan)

    /// Decodes the event of a packet.
    ///
    /// Throws when a named event has too few parameters; excess ones are ignored.
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

    /// Decodes the events of pairing and its keys, and unknown ones.
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
