import BluetoothPrimitives
import BluetoothSystem

/// The device below an adapter in sysfs: the interface of a USB adapter, or the serial device of a built-in one.
struct AdapterDevice: Hashable {
    /// Its name on its bus, such as `1-1.3:1.0`.
    let name: String
    /// The folder of its driver.
    let driver: String

    /// The device of hciN; nil if it has none, as a virtual adapter, or no driver.
    /// - Parameter root: the folder of sysfs.
    init?(ofAdapter index: UInt16, in root: String = "/sys") {
        guard let device = resolvedPath("\(root)/class/bluetooth/hci\(index)/device"),
            let slash = device.lastIndex(of: "/"), let driver = resolvedPath("\(device)/driver")
        else { return nil }
        name = String(device[device.index(after: slash)...])
        self.driver = driver
    }

    /// Unbinds the device from its driver, and binds it again, whether or not the adapter has disappeared meanwhile.
    func rebind() throws(KernelError) {
        try write(to: "unbind")
        try write(to: "bind")
    }

    private func write(to file: String) throws(KernelError) {
        let path = "\(driver)/\(file)"
        // Without O_CREAT: a driver that cannot be unbound has no such file.
        let descriptor = FileDescriptor(try check("open \(file)") { systemOpen(path, O_WRONLY | O_CLOEXEC) })
        let bytes = Array(name.utf8)
        try check(file) { systemWrite(descriptor.number, bytes, bytes.count) }
    }
}
