import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// A server with its database.
struct ServerFixture {
    var database: AttributeDatabase
    var server: GATTServer
    /// The PDU that the last call wrote; empty for none.
    private(set) var written: [UInt8] = []
    /// The events of the last call.
    var events: [GATTServerEvent] = []

    init(
        _ services: [GATTService] = ServerFixture.services, mtu: Int = 23, security: BearerSecurity = .none,
        limits: GATTServer.Limits = .init()
    ) throws {
        database = try AttributeDatabase(services)
        server = GATTServer(limits: limits, security: security)
        server.mtu = mtu
    }

    /// The response to `request`, in hexadecimal; empty for none.
    mutating func send(_ request: String) -> String {
        send(hex(request)).hexadecimal
    }

    mutating func send(_ request: [UInt8]) -> [UInt8] {
        events = write { $0.receive(request.span.bytes, database: &$1, into: &$2) }
        return written
    }

    /// Calls the server with an empty writer.
    private mutating func write<Result>(
        _ body: (inout GATTServer, inout AttributeDatabase, inout ByteWriter) throws -> Result
    ) rethrows -> Result {
        var writer = ByteWriter(capacity: 23)
        defer { written = writer.bytes }
        return try body(&server, &database, &writer)
    }

    /// Answers the pending read.
    mutating func answer(_ value: String) throws -> String {
        guard case .readRequested = try #require(events.first) else { throw TestFailure.unexpectedEvent }
        return answer(events.first, .success(hex(value)))
    }

    /// Refuses the pending request.
    mutating func refuse(_ code: ATTErrorCode) throws -> String {
        switch try #require(events.first) {
        case .readRequested, .writeRequested: answer(events.first, .failure(code))
        default: throw TestFailure.unexpectedEvent
        }
    }

    /// Accepts the pending write.
    mutating func accept() throws -> String {
        guard case .writeRequested = try #require(events.first) else { throw TestFailure.unexpectedEvent }
        return answer(events.first, .success([]))
    }

    /// Answers an event, or with nil refuses the pending request; returns the response.
    mutating func answer(_ event: GATTServerEvent?, _ result: Result<[UInt8], ATTErrorCode>) -> String {
        events = write { $0.answer(event, with: result, database: &$1, into: &$2) }
        return written.hexadecimal
    }

    /// The writes that wait for the program.
    func requestedWrites() throws -> [AttributeWrite] {
        guard case .writeRequested(let writes, _) = try #require(events.first) else {
            throw TestFailure.unexpectedEvent
        }
        return writes
    }

    /// The notification of a value, without sending it.
    mutating func encodeNotification(of handle: AttributeHandle, _ value: [UInt8]) throws -> [UInt8] {
        try write { try $0.encodeNotification(of: handle, value: value.span.bytes, database: $1, into: &$2) }
        return written
    }

    /// The indication of a value, without sending it.
    mutating func encodeIndication(of handle: AttributeHandle, _ value: [UInt8]) throws -> [UInt8] {
        try write { try $0.encodeIndication(of: handle, value: value.span.bytes, database: $1, into: &$2) }
        return written
    }

    enum TestFailure: Error { case unexpectedEvent }

    static let linble: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"
    static let dataFromPeripheral: BluetoothUUID = "27ADC9CB-35EB-465A-9154-B8FF9076F3E8"
    static let dataToPeripheral: BluetoothUUID = "27ADC9CC-35EB-465A-9154-B8FF9076F3E8"

    /// ```
    /// 0001 service 1800      0002 0003 2A00 read write, stored "Test"
    /// 0004 service 180F      0005 0006 2A19 read notify, stored 64, 0007 CCCD
    /// 0010 service LINBLE    0011 0012 notify, 0013 CCCD   0014 0015 write without response
    /// 0020 secondary 1234
    /// 0030 service FFF0      0031 0032 0033 includes 180F, LINBLE, 1234
    ///                        0034 0035 FFF1 encrypted   0036 0037 FFF2 authenticated   0038 0039 FFF3 authorised
    ///                        003A 003B FFF4 all three, dynamic
    ///                        003C 003D FFF5 30 of 0 to 40 bytes, 003E extended properties
    ///                        003F 0040 FFF6 dynamic     0041 0042 FFF7 4 bytes, always
    /// FFFC service 1801      FFFD FFFE 2A05 indicate, FFFF CCCD
    /// ```
    static let services: [GATTService] = [
        GATTService(
            .genericAccess,
            characteristics: [
                GATTCharacteristic(.deviceName, properties: [.read, .write], value: .stored(hex("54657374")))
            ]),
        GATTService(
            0x180F,
            characteristics: [GATTCharacteristic(0x2A19, properties: [.read, .notify], value: .stored([0x64]))]),
        GATTService(
            linble,
            characteristics: [
                GATTCharacteristic(dataFromPeripheral, properties: .notify),
                GATTCharacteristic(dataToPeripheral, properties: .writeWithoutResponse),
            ], handle: 0x0010),
        GATTService(0x1234, isPrimary: false, handle: 0x0020),
        GATTService(
            0xFFF0, includedServices: [0x180F, .uuid(linble), 0x1234],
            characteristics: [
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .write],
                    permissions: [.read, .write, .readEncrypted, .writeEncrypted], value: .stored([0xA1])),
                GATTCharacteristic(
                    0xFFF2, properties: [.read, .write],
                    permissions: [.read, .write, .readAuthenticated, .writeAuthenticated], value: .stored([0xA2])),
                GATTCharacteristic(
                    0xFFF3, properties: [.read, .write],
                    permissions: [.read, .write, .readAuthorized, .writeAuthorized], value: .stored([0xA3])),
                GATTCharacteristic(
                    0xFFF4, properties: [.read, .write],
                    permissions: [
                        .read, .write, .readAuthorized, .writeAuthorized, .readAuthenticated, .writeAuthenticated,
                    ]),
                GATTCharacteristic(
                    0xFFF5, properties: [.read, .write], extendedProperties: .reliableWrite,
                    value: .stored([UInt8](0..<30)), valueLengths: 0...40),
                GATTCharacteristic(0xFFF6, properties: [.read, .write], valueLengths: 0...100),
                GATTCharacteristic(
                    0xFFF7, properties: [.read, .write], value: .stored(hex("01020304")), valueLengths: 4...4),
            ], handle: 0x0030),
        GATTService(
            .genericAttribute, characteristics: [GATTCharacteristic(.serviceChanged, properties: .indicate)],
            handle: 0xFFFC),
    ]

    /// Ten services of five characteristics with 128-bit UUIDs, each with a configuration descriptor: 160 handles.
    static let tenByFive: [GATTService] = (0..<10).map { service in
        GATTService(
            uuid(service, 0),
            characteristics: (1...5).map { characteristic in
                GATTCharacteristic(
                    uuid(service, characteristic), properties: [.read, .write, .writeWithoutResponse, .notify],
                    value: .stored([UInt8](repeating: UInt8(characteristic), count: 20)))
            })
    }

    static func uuid(_ service: Int, _ characteristic: Int) -> BluetoothUUID {
        BluetoothUUID(high: 0x1000_0000_0000_0000 | UInt64(service) << 8 | UInt64(characteristic), low: 0xABCD)
    }
}
