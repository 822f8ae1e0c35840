import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// The attributes of the servers, and what clients do with them.
enum FuzzDatabase {
    static let limits = GATTServer.Limits(preparedWrites: 4, preparedBytes: 64)
    /// The value of an attribute that only an encrypted link may read.
    static let secret: [UInt8] = [0x5E, 0xC2, 0xE7, 0x91, 0x0D, 0xB4, 0x3A, 0xF6]
    static let secretHandle: AttributeHandle = 9

    private static let services = [
        GATTService(
            0x1800,
            characteristics: [
                GATTCharacteristic(0x2A00, properties: [.read, .write, .writeWithoutResponse], value: .stored([1])),
                GATTCharacteristic(0x2A19, properties: [.read, .notify, .indicate], value: .stored([2]), handle: 5),
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .write, .notify],
                    permissions: [.read, .write, .readEncrypted, .writeEncrypted], value: .stored(secret)),
                GATTCharacteristic(
                    0xFFF2, properties: [.read, .write],
                    permissions: [.read, .write, .readAuthorized, .writeAuthorized],
                    value: .stored([3])),
                GATTCharacteristic(0xFFF3, properties: [.read, .write], valueLengths: 0...100),
                GATTCharacteristic(
                    0xFFF4, properties: [.read, .write], permissions: [.read, .write, .writeBonded],
                    value: .stored([1, 2, 3, 4]), valueLengths: 4...4),
            ]),
        GATTService(
            .genericAttribute,
            characteristics: [
                GATTCharacteristic(.serviceChanged, properties: .indicate),
                GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], value: .stored([0])),
                GATTCharacteristic(.databaseHash, properties: .read, value: .stored([UInt8](repeating: 0, count: 16))),
            ]),
    ]

    /// Made once, since that takes as long as many of a client's steps.
    static let initial: AttributeDatabase = {
        do { return try AttributeDatabase(services) } catch { fatalError("\(error)") }
    }()

    static func handle(_ source: inout ByteSource) -> AttributeHandle { AttributeHandle(UInt16(source.byte() & 0x1F)) }

    /// A request or command to an attribute that may exist, which may be malformed.
    static func request(_ source: inout ByteSource) -> [UInt8] {
        let opcodes: [UInt8] = [
            0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x1E, 0x20, 0x52, 0xD2,
        ]
        let opcode = source.choose(opcodes) ?? 0
        let handle = [source.byte() & 0x1F, 0]
        return switch opcode {
        case 0x02: [opcode] + source.bytes(atMost: 2)
        case 0x18: [opcode, source.byte() & 1]
        case 0x04, 0x06, 0x08, 0x10: [opcode] + handle + [source.byte() | 0x1F, 0] + source.bytes(atMost: 16)
        case 0x16: [opcode] + handle + [source.byte() & 7, 0] + source.bytes(atMost: 20)
        default: [opcode] + handle + source.bytes(atMost: 24)
        }
    }

    static func security(_ source: inout ByteSource) -> BearerSecurity {
        let bits = source.byte()
        return BearerSecurity(
            isEncrypted: bits & 1 != 0, encryptionKeySize: bits & 2 != 0 ? 16 : 5, isAuthenticated: bits & 4 != 0,
            hasLongTermKey: bits & 8 != 0, isBonded: bits & 16 != 0)
    }
}

/// Several clients of one database send any bytes, in turns.
let gattServer = FuzzTarget("gatt-server") { source in
    var machine = ServerModel()
    while !source.isEmpty { machine.step(&source) }
}

private struct ServerModel {
    private struct Client {
        var server: GATTServer
        var events: [GATTServerEvent] = []
        /// The request that has no response yet.
        var pending: ATTOpcode?

        init(_ configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:], asks: Bool) {
            server = GATTServer(limits: FuzzDatabase.limits, configurations: configurations)
            server.asksForAuthorization = asks
        }
    }

    private var database = FuzzDatabase.initial
    private var clients = (0..<3).map { Client(asks: $0 > 0) }
    /// The first handle of the last addition.
    private var added: AttributeHandleRange?

    mutating func step(_ source: inout ByteSource) {
        let index = source.number(below: clients.count)
        switch source.number(below: 16) {
        case 0, 1: answer(index, &source)
        // A link does not lose its encryption while the program decides.
        case 2 where !clients[index].server.isWaitingForProgram:
            clients[index].server.security = FuzzDatabase.security(&source)
        case 3: clients[index] = Client(clients[index].server.configurations, asks: source.flag())
        case 4, 5: sendValue(index, &source)
        case 6: change()
        case 7: clients[index].server.client.authorize(.all)
        case 8: clients[index].server.client.endAuthorization(in: .all)
        case 9: receive(source.bytes(atMost: 60), index)
        default: receive(FuzzDatabase.request(&source), index)
        }
    }

    /// Adds a service, or removes it again.
    private mutating func change() {
        if let range = added {
            database.remove(range)
            added = nil
        } else {
            let value = GATTCharacteristic(0xFFE1, properties: [.read, .write, .notify], value: .stored([9]))
            let layout = try? database.append([GATTService(0xFFE0, characteristics: [value], handle: 0x001C)])
            added = layout == nil ? nil : AttributeHandleRange(start: 0x001C, end: 0x001F)
        }
        for index in clients.indices { clients[index].server.databaseChanged(database) }
    }

    private var storedValues: [AttributeHandle: [UInt8]] {
        // The hash is stored when it is asked for.
        let attributes = database.attributes.filter { $0.type != .databaseHash }
        return Dictionary(uniqueKeysWithValues: attributes.map { ($0.handle, $0.storedValue ?? []) })
    }

    private mutating func receive(_ pdu: [UInt8], _ index: Int) {
        // A client that knows the secret may write it elsewhere.
        guard !pdu.shares(2, with: FuzzDatabase.secret) else { return }
        let opcode = pdu.first.map { ATTOpcode($0) }
        let isRequest = opcode.map { $0.type == .request && $0.isSentByClient } ?? false
        let isPending = clients[index].server.isWaitingForProgram
        if isRequest, !isPending { clients[index].pending = opcode }
        call(index, "\(pdu.hexadecimal)") { server, database, writer in
            server.receive(pdu.span.bytes, database: &database, into: &writer)
        }
        if isRequest, !isPending, clients[index].pending != nil {
            require(clients[index].server.isWaitingForProgram, "no response to \(pdu.hexadecimal)")
        }
    }

    private mutating func answer(_ index: Int, _ source: inout ByteSource) {
        let event = source.choose(clients[index].events)
        let code = ATTErrorCode(rawValue: source.byte() | 1)
        var value = source.bytes(atMost: 40)
        if value.shares(2, with: FuzzDatabase.secret) { value = [] }
        let result: Result<[UInt8], ATTErrorCode> = source.flag() ? .success(value) : .failure(code)
        call(index, "the answer to \(event.map { "\($0)" } ?? "the request")") { server, database, writer in
            server.answer(event, with: result, database: &database, into: &writer)
        }
    }

    /// Calls a server, and checks what it sends and changes.
    private mutating func call(
        _ index: Int, _ what: @autoclosure () -> String,
        _ body: (inout GATTServer, inout AttributeDatabase, inout ByteWriter) -> [GATTServerEvent]
    ) {
        var writer = ByteWriter(growingTo: 517)
        let (before, mtu, old) = (storedValues, clients[index].server.mtu, clients[index].events)
        let events = body(&clients[index].server, &database, &writer)
        let server = clients[index].server
        let pdu = writer.bytes
        clients[index].events = events + old.suffix(2)
        require(server.preparedWriteCount <= FuzzDatabase.limits.preparedWrites, "too many prepared writes")
        for (handle, value) in storedValues where before[handle] != value {
            require(events.contains(.storedValueChanged(handle)), "a change of \(handle) by \(what()) is not reported")
            let isProtected = handle == FuzzDatabase.secretHandle
            require(!isProtected || server.isEncrypted, "\(what()) changes a protected value")
            require(pdu.first != 0x01, "\(what()) is refused and changes \(handle)")
        }
        guard !pdu.isEmpty else { return }
        require(pdu.count <= mtu, "\(pdu.count) bytes in response to \(what())")
        require(server.isEncrypted || !pdu.shares(4, with: FuzzDatabase.secret), "\(what()) reads a protected value")
        let opcode = ATTOpcode(pdu[0])
        let pending = clients[index].pending
        let isAnswer = opcode == .errorResponse ? pdu[1] == pending?.rawValue : opcode == pending?.answer
        require(isAnswer, "\(pdu.hexadecimal) in response to \(what())")
        require((try? ATTServerPDU(decoding: pdu.span.bytes)) != nil, "the malformed \(pdu.hexadecimal)")
        clients[index].pending = nil
    }

    private mutating func sendValue(_ index: Int, _ source: inout ByteSource) {
        let (handle, isIndication) = (FuzzDatabase.handle(&source), source.flag())
        let value = source.bytes(atMost: 60)
        let server = clients[index].server
        var writer = ByteWriter(growingTo: 517)
        do {
            if isIndication {
                try server.encodeIndication(of: handle, value: value.span.bytes, database: database, into: &writer)
            } else {
                try server.encodeNotification(of: handle, value: value.span.bytes, database: database, into: &writer)
            }
        } catch {
            return require(writer.count == 0, "a refused value is in the writer")
        }
        let kind: ClientCharacteristicConfiguration = isIndication ? .indication : .notification
        require(server.configurations[handle]?.contains(kind) == true, "a value of \(handle) without a subscription")
        require(writer.count <= server.mtu, "a value that is longer than the ATT_MTU")
        require(handle != FuzzDatabase.secretHandle || server.isEncrypted, "a protected value is sent")
    }
}

extension GATTServer {
    /// Whether the link is encrypted with a key of sufficient length.
    fileprivate var isEncrypted: Bool {
        security.isEncrypted && security.encryptionKeySize >= limits.minimumEncryptionKeySize
    }
}
