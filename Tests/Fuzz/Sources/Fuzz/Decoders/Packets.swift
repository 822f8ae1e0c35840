@testable import BluetoothATT
@testable import BluetoothHCI
@testable import BluetoothManagement
import BluetoothPackets
import BluetoothPrimitives

/// The packets of the attribute protocol, of controllers, and of the kernel's management socket.
let packetDecoders: [FuzzTarget] = [
    FuzzTarget(name: "att-pdu") { input in
        _ = AttributeProtocol.description(of: input.bytes)
        checkClientPDU(input.bytes)
        checkServerPDU(input.bytes)
    },
    FuzzTarget(name: "hci-command") { input in
        _ = HCIPacketType.description(of: input.bytes)
        guard let packet = try? HCICommandPacket(decoding: input.bytes) else { return }
        _ = try? packet.text()
        for type in commands where type.opcode == packet.opcode { check(type, in: packet) }
    },
    FuzzTarget(name: "hci-event") { input in
        _ = HCIPacketType.description(of: input.bytes)
        guard let packet = try? HCIEventPacket(decoding: input.bytes) else { return }
        _ = try? packet.text()
        for type in events where type.code == packet.code { check(type, in: packet) }
        checkReports(packet)
        guard let complete = try? packet.commandComplete() else { return }
        for type in commands where type.opcode == complete.opcode { checkReturn(of: type, in: complete) }
    },
    FuzzTarget(name: "management-command") { input in
        _ = ManagementPacket.description(of: input.bytes, isSent: true)
        guard let packet = try? ManagementPacket(decoding: input.bytes), let command = try? packet.command() else {
            return
        }
        guard let bytes = try? command.packet(for: packet.index) else { return fault("\(command) is not encoded") }
        let again = try? ManagementPacket(decoding: bytes.span.bytes).command()
        require(again.map { AnyHashable($0) } == AnyHashable(command), "\(command) became \(again as Any)")
    },
    FuzzTarget(name: "management-event") { input in
        _ = ManagementPacket.description(of: input.bytes, isSent: false)
        guard let packet = try? ManagementPacket(decoding: input.bytes) else { return }
        if let event = try? packet.event() {
            guard let bytes = try? event.packet(for: packet.index) else { return fault("\(event) is not encoded") }
            let again = try? ManagementPacket(decoding: bytes.span.bytes).event()
            require(again.map { AnyHashable($0) } == AnyHashable(event), "\(event) became \(again as Any)")
        }
        if let complete = try? packet.commandComplete(), let type = complete.opcode.type {
            checkReply(to: type, in: complete)
        }
    },
]

// MARK: The attribute protocol

private func checkClientPDU(_ bytes: RawSpan) {
    guard let pdu = try? ATTClientPDU(decoding: bytes) else { return }
    var writer = ByteWriter(capacity: bytes.byteCount)
    guard (try? pdu.encode(into: &writer)) != nil else { return fault("\(pdu.description) does not fit") }
    let encoded = writer.bytes
    // A type of 128 bits may have a form of 16.
    require(encoded == Array(bytes) || encoded.count == bytes.byteCount - 14, "\(pdu.description) is \(encoded)")
    guard let again = try? ATTClientPDU(decoding: encoded.span.bytes) else { return fault("\(encoded) is no PDU") }
    require(again.description == pdu.description, "\(pdu.description) became \(again.description)")
}

private func checkServerPDU(_ bytes: RawSpan) {
    guard let pdu = try? ATTServerPDU(decoding: bytes) else { return }
    var writer = ByteWriter(capacity: bytes.byteCount)
    guard (try? pdu.encode(into: &writer)) != nil else { return fault("\(pdu.description) does not fit") }
    require(writer.bytes == Array(bytes), "\(pdu.description) is \(writer.bytes)")
}

// MARK: HCI

private func check<Command: HCICommand>(_ type: Command.Type, in packet: borrowing HCICommandPacket) {
    guard let command = try? packet.as(type) else { return }
    guard let bytes = try? command.packet() else { return fault("\(command) is not encoded") }
    let again = try? HCICommandPacket(decoding: bytes.span.bytes).as(type)
    require(again == command, "\(command) became \(again as Any)")
}

private func check<Event: HCIEvent>(_ type: Event.Type, in packet: borrowing HCIEventPacket) {
    guard let event = try? packet.as(type) else { return }
    guard let bytes = try? event.packet() else { return fault("\(event) is not encoded") }
    let again = try? HCIEventPacket(decoding: bytes.span.bytes).as(type)
    require(again == event, "\(event) became \(again as Any)")
}

private func checkReturn<Command: HCICommand>(of type: Command.Type, in complete: borrowing HCICommandComplete) {
    guard let answer = try? complete.answer(to: type) else { return }
    guard let bytes = try? Command.complete(answer) else { return fault("\(answer) is not encoded") }
    guard let event = try? HCIEventPacket(decoding: bytes.span.bytes), let again = try? event.commandComplete() else {
        return fault("\(bytes) is no event")
    }
    require((try? again.answer(to: type)) == answer, "\(answer) changed")
}

private func checkReports(_ packet: borrowing HCIEventPacket) {
    guard var reports = try? packet.advertisingReports() else { return }
    var event = AdvertisingReportEvent(layout: reports.layout)
    var texts: [String] = []
    while let report = try? reports.next() {
        guard (try? event.append(report)) != nil else { return fault("\(report.description) does not fit") }
        texts.append(report.description)
    }
    guard event.count > 0 else { return }
    guard let again = try? HCIEventPacket(decoding: event.packet.span.bytes),
        var others = try? again.advertisingReports()
    else { return fault("\(event.packet) is no event") }
    for text in texts {
        guard let report = try? others.next() else { return fault("\(text) is lost") }
        require(report.description == text, "\(text) became \(report.description)")
    }
}

// MARK: Management

private func checkReply<Command: ManagementCommand>(
    to type: Command.Type, in complete: borrowing ManagementCommandComplete
) {
    guard let reply = try? complete.reply(to: type) else { return }
    var writer = ByteWriter(growingTo: Int(UInt16.max))
    guard (try? reply.write(to: &writer)) != nil else { return fault("\(reply) is not encoded") }
    let bytes = writer.bytes
    var reader = ByteReader(bytes.span.bytes)
    require((try? Command.Reply(reading: &reader)) == reply, "\(reply) changed")
}

// MARK: All types

private let events: [any HCIEvent.Type] = [
    HCICommandStatus.self, HCIDisconnectionComplete.self, HCIEncryptionChange.self, HCIHardwareError.self,
    LEAdvertisingSetTerminated.self, LEConnectionComplete.self, LEConnectionUpdateComplete.self,
    LEDataLengthChange.self, LEEnhancedConnectionComplete.self, LEPHYUpdate.self, LERemoteFeatures.self,
    LERemoteConnectionParameterRequest.self, LEScanTimeout.self,
]

private let commands: [any HCICommand.Type] = [
    HCIDisconnect.self, HCIReadBDADDR.self, HCIReadLocalSupportedCommands.self, HCIReadLocalSupportedFeatures.self,
    HCIReadLocalVersionInformation.self, HCIReadRSSI.self, HCIReadTransmitPowerLevel.self, HCIReset.self,
    HCISetEventMask.self, LEAddDeviceToFilterAcceptList.self, LEClearAdvertisingSets.self,
    LEClearFilterAcceptList.self, LEConnectionUpdate.self, LECreateConnection.self, LECreateConnectionCancel.self,
    LEExtendedCreateConnection.self, LEReadBufferSize.self, LEReadFilterAcceptListSize.self,
    LEReadLocalSupportedFeatures.self, LEReadMaximumAdvertisingDataLength.self, LEReadMaximumDataLength.self,
    LEReadNumberOfSupportedAdvertisingSets.self, LEReadPHY.self, LEReadRemoteFeatures.self,
    LEReadResolvingListSize.self, LEReadSupportedStates.self, LEReadTransmitPower.self, LERemoveAdvertisingSet.self,
    LERemoveDeviceFromFilterAcceptList.self, LESetAdvertisingData.self, LESetAdvertisingEnable.self,
    LESetAdvertisingParameters.self, LESetAdvertisingSetRandomAddress.self, LESetDataLength.self,
    LESetEventMask.self, LESetExtendedAdvertisingData.self, LESetExtendedAdvertisingEnable.self,
    LESetExtendedAdvertisingParameters.self, LESetExtendedScanEnable.self, LESetExtendedScanParameters.self,
    LESetExtendedScanResponseData.self, LESetPHY.self, LESetRandomAddress.self, LESetScanEnable.self,
    LESetScanParameters.self, LESetScanResponseData.self,
]
