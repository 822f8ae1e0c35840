/// The format of the records in this library's files: a magic of eight bytes that names the kind of record, a version
/// (two bytes), the body, and a checksum of everything before it (16 bytes).
///
/// The checksum detects damage only: its key is zero. Readers skip fields of unknown kinds in a body, so that fields
/// can be added without a new version.
package struct RecordFormat: Sendable {
    /// The reason for which bytes are not a record.
    package enum Failure: Error, Hashable {
        /// The bytes are damaged or of another kind.
        case damaged
        /// The record has this version, which is not supported.
        case unknownVersion(UInt16)
        /// The record belongs to another device or adapter.
        case otherOwner
    }

    /// The size of a checksum in bytes.
    package static let checksumLength = 16
    /// The size of a record without its body in bytes.
    package static let overhead = 8 + 2 + checksumLength

    private let header: [UInt8]
    private let version: UInt16
    /// Whether a later version is reported without checking the checksum, which that version may compute differently.
    private let trustsLaterVersions: Bool

    package init(_ magic: String, version: UInt16, trustsLaterVersions: Bool = false) {
        header = Array(magic.utf8) + [UInt8(truncatingIfNeeded: version), UInt8(version >> 8)]
        self.version = version
        self.trustsLaterVersions = trustsLaterVersions
    }

    /// The record with the given body.
    package func seal(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + Self.overhead)
        bytes += header
        bytes += body
        bytes += Self.checksum(of: bytes)
        return bytes
    }

    /// The body of a record created by ``seal(_:)``.
    package func open(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        guard bytes.count >= Self.overhead, bytes.starts(with: header.dropLast(2)) else { throw .damaged }
        let found = UInt16(bytes[header.count - 2]) | UInt16(bytes[header.count - 1]) << 8
        if trustsLaterVersions, found > version { throw .unknownVersion(found) }
        let checked = bytes.dropLast(Self.checksumLength)
        guard bytes.suffix(Self.checksumLength).elementsEqual(Self.checksum(of: checked)) else { throw .damaged }
        guard found == version else { throw .unknownVersion(found) }
        return Array(checked.dropFirst(header.count))
    }

    /// The checksum of `bytes`, which detects damage.
    package static func checksum(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let code = AESCMAC.code(of: bytes)
        return (0..<checksumLength).map { UInt8(truncatingIfNeeded: code >> (120 - 8 * $0)) }
    }
}
