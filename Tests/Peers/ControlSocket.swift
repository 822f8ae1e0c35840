import Dispatch
import Glibc

/// The emulated radio's error for a command.
struct FixtureError: Error, CustomStringConvertible {
    var description: String
}

/// The emulated radio's control socket: one line per command, one line per answer.
final class ControlSocket: Sendable {
    private let descriptor: CInt
    // Commands block: on a queue of their own they delay no other task.
    private let queue = DispatchQueue(label: "band")

    /// Connects to the socket at `path`.
    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw FixtureError(description: "\(path) is too long for the address of a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw FixtureError(description: "no emulated radio answers at \(path): \(reason)")
        }
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    /// Sends a line; returns the rest of an answer that begins with `ok`.
    func ask(_ line: String) async throws -> String {
        let answer: String? = await withCheckedContinuation { continuation in
            queue.async { [self] in continuation.resume(returning: exchange(line)) }
        }
        guard let answer else { throw FixtureError(description: "\(line): the emulated radio does not answer") }
        guard answer == "ok" || answer.hasPrefix("ok ") else { throw FixtureError(description: "\(line): \(answer)") }
        return String(answer.dropFirst(3))
    }

    private func exchange(_ line: String) -> String? {
        let request = Array("\(line)\n".utf8)
        guard write(descriptor, request, request.count) == request.count else { return nil }
        var answer: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while answer.last != UInt8(ascii: "\n") {
            let count = read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            answer += block[..<count]
        }
        return String(decoding: answer.dropLast(), as: UTF8.self)
    }
}
