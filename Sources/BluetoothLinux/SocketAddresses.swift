import BluetoothSystem
import BluetoothSockets
import BluetoothPrimitives
import CBluetoothSockets

extension sockaddr_hci {
    init(adapter: UInt16, channel: CInt) {
        self.init(
            hci_family: sa_family_t(AF_BLUETOOTH), hci_dev: adapter, hci_channel: UInt16(truncatingIfNeeded: channel))
    }
}

extension sockaddr_l2 {
    /// A channel at an address. Zero means any local adapter and counts as public, since the kernel distinguishes LE
    /// from BR/EDR by the address type.
    init(_ address: BluetoothAddress, _ channel: L2CAPChannel) {
        self.init()
        l2_family = sa_family_t(AF_BLUETOOTH)
        l2_bdaddr = bdaddr_t(address)
        l2_bdaddr_type = UInt8(address.kind == .random ? BDADDR_LE_RANDOM : BDADDR_LE_PUBLIC)
        switch channel {
        case .fixed(let identifier): l2_cid = identifier.littleEndian
        case .dynamic(let psm): l2_psm = psm.littleEndian
        }
    }

    /// The device's address.
    var address: BluetoothAddress {
        BluetoothAddress(l2_bdaddr, kind: CInt(l2_bdaddr_type) == BDADDR_LE_RANDOM ? .random : .public)
    }

    var psm: UInt16 { UInt16(littleEndian: l2_psm) }
}

extension bdaddr_t {
    init(_ address: BluetoothAddress) {
        self.init()
        withUnsafeMutableBytes(of: &self) { bytes in
            withUnsafeBytes(of: address.value.littleEndian) { bytes.copyBytes(from: $0.prefix(bytes.count)) }
        }
    }
}

extension BluetoothAddress {
    init(_ bytes: bdaddr_t, kind: Kind) {
        var value: UInt64 = 0
        withUnsafeMutableBytes(of: &value) { value in
            withUnsafeBytes(of: bytes) { value.copyMemory(from: $0) }
        }
        self.init(UInt64(littleEndian: value), kind: kind)
    }
}
