import BluetoothLE
import Foundation

// The identifier that Core Bluetooth has in place of an address. It is the address as a UUID of version 8 (RFC 9562
// §5.8), so that it is the same in every run and can be connected to without an advertisement: six bytes of address,
// 0x80, its type, 0x80, and a mark of seven bytes.
extension UUID {
    private static let mark = Array("CBLinux".utf8)

    /// Creates the identifier of the device with an address.
    init(_ address: BluetoothAddress) {
        var bytes = (0..<6).map { UInt8(truncatingIfNeeded: address.value >> (40 - 8 * UInt64($0))) }
        bytes += [0x80, address.kind.rawValue, 0x80] + Self.mark
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// The address in this identifier; nil when it is not one of this library's.
    var bluetoothAddress: BluetoothAddress? {
        let bytes = withUnsafeBytes(of: uuid) { Array($0) }
        guard bytes[6] == 0x80, bytes[8] == 0x80, Array(bytes[9...]) == Self.mark,
            let kind = BluetoothAddress.Kind(rawValue: bytes[7])
        else { return nil }
        return BluetoothAddress(bytes[0..<6].reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
    }
}
