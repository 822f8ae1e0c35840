import BluetoothPrimitives

/// The payloads of what the monitor channel tells about adapters and programs, for those who make a capture themselves.
public enum MonitorPayload {
    /// An adapter is there: LE controllers count as primary; `name` is cut to seven bytes.
    public static func newIndex(address: BluetoothAddress, name: String) -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        let primary: UInt8 = 0
        let usb: UInt8 = 1
        // All of it fits.
        try? writer.write([primary, usb])
        try? writer.write(address)
        try? writer.write(Array(name.utf8.prefix(7)))
        try? writer.writeZeros(writer.remaining)
        return writer.bytes
    }

    /// An adapter's address and manufacturer.
    public static func indexInformation(address: BluetoothAddress, manufacturer: CompanyIdentifier) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        try? writer.write(address)
        try? writer.write(manufacturer.rawValue)
        return writer.bytes
    }

    /// A line of text about the system, which ends with a zero.
    public static func systemNote(_ text: String) -> [UInt8] {
        Array(text.utf8.filter { $0 != 0 }.prefix(1000)) + [0]
    }

    /// A program opened a management socket; `cookie` is what its later packets begin with.
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

    /// A program closed its socket.
    public static func controlClosed(cookie: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: 4)
        try? writer.write(cookie)
        return writer.bytes
    }

    /// A management command or event as captures have it: the socket's cookie, its code and its parameters.
    public static func control(cookie: UInt32, code: UInt16, parameters: RawSpan) -> [UInt8] {
        var writer = ByteWriter(capacity: 6 + parameters.byteCount)
        try? writer.write(cookie)
        try? writer.write(code)
        try? writer.write(parameters)
        return writer.bytes
    }
}
