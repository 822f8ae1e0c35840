import Glibc

/// The next bytes of a descriptor; empty at their end, or if there are none in time.
package func readDescriptor(_ descriptor: Int32, milliseconds: Int32 = 20_000) -> [UInt8] {
    var block = [UInt8](repeating: 0, count: 65_536)
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard Glibc.poll(&poll, 1, milliseconds) == 1 else { return [] }
    return Array(block[..<max(0, read(descriptor, &block, block.count))])
}

/// Up to `count` bytes of a descriptor; fewer at their end, or if they do not arrive in time.
package func readDescriptor(_ descriptor: Int32, count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
        let more = readDescriptor(descriptor)
        guard !more.isEmpty else { break }
        bytes += more
    }
    return bytes
}
