import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import CBluetoothSockets

// Capability numbers of linux/capability.h.
private let netAdmin: UInt64 = 12
private let netRaw: UInt64 = 13

extension HostEnvironment {
    /// The current environment, read from the system.
    static func current() -> HostEnvironment {
        let capabilities = effectiveCapabilities(status: fileText("/proc/self/status") ?? "")
        return HostEnvironment(
            socketError: socketError(),
            hasNetRaw: capabilities & 1 << netRaw != 0,
            hasNetAdmin: capabilities & 1 << netAdmin != 0,
            executablePath: linkTarget("/proc/self/exe"),
            isBluetoothDaemonRunning: isProcessRunning("bluetoothd"),
            radioSwitches: radioSwitches(in: "/sys/class/rfkill"),
            kernelRelease: systemRelease(),
            isSecureExecution: SystemFiles.isSecureExecution)
    }

    /// The error of opening a Bluetooth socket; nil if that works. Opening loads modules that are installed but not
    /// loaded.
    private static func socketError() -> KernelError? {
        do throws(KernelError) {
            _ = try FileDescriptor.hci()
            _ = try FileDescriptor.l2cap()
            return nil
        } catch {
            return error
        }
    }

    /// The effective capabilities in `/proc/PID/status` (`CapEff:`); none if the line is missing.
    static func effectiveCapabilities(status: String) -> UInt64 {
        for line in status.split(separator: "\n") {
            let words = line.split { $0 == "\t" || $0 == " " }
            if words.count == 2, words[0] == "CapEff:" { return UInt64(words[1], radix: 16) ?? 0 }
        }
        return 0
    }

    /// The names in a folder; none when it cannot be read.
    private static func entries(of folder: String) -> [String] {
        (try? SystemFiles.names(in: folder)) ?? []
    }

    private static func isProcessRunning(_ name: String) -> Bool {
        entries(of: "/proc").contains { entry in
            entry.first?.isNumber == true && fileText("/proc/\(entry)/comm", limit: 64) == "\(name)\n"
        }
    }

    /// The radio switches of Bluetooth adapters in a folder with the layout of `/sys/class/rfkill`.
    static func radioSwitches(in folder: String) -> [RadioSwitch] {
        entries(of: folder).sorted().compactMap { entry in
            func value(_ file: String) -> String? {
                fileText("\(folder)/\(entry)/\(file)", limit: 256)?.split(separator: "\n").first.map(String.init)
            }
            guard value("type") == "bluetooth", let name = value("name") else { return nil }
            return RadioSwitch(name: name, isSoftBlocked: value("soft") == "1", isHardBlocked: value("hard") == "1")
        }
    }
}

extension KernelAdapter {
    /// The number of adapters, or links, requested; Linux lists as many as fit.
    private static let listCapacity: UInt16 = 256

    /// The handles of an adapter's links, listed by `HCIGETCONNLIST`.
    static func linkHandles(of index: UInt16) throws(KernelError) -> [UInt16] {
        // The adapter's index and the count in two bytes each, and for each link its handle, its address, one byte each
        // for its type and direction, its state and two unused bytes, and four bytes of its mode.
        var list = [UInt8](repeating: 0, count: 4 + 16 * Int(listCapacity))
        (list[0], list[1], list[2], list[3]) = (
            index.lowByte, index.highByte, listCapacity.lowByte, listCapacity.highByte
        )
        try FileDescriptor.hci().connectionList(&list)
        return numbers(in: list.span.bytes.extracting(4...), count: Int(list[2]) | Int(list[3]) << 8, every: 16)
    }

    /// The adapters listed by `HCIGETDEVLIST` and `HCIGETDEVINFO`, lowest index first.
    static func current() throws(KernelError) -> [KernelAdapter] {
        let descriptor = try FileDescriptor.hci()
        var adapters: [KernelAdapter] = []
        for index in try indexes(from: descriptor).sorted() {
            let information: hci_dev_info
            do throws(KernelError) {
                information = try descriptor.adapterInformation(index)
            } catch  where error.number == .noSuchDevice {
                continue  // Unplugged since it was listed.
            }
            // Bits 4 and 5 are the type of controller; only primary ones are adapters.
            guard information.type >> 4 & 0b11 == 0 else { continue }
            adapters.append(
                KernelAdapter(
                    index: index, address: BluetoothAddress(information.bdaddr, kind: .public),
                    isUp: information.flags & 1 << UInt32(HCI_UP) != 0))
        }
        return adapters
    }

    private static func indexes(from descriptor: borrowing FileDescriptor) throws(KernelError) -> [UInt16] {
        // The count in two bytes, two unused bytes, and for each adapter its index, two unused bytes and its flags.
        var list = [UInt8](repeating: 0, count: 4 + 8 * Int(listCapacity))
        (list[0], list[1]) = (listCapacity.lowByte, listCapacity.highByte)
        try descriptor.adapterList(&list)
        return numbers(in: list.span.bytes.extracting(4...), count: Int(list[0]) | Int(list[1]) << 8, every: 8)
    }

    /// The numbers of two bytes at the beginning of each entry of a list that the kernel has filled.
    private static func numbers(in entries: RawSpan, count: Int, every size: Int) -> [UInt16] {
        var numbers: [UInt16] = []
        var reader = ByteReader(entries)
        do throws(TruncatedBytes) {
            for _ in 0..<count {
                numbers.append(try reader.readUInt16())
                try reader.skip(size - 2)
            }
        } catch {
            // The kernel returns at most as many as there was room for.
        }
        return numbers
    }
}

extension UInt16 {
    fileprivate var lowByte: UInt8 { UInt8(truncatingIfNeeded: self) }
    fileprivate var highByte: UInt8 { UInt8(truncatingIfNeeded: self >> 8) }
}
