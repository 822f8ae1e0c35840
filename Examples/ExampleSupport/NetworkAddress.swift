/// An IP address and a TCP port: `127.0.0.1:4000`, `[::1]:4000`.
public struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the IP address: 4 or 16.
    public let address: [UInt8]
    /// The port; 0 to let the kernel choose one.
    public let port: UInt16

    /// Parses `ADDRESS:PORT`, or `PORT` or `:PORT` on 127.0.0.1; nil if it is invalid.
    ///
    /// The address is `localhost` or numeric, an IPv6 address in brackets: names are not resolved.
    public init?(_ text: String) {
        let end = text.lastIndex(of: ":")
        var host = end.map { String(text[..<$0]) } ?? ""
        let digits = end.map { text[text.index(after: $0)...] } ?? text[...]
        // No sign, which the initialiser of integers accepts.
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else { return nil }
        if host.isEmpty || host == "localhost" { host = "127.0.0.1" }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = String(host.dropFirst().dropLast()) }
        var bytes = [UInt8](repeating: 0, count: isBracketed ? 16 : 4)
        guard inet_pton(isBracketed ? AF_INET6 : AF_INET, host, &bytes) == 1 else { return nil }
        (address, self.port) = (bytes, port)
    }

    /// The address in a socket address; nil for another family.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch CInt(storage.ss_family) {
        case AF_INET:
            let inner = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self) }
            address = withUnsafeBytes(of: inner.sin_addr) { Array($0) }
            port = UInt16(bigEndian: inner.sin_port)
        case AF_INET6:
            let inner = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
            address = withUnsafeBytes(of: inner.sin6_addr) { Array($0) }
            port = UInt16(bigEndian: inner.sin6_port)
        default: return nil
        }
    }

    var family: CInt { address.count == 4 ? AF_INET : AF_INET6 }

    /// Whether only programs on this machine reach it: 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        address.count == 4 ? address[0] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address.last == 1
    }

    /// The notation.
    public var description: String {
        var text = [CChar](repeating: 0, count: 64)
        _ = inet_ntop(family, address, &text, socklen_t(text.count))
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return address.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)"
    }

    /// Calls `body` with the socket address.
    func withSocketAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        func call<Address>(_ address: Address) -> CInt {
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        if address.count == 4 {
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            own.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &own.sin_addr) { $0.copyBytes(from: address) }
            return call(own)
        }
        var own = sockaddr_in6()
        own.sin6_family = sa_family_t(AF_INET6)
        own.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &own.sin6_addr) { $0.copyBytes(from: address) }
        return call(own)
    }
}
