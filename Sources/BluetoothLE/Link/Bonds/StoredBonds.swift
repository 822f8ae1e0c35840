import BluetoothCryptography
import BluetoothPrimitives

// The bytes that a store of the program's own keeps: the same records that ``FileBondStore`` writes.

extension Bond {
    /// The bond with one adapter as bytes, with a checksum, for a ``BondStore`` of the program's own.
    ///
    /// They contain the keys: anyone who has them can impersonate the device.
    /// - Throws: `.invalidArgument` for a bond of more than 64 keys or 1 MiB.
    public func stored(for adapter: BluetoothAddress) throws(BluetoothError) -> [UInt8] {
        do throws(BufferFull) {
            return try encoded(for: adapter)
        } catch {
            throw BluetoothError(
                .invalidArgument, .init("store the bond", peer: identity), "The bond has more than 64 keys or 1 MiB.")
        }
    }

    /// Restores a bond from the bytes of ``stored(for:)``.
    /// - Throws: `.invalidArgument` for bytes that are damaged or of another adapter, `.unsupported` for those of a later
    ///   version of this library.
    public init(stored bytes: [UInt8], for adapter: BluetoothAddress) throws(BluetoothError) {
        do throws(RecordFormat.Failure) {
            try self.init(decoding: bytes, adapter: adapter)
        } catch {
            throw .unreadable("restore the bond", error)
        }
    }
}

extension LocalIdentity {
    /// The identity of the adapter at a place as bytes, with a checksum, for a ``BondStore`` of the program's own.
    ///
    /// They contain the adapter's identity resolving key.
    public func stored(forAdapterAt place: String) -> [UInt8] { encoded(forAdapterAt: place) }

    /// Restores an identity from the bytes of ``stored(forAdapterAt:)``.
    /// - Throws: `.invalidArgument` for bytes that are damaged or of another place, `.unsupported` for those of a later
    ///   version of this library.
    public init(stored bytes: [UInt8], forAdapterAt place: String) throws(BluetoothError) {
        do throws(RecordFormat.Failure) {
            try self.init(decoding: bytes, place: place)
        } catch {
            throw .unreadable("restore the adapter's identity", error)
        }
    }
}

extension BluetoothError {
    fileprivate static func unreadable(_ operation: String, _ failure: RecordFormat.Failure) -> BluetoothError {
        switch failure {
        case .damaged: BluetoothError(.invalidArgument, .init(operation), "The bytes are damaged.")
        case .otherOwner: BluetoothError(.invalidArgument, .init(operation), "The bytes belong to another adapter.")
        case .unknownVersion(let version):
            BluetoothError(
                .unsupported, .init(operation),
                "The bytes have format \(version), from a later version of this library.")
        }
    }
}
