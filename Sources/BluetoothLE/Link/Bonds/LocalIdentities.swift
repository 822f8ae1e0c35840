import BluetoothCryptography
import BluetoothHost
import BluetoothPrimitives
import Logging

/// The identities of adapters, by their places.
//
// Confined to the event loop, with the bonds.
final class LocalIdentities: AdapterStore {
    private let store: (any BondStore)?
    private let log: Logger
    private var known: [String: LocalIdentity] = [:]

    init(_ store: (any BondStore)?, log: Logger) {
        self.store = store
        self.log = log
    }

    /// The identity of the adapter at a place. Without a stored one, a random identity is stored and returned if
    /// `makes`, otherwise nil.
    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity? {
        if let known = known[place] { return known }
        var identity = makes ? LocalIdentity.random() : nil
        do throws(BluetoothError) {
            if let store { identity = try await store.localIdentity(ofAdapterAt: place, orStore: identity) }
        } catch {
            log.warning(
                "the adapter's identity is not stored, so paired devices will not recognise it after a restart: \(error)"
            )
        }
        known[place] = identity
        return identity
    }
}

// The body: the adapter's place, address and key.

private let format = RecordFormat("BLE-SELF", version: 1, trustsLaterVersions: true)

extension LocalIdentity {
    /// The maximum size in bytes of an encoded identity.
    static let maximumLength = 1 << 14

    /// The encoded form of the identity for the adapter at a place.
    func encoded(forAdapterAt place: String) -> [UInt8] {
        // Nothing here is longer than the limit: a path has at most 4096 bytes.
        let address = (0..<6).map { UInt8(truncatingIfNeeded: staticAddress.value >> (8 * UInt64($0))) }
        let name = Array(place.utf8.prefix(4096))
        let length = [UInt8(truncatingIfNeeded: name.count), UInt8(name.count >> 8)]
        return format.seal(length + name + address + identityResolvingKey.bytes)
    }

    /// Decodes the output of ``encoded(forAdapterAt:)``.
    init(decoding bytes: [UInt8], place: String) throws(RecordFormat.Failure) {
        let body = try format.open(bytes)
        var reader = ByteReader(body.span.bytes)
        do {
            let name = [UInt8](try reader.read(Int(try reader.readUInt16())))
            guard name == Array(place.utf8.prefix(4096)) else { throw RecordFormat.Failure.otherOwner }
            let address = try reader.readAddress(.random)
            self.init(staticAddress: address, identityResolvingKey: try SecurityKey(reading: &reader))
            guard address.randomKind == .static, reader.isAtEnd else { throw RecordFormat.Failure.damaged }
        } catch let error as RecordFormat.Failure {
            throw error
        } catch {
            throw .damaged
        }
    }
}
