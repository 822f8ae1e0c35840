import BluetoothPrimitives
import Glibc
import Testing

@testable import BluetoothLinux

/// Binding an adapter's device again, on a made-up tree with the layout of sysfs. No chip has seen this.
@Suite struct AdapterDeviceTests {
    /// Runs `body` with the root of a tree that has a USB adapter hci0, a serial one hci1, and hci2 without a device.
    ///
    /// Without a shell, which would have the sockets of tests that run at the same time for a moment.
    private static func withTree(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/sysfsXXXXXX".utf8CString)
        let root = try #require(mkdtemp(&template).map { String(cString: $0) })
        var made = [root]
        defer { for path in made.reversed() { remove(path) } }
        func make(_ path: String, _ body: (String) -> CInt) throws {
            made.append("\(root)/\(path)")
            try #require(body(made[made.count - 1]) >= 0)
        }
        for folder in [
            "class", "class/bluetooth", "class/bluetooth/hci0", "class/bluetooth/hci1", "class/bluetooth/hci2",
            "devices",
            "devices/usb1", "devices/usb1/1-1.3:1.0", "devices/serial0", "devices/serial0/serial0-0", "bus", "bus/usb",
            "bus/usb/drivers", "bus/usb/drivers/btusb", "bus/serial", "bus/serial/drivers",
            "bus/serial/drivers/hci_uart_bcm",
        ] { try make(folder) { mkdir($0, 0o700) } }
        for (target, link) in [
            ("devices/usb1/1-1.3:1.0", "class/bluetooth/hci0/device"),
            ("devices/serial0/serial0-0", "class/bluetooth/hci1/device"),
            ("bus/usb/drivers/btusb", "devices/usb1/1-1.3:1.0/driver"),
            ("bus/serial/drivers/hci_uart_bcm", "devices/serial0/serial0-0/driver"),
        ] { try make(link) { symlink("../../../\(target)", $0) } }
        for file in ["usb/drivers/btusb/unbind", "usb/drivers/btusb/bind", "serial/drivers/hci_uart_bcm/unbind"] {
            try make("bus/\(file)") { close(creat($0, 0o600)) }
        }
        try body(root)
    }

    @Test func theInterfaceIsUnboundAndBound() throws {
        try Self.withTree { root in
            let device = try #require(AdapterDevice(ofAdapter: 0, in: root))
            #expect(device.name == "1-1.3:1.0")
            #expect(device.driver.hasSuffix("/bus/usb/drivers/btusb"))
            try device.rebind()
            for file in ["unbind", "bind"] { #expect(fileText("\(device.driver)/\(file)") == "1-1.3:1.0") }
        }
    }

    @Test func aDriverThatCannotBindIsAnError() throws {
        try Self.withTree { root in
            let device = try #require(AdapterDevice(ofAdapter: 1, in: root))
            let error = #expect(throws: KernelError.self) { try device.rebind() }
            #expect(error?.number == .noSuchFile)
            // Nothing was created.
            #expect(access("\(device.driver)/bind", F_OK) != 0)
        }
    }

    @Test(arguments: [2, 3] as [UInt16]) func anAdapterWithoutADeviceHasNone(_ index: UInt16) throws {
        try Self.withTree { root in #expect(AdapterDevice(ofAdapter: index, in: root) == nil) }
    }
}
