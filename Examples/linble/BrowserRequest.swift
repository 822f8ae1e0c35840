/// The first bytes of a web browser. A page on the web can make the browser of this machine send requests to 127.0.0.1.
enum BrowserRequest {
    /// How far bytes are the beginning of a request.
    enum Match {
        /// They are not.
        case none
        /// They may be: too few have arrived.
        case partial
        /// They are.
        case complete
    }

    /// The beginnings: a method of HTTP with a path or `*`, and the handshake of TLS, the length of which is any (nil).
    private static let beginnings: [[UInt8?]] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PRI"].flatMap { method in
            ["/", "*"].map { Array("\(method) \($0)".utf8) }
        } + [[0x16, 0x03, nil, nil, nil, 0x01]]

    /// Compares the first bytes of a client.
    static func match(_ bytes: [UInt8]) -> Match {
        let matches = beginnings.filter { zip($0, bytes).allSatisfy { $0 == nil || $0 == $1 } }
        if matches.contains(where: { $0.count <= bytes.count }) { return .complete }
        return matches.isEmpty ? .none : .partial
    }
}
