import BluetoothPrimitives

/// The payloads of the monitor channel's packets about adapters and programs, for writers of captures.
public enum MonitorPayload {
    /// A new adapter; LE controllers count as primary, and `name` is truncated to seven bytes.
    public static func newIndex(address: BluetoothAddress, name: String) -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        let primary: UInt8 = 0
        let usb: UInt8 = 1
        // The capacity suffices for all fields.
        try? writer.write([primary, usb])
        try? writer.write(address)
        try? writer.write(Array(name.utf8.prefix(7)))
        try? writer.writeZeros(writer.remaining)
        return writer.bytes
    }

    /// The address and manufacturer of an adapter.
    public static func indexInformation(address: BluetoothAddress, manufacturer: CompanyIdentifier) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        try? writer.write(address)
        try? writer.write(manufacturer.rawValue)
        return writer.bytes
    }

    /// A note about the system, zero-terminated text.
    public static func systemNote(_ text: String) -> [UInt8] {
        Array(text.utf8.filter { $0 != 0 }.prefix(1000)) + [0]
    }

    /// A management socket opened by a program; its later packets begin with `cookie`.
    public static func controlOpened(
        cookie: UInt32, version: UInt8, revision: UInt16, isTrusted: Bool, program: String
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        let management: UInt16 = 2
        let name = Array(program.utf8.prefix(16))
        try? writer.write(cookie)
        try? writer.write(management)
        try? writer.write(version)
        try? writer.write(revision)
        try? writer.write(isTrusted ? 1 : 0 as UInt32)
        try? writer.write(UInt8(truncatingIfNeeded: name.count))
        try? writer.write(name)
        return writer.bytes
    }

    /// A management socket closed by a program.
    public static func controlClosed(cookie: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: 4)
        try? writer.write(cookie)
        return writer.bytes
    }

    /// A management command or event in a capture: the socket's cookie, the code and the parameters.
    public static func control(cookie: UInt32, code: UInt16, parameters: RawSpan) -> [UInt8] {
        var writer = ByteWriter(capacity: 6 + parameters.byteCount)
        try? writer.write(cookie)
        try? writer.write(code)
        try? writer.write(parameters)
        return writer.bytes
    }
}
