import BluetoothPackets
import BluetoothPrimitives

/// An HCI opcode (Core Vol 4 Part E §5.4.1).
///
/// An open set: vendors have commands of their own (group 0x3F), and unnamed opcodes keep their value.
public struct HCIOpcode: PacketCode, Hashable, Sendable {
    /// The opcode: six bits of OGF, ten bits of OCF.
    public let rawValue: UInt16

    /// The opcode with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The opcode with the low six bits of `group` (OGF) and the low ten bits of `command` (OCF).
    @inlinable
    public init(group: UInt8, command: UInt16) {
        rawValue = UInt16(group & 0x3F) << 10 | command & 0x3FF
    }

    /// The opcode group field (OGF); 8 is that of the LE controller commands.
    @inlinable public var group: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 10) }

    /// The opcode command field (OCF).
    @inlinable public var command: UInt16 { rawValue & 0x3FF }

    /// No Operation; a Command Complete with it only updates the number of commands that the controller accepts.
    public static let none = HCIOpcode(rawValue: 0x0000)

    /// The Command Complete event with a status and, after success, return parameters, as a packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` when the return parameters do not fit into an event.
    public func complete(
        _ status: HCIStatus, _ answer: some PacketField = HCINoParameters(), allowedCommandPackets: UInt8 = 1
    ) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: 255)
        try writer.write(status)
        try writer.write(answer)
        return try HCICommandComplete(
            opcode: self, allowedCommandPackets: allowedCommandPackets, returnParameters: writer.span
        ).packet()
    }
}

extension HCIOpcode: CustomStringConvertible {
    /// The name in the specification, or the value of an unnamed opcode.
    public var description: String {
        known?.definition.name ?? Self.namesWithoutType[rawValue] ?? "command 0x\(hexadecimal(rawValue, digits: 4))"
    }

    /// The names of the commands that have no type.
    private static let namesWithoutType: [UInt16: String] = [
        0x0000: "No Operation", 0x041D: "Read Remote Version Information", 0x1005: "Read Buffer Size",
        0x2007: "LE Read Advertising Physical Channel Tx Power", 0x2017: "LE Encrypt", 0x2018: "LE Rand",
        0x2019: "LE Enable Encryption", 0x201A: "LE Long Term Key Request Reply",
        0x201B: "LE Long Term Key Request Negative Reply", 0x2020: "LE Remote Connection Parameter Request Reply",
        0x2021: "LE Remote Connection Parameter Request Negative Reply",
        0x2023: "LE Read Suggested Default Data Length", 0x2024: "LE Write Suggested Default Data Length",
        0x2027: "LE Add Device To Resolving List", 0x2028: "LE Remove Device From Resolving List",
        0x2029: "LE Clear Resolving List", 0x202D: "LE Set Address Resolution Enable",
        0x202E: "LE Set Resolvable Private Address Timeout", 0x2031: "LE Set Default PHY",
        0x204E: "LE Set Privacy Mode", 0x2060: "LE Read Buffer Size [v2]", 0x2074: "LE Set Host Feature",
        0x207E: "LE Subrate Request",
    ]

    /// The definition of the opcode's command; nil for one without a type.
    var known: DescribedPacket<HCIOpcode>? { Self.known.first { $0.definition.code == self } }

    /// All commands that have a type.
    private static let known: [DescribedPacket<HCIOpcode>] = [
        DescribedPacket(HCIDisconnect.self),
        DescribedPacket(HCISetEventMask.self),
        DescribedPacket(HCIReset.self),
        DescribedPacket(HCIReadTransmitPowerLevel.self),
        DescribedPacket(HCIReadLocalVersionInformation.self),
        DescribedPacket(HCIReadLocalSupportedCommands.self),
        DescribedPacket(HCIReadLocalSupportedFeatures.self),
        DescribedPacket(HCIReadBDADDR.self),
        DescribedPacket(HCIReadRSSI.self),
        DescribedPacket(LESetEventMask.self),
        DescribedPacket(LEReadBufferSize.self),
        DescribedPacket(LEReadLocalSupportedFeatures.self),
        DescribedPacket(LESetRandomAddress.self),
        DescribedPacket(LESetAdvertisingParameters.self),
        DescribedPacket(LESetAdvertisingData.self),
        DescribedPacket(LESetScanResponseData.self),
        DescribedPacket(LESetAdvertisingEnable.self),
        DescribedPacket(LESetScanParameters.self),
        DescribedPacket(LESetScanEnable.self),
        DescribedPacket(LECreateConnection.self),
        DescribedPacket(LECreateConnectionCancel.self),
        DescribedPacket(LEReadFilterAcceptListSize.self),
        DescribedPacket(LEClearFilterAcceptList.self),
        DescribedPacket(LEAddDeviceToFilterAcceptList.self),
        DescribedPacket(LERemoveDeviceFromFilterAcceptList.self),
        DescribedPacket(LEConnectionUpdate.self),
        DescribedPacket(LEReadRemoteFeatures.self),
        DescribedPacket(LEReadSupportedStates.self),
        DescribedPacket(LESetDataLength.self),
        DescribedPacket(LEReadResolvingListSize.self),
        DescribedPacket(LEReadMaximumDataLength.self),
        DescribedPacket(LEReadPHY.self),
        DescribedPacket(LESetPHY.self),
        DescribedPacket(LESetAdvertisingSetRandomAddress.self),
        DescribedPacket(LESetExtendedAdvertisingParameters.self),
        DescribedPacket(LESetExtendedAdvertisingData.self),
        DescribedPacket(LESetExtendedScanResponseData.self),
        DescribedPacket(LESetExtendedAdvertisingEnable.self),
        DescribedPacket(LEReadMaximumAdvertisingDataLength.self),
        DescribedPacket(LEReadNumberOfSupportedAdvertisingSets.self),
        DescribedPacket(LERemoveAdvertisingSet.self),
        DescribedPacket(LEClearAdvertisingSets.self),
        DescribedPacket(LESetExtendedScanParameters.self),
        DescribedPacket(LESetExtendedScanEnable.self),
        DescribedPacket(LEExtendedCreateConnection.self),
        DescribedPacket(LEReadTransmitPower.self),
    ]
}
