/// The frame of the records that this library keeps in files: a magic of eight bytes that names the format, a version (two
/// bytes), the body, and a checksum over all of it (16 bytes).
///
/// The checksum finds damage and nothing else: its key is zero. A body's fields of unknown kinds are passed over by whoever
/// reads it, so that more can be told without a new version.
package struct RecordFormat: Sendable {
    /// Why bytes are not a record.
    package enum Failure: Error, Hashable {
        /// They are damaged, or never were one.
        case damaged
        /// They are of this version, which is not ours.
        case unknownVersion(UInt16)
        /// They are another's: another device's, another adapter's.
        case otherOwner
    }

    /// How many bytes a checksum has.
    package static let checksumLength = 16
    /// How many bytes a record has besides its body.
    package static let overhead = 8 + 2 + checksumLength

    private let header: [UInt8]
    private let version: UInt16
    /// Whether a later version is believed by its number alone, since it may have another checksum.
    private let trustsLaterVersions: Bool

    package init(_ magic: String, version: UInt16, trustsLaterVersions: Bool = false) {
        header = Array(magic.utf8) + [UInt8(truncatingIfNeeded: version), UInt8(version >> 8)]
        self.version = version
        self.trustsLaterVersions = trustsLaterVersions
    }

    /// The bytes to keep of a body.
    package func seal(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + Self.overhead)
        bytes += header
        bytes += body
        bytes += Self.checksum(of: bytes)
        return bytes
    }

    /// The body that ``seal(_:)`` has made these bytes of.
    package func open(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        guard bytes.count >= Self.overhead, bytes.starts(with: header.dropLast(2)) else { throw .damaged }
        let found = UInt16(bytes[header.count - 2]) | UInt16(bytes[header.count - 1]) << 8
        if trustsLaterVersions, found > version { throw .unknownVersion(found) }
        let checked = bytes.dropLast(Self.checksumLength)
        guard bytes.suffix(Self.checksumLength).elementsEqual(Self.checksum(of: checked)) else { throw .damaged }
        guard found == version else { throw .unknownVersion(found) }
        return Array(checked.dropFirst(header.count))
    }

    /// The checksum of `bytes`, which finds damage.
    package static func checksum(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let code = AESCMAC.code(of: bytes)
        return (0..<checksumLength).map { UInt8(truncatingIfNeeded: code >> (120 - 8 * $0)) }
    }
}
