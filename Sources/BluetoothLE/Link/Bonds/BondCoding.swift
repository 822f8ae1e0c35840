import BluetoothATT
import BluetoothCryptography
import BluetoothPrimitives
import BluetoothGATT

// The body: adapter and device, then fields of a kind (one byte), a length (two bytes) and that many bytes.

private let format = RecordFormat("BLE-BOND", version: 1, trustsLaterVersions: true)

// 3 is reserved for signature keys, which are not stored.
private enum BondField {
    static let longTermKey: UInt8 = 1
    static let identityResolvingKey: UInt8 = 2
    static let name: UInt8 = 4
    static let time: UInt8 = 5
    static let subscription: UInt8 = 6
    static let supportedFeatures: UInt8 = 7
    static let knownDatabase: UInt8 = 8
    static let usedAgain: UInt8 = 9
    static let lastUse: UInt8 = 10
}

extension Bond {
    /// The maximum size in bytes of an encoded bond.
    static let maximumLength = 1 << 20
    /// The maximum number of keys in an encoded bond: more than any pairing has.
    static let maximumKeyCount = 64

    private var keyCount: Int { longTermKeys.count + (identityResolvingKey == nil ? 0 : 1) }

    /// The encoded form of the bond with one adapter.
    func encoded(for adapter: BluetoothAddress) throws(BufferFull) -> [UInt8] {
        guard keyCount <= Self.maximumKeyCount else {
            throw BufferFull(needed: keyCount, available: Self.maximumKeyCount)
        }
        var writer = ByteWriter(growingTo: Self.maximumLength - RecordFormat.overhead)
        for address in [adapter, identity] { try writer.writeWithKind(address) }
        try writer.writeField(BondField.time) { (field) throws(BufferFull) in try field.write(time) }
        if wasUsedAgain { try writer.writeField(BondField.usedAgain, []) }
        if let lastUse {
            try writer.writeField(BondField.lastUse) { (field) throws(BufferFull) in try field.write(lastUse) }
        }
        if let name { try writer.writeField(BondField.name, Array(name.utf8.prefix(248))) }
        for key in longTermKeys {
            try writer.writeField(BondField.longTermKey) { (field) throws(BufferFull) in
                try field.write(key.kind.rawValue)
                try field.write(key.isCentral ? 1 : 0 as UInt8)
                try field.write(UInt8(clamping: key.encryptionSize))
                try field.write(key.encryptedDiversifier)
                try field.write(key.randomNumber)
                try key.value.write(to: &field)
            }
        }
        if let identityResolvingKey {
            try writer.writeField(BondField.identityResolvingKey, identityResolvingKey.bytes)
        }
        if let client { try writer.write(client) }
        return format.seal(writer.bytes)
    }

    /// Decodes the output of ``encoded(for:)``.
    init(decoding bytes: [UInt8], adapter: BluetoothAddress) throws(RecordFormat.Failure) {
        let body = try format.open(bytes)
        var reader = ByteReader(body.span.bytes)
        do {
            let theirs = try reader.readAddressWithKind()
            self.init(identity: try reader.readAddressWithKind())
            guard theirs == adapter else { throw RecordFormat.Failure.otherOwner }
            while !reader.isAtEnd {
                let kind = try reader.readUInt8()
                let field = ByteReader(try reader.read(Int(try reader.readUInt16())))
                try decode(kind, field)
                guard keyCount <= Self.maximumKeyCount else { throw RecordFormat.Failure.damaged }
            }
        } catch let error as RecordFormat.Failure {
            throw error
        } catch {
            throw .damaged
        }
    }

    private mutating func decode(_ kind: UInt8, _ field: ByteReader) throws {
        var field = field
        switch kind {
        case BondField.time: time = try field.readUInt64()
        case BondField.usedAgain: wasUsedAgain = true
        case BondField.lastUse: lastUse = try field.readUInt64()
        case BondField.name: name = String(decoding: [UInt8](field.readRemaining()), as: UTF8.self)
        case BondField.longTermKey:
            let kind = LongTermKey.Kind(rawValue: try field.readUInt8())
            let isCentral = try field.readUInt8() != 0
            let size = Int(try field.readUInt8())
            let diversifier = try field.readUInt16()
            let number = try field.readUInt64()
            // One key with an invalid size can make a host reject all of them.
            guard LongTermKey.encryptionSizes.contains(size) else { throw RecordFormat.Failure.damaged }
            longTermKeys.append(
                LongTermKey(
                    address: identity, kind: kind, isCentral: isCentral, encryptionSize: size,
                    encryptedDiversifier: diversifier, randomNumber: number, value: try SecurityKey(reading: &field)))
        case BondField.identityResolvingKey: identityResolvingKey = try SecurityKey(reading: &field)
        case BondField.subscription:
            let handle = AttributeHandle(try field.readUInt16())
            let configuration = ClientCharacteristicConfiguration(rawValue: try field.readUInt16())
            client = client ?? GATTClientRecord()
            client?.subscriptions.append(
                GATTClientRecord.Subscription(
                    characteristic: handle, type: try field.readUUID(.bits128), configuration: configuration))
        case BondField.supportedFeatures:
            client = client ?? GATTClientRecord()
            client?.supportedFeatures = [UInt8](field.readRemaining())
        case BondField.knownDatabase:
            client = client ?? GATTClientRecord()
            client?.knownDatabase = DatabaseHash([UInt8](field.readRemaining()))
        default: break
        }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ client: GATTClientRecord) throws(BufferFull) {
        for subscription in client.subscriptions {
            try writeField(BondField.subscription) { (field) throws(BufferFull) in
                try field.write(subscription.characteristic.rawValue)
                try field.write(subscription.configuration.rawValue)
                try field.write(subscription.type, width: .bits128)
            }
        }
        // Written even when empty: its presence marks that there is a record.
        try writeField(BondField.supportedFeatures, client.supportedFeatures)
        if let hash = client.knownDatabase { try writeField(BondField.knownDatabase, hash.bytes) }
    }
}
