import Synchronization

/// The lines of standard input, which end in LF or CR LF, as they arrive. One task at a time may read.
public final class LineInput: Sendable {
    /// The maximum length of a line in bytes; a longer one is cut into several.
    private static let mostBytes = 1 << 20

    private let input = StandardInput()
    private let rest = Mutex<[UInt8]>([])

    /// Standard input.
    public init() {}

    /// The next line; nil at the end of the input, or if the task is cancelled. Bytes that are not UTF-8 are replaced.
    public func next() async -> String? {
        while true {
            if let line = rest.withLock({ Self.removeLine(from: &$0) }) { return String(decoding: line, as: UTF8.self) }
            guard let bytes = await input.next() else { break }
            rest.withLock { $0 += bytes }
        }
        guard !Task.isCancelled else { return nil }
        let last = rest.withLock { rest in
            defer { rest = [] }
            return rest
        }
        return last.isEmpty ? nil : String(decoding: last, as: UTF8.self)
    }

    private static func removeLine(from bytes: inout [UInt8]) -> [UInt8]? {
        if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[..<end]
            bytes.removeFirst(end + 1)
            return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
        guard bytes.count >= mostBytes else { return nil }
        defer { bytes = [] }
        return bytes
    }
}
