// Written by Tests/FirmwareMessages/record from the messages of smp 4.2.0; not to be edited.
// swift-format-ignore-file

import TestSupport
import Testing

@testable import BluetoothProfiles

/// A message with its encoding by an independent implementation.
struct RecordedMessage: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var header: SMPHeader
    var body: CBOR
    var bytes: [UInt8]

    init(
        _ name: String, operation: UInt8, version: UInt8, group: UInt16, command: UInt8, sequence: UInt8, body: CBOR,
        _ bytes: [UInt8]
    ) {
        testDescription = name
        header = SMPHeader(
            SMPHeader.Operation(rawValue: operation) ?? .read, SMPCommand(group: group, number: command),
            sequence: sequence, version: version)
        self.body = body
        self.bytes = bytes
    }
}

let recordedMessages = [
    RecordedMessage(
        "EchoWriteRequest", operation: 2, version: 1, group: 0, command: 0, sequence: 0,
        body: .map(["d": .text("")]),
        hex("0A00000400000000A1616460")),
    RecordedMessage(
        "EchoWriteRequest", operation: 2, version: 1, group: 0, command: 0, sequence: 1,
        body: .map(["d": .text("hello")]),
        hex("0A00000900000100A161646568656C6C6F")),
    RecordedMessage(
        "EchoWriteRequest", operation: 2, version: 0, group: 0, command: 0, sequence: 2,
        body: .map(["d": .text("hello")]),
        hex("0200000900000200A161646568656C6C6F")),
    RecordedMessage(
        "EchoWriteResponse", operation: 3, version: 1, group: 0, command: 0, sequence: 2,
        body: .map(["r": .text("Größe")]),
        hex("0B00000B00000200A16172674772C3B6C39F65")),
    RecordedMessage(
        "ResetWriteRequest", operation: 2, version: 1, group: 0, command: 5, sequence: 3,
        body: .map([:]),
        hex("0A00000100000305A0")),
    RecordedMessage(
        "ResetWriteRequest", operation: 2, version: 1, group: 0, command: 5, sequence: 4,
        body: .map(["force": .unsigned(1)]),
        hex("0A00000800000405A165666F72636501")),
    RecordedMessage(
        "ResetWriteResponse", operation: 3, version: 1, group: 0, command: 5, sequence: 4,
        body: .map([:]),
        hex("0B00000100000405A0")),
    RecordedMessage(
        "MCUMgrParametersReadRequest", operation: 0, version: 1, group: 0, command: 6, sequence: 5,
        body: .map([:]),
        hex("0800000100000506A0")),
    RecordedMessage(
        "MCUMgrParametersReadResponse", operation: 1, version: 1, group: 0, command: 6, sequence: 5,
        body: .map(["buf_size": .unsigned(2475), "buf_count": .unsigned(4)]),
        hex("0900001800000506A2686275665F73697A651909AB696275665F636F756E7404")),
    RecordedMessage(
        "ImageStatesReadRequest", operation: 0, version: 1, group: 1, command: 0, sequence: 6,
        body: .map([:]),
        hex("0800000100010600A0")),
    RecordedMessage(
        "ImageStatesReadResponse", operation: 1, version: 1, group: 1, command: 0, sequence: 6,
        body: .map(["images": .array([.map(["slot": .unsigned(0), "version": .text("1.2.3"), "hash": .bytes(hex("6105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D")), "bootable": .bool(true), "pending": .bool(false), "confirmed": .bool(true), "active": .bool(true), "permanent": .bool(false)]), .map(["slot": .unsigned(1), "version": .text("1.2.3.4"), "image": .unsigned(1), "hash": .bytes(hex("000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000")), "pending": .bool(true)])]), "splitStatus": .unsigned(0)]),
        hex("090000E100010600A266696D6167657382A8646861736858206105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D64736C6F740066616374697665F56770656E64696E67F46776657273696F6E65312E322E3368626F6F7461626C65F569636F6E6669726D6564F5697065726D616E656E74F4A56468617368583000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000064736C6F740165696D616765016770656E64696E67F56776657273696F6E67312E322E332E346B73706C697453746174757300")),
    RecordedMessage(
        "ImageStatesReadResponse", operation: 1, version: 0, group: 1, command: 0, sequence: 255,
        body: .map(["images": .array([])]),
        hex("010000090001FF00A166696D6167657380")),
    RecordedMessage(
        "ImageStatesWriteRequest", operation: 2, version: 1, group: 1, command: 0, sequence: 7,
        body: .map(["hash": .bytes(hex("6105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D")), "confirm": .bool(false)]),
        hex("0A00003100010700A2646861736858206105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D67636F6E6669726DF4")),
    RecordedMessage(
        "ImageStatesWriteRequest", operation: 2, version: 1, group: 1, command: 0, sequence: 8,
        body: .map(["confirm": .bool(true)]),
        hex("0A00000A00010800A167636F6E6669726DF5")),
    RecordedMessage(
        "ImageUploadWriteRequest", operation: 2, version: 1, group: 1, command: 1, sequence: 9,
        body: .map(["off": .unsigned(0), "data": .bytes(hex("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F")), "image": .unsigned(0), "len": .unsigned(100000), "sha": .bytes(hex("6105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D")), "upgrade": .bool(true)]),
        hex("0A00008C00010901A6636C656E1A000186A0636F6666006373686158206105D6CC76AF400325E94D588CE511BE5BFDBB73B437DC51ECA43917D7A43E3D64646174615840000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F65696D616765006775706772616465F5")),
    RecordedMessage(
        "ImageUploadWriteRequest", operation: 2, version: 1, group: 1, command: 1, sequence: 10,
        body: .map(["off": .unsigned(64), "data": .bytes(hex("5555555555555555555555555555555555555555555555"))]),
        hex("0A00002400010A01A2636F666618406464617461575555555555555555555555555555555555555555555555")),
    RecordedMessage(
        "ImageUploadWriteRequest", operation: 2, version: 1, group: 1, command: 1, sequence: 11,
        body: .map(["off": .unsigned(65536), "data": .bytes(hex("555555555555555555555555555555555555555555555555"))]),
        hex("0A00002900010B01A2636F66661A0001000064646174615818555555555555555555555555555555555555555555555555")),
    RecordedMessage(
        "ImageUploadWriteRequest", operation: 2, version: 1, group: 1, command: 1, sequence: 12,
        body: .map(["off": .unsigned(5000000000), "data": .bytes(hex("555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555"))]),
        hex("0A00014200010C01A2636F66661B000000012A05F200646461746159012C555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555")),
    RecordedMessage(
        "ImageUploadWriteResponse", operation: 3, version: 1, group: 1, command: 1, sequence: 9,
        body: .map(["off": .unsigned(64)]),
        hex("0B00000700010901A1636F66661840")),
    RecordedMessage(
        "ImageUploadWriteResponse", operation: 3, version: 1, group: 1, command: 1, sequence: 12,
        body: .map(["off": .unsigned(100000), "match": .bool(true)]),
        hex("0B00001100010C01A2636F66661A000186A0656D61746368F5")),
    RecordedMessage(
        "ImageUploadWriteResponse", operation: 3, version: 0, group: 1, command: 1, sequence: 12,
        body: .map(["off": .unsigned(100000), "rc": .unsigned(0)]),
        hex("0300000E00010C01A262726300636F66661A000186A0")),
    RecordedMessage(
        "OSManagementErrorV1", operation: 3, version: 0, group: 0, command: 0, sequence: 13,
        body: .map(["rc": .unsigned(8)]),
        hex("0300000500000D00A162726308")),
    RecordedMessage(
        "ImageManagementErrorV2", operation: 3, version: 1, group: 1, command: 1, sequence: 14,
        body: .map(["err": .map(["group": .unsigned(1), "rc": .unsigned(9)])]),
        hex("0B00001100010E01A163657272A2627263096567726F757001")),
]
