// In a file of its own: Testing's macros do not expand beside the C module.
import BluetoothPrimitives
import CBluetoothSockets

@testable import BluetoothLinux

/// The bytes of the structures passed to the kernel.
enum Layout {
    private static func bytes<Value: BitwiseCopyable>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    /// All bytes except the one that pads the structure to 14.
    static func l2cap(_ address: BluetoothAddress, _ channel: L2CAPChannel) -> [UInt8] {
        Array(bytes(sockaddr_l2(address, channel)).prefix(13))
    }

    static let management = bytes(sockaddr_hci(adapter: 0xFFFF, channel: HCI_CHANNEL_CONTROL))

    static func roundTrip(_ address: BluetoothAddress) -> BluetoothAddress {
        sockaddr_l2(address, .attribute).address
    }

    static let filterSize = MemoryLayout<hci_filter>.size
    static let deviceInformationSize = MemoryLayout<hci_dev_info>.size
}
