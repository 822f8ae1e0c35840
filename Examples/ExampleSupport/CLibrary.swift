// What the C library calls by a name that a method of ours has as well, under one that none has.

func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t = 0) -> CInt { open(path, flags, mode) }

func systemRead(_ number: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(number, buffer, count) }

func systemWrite(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int { write(number, buffer, count) }

func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ timeout: CInt) -> CInt {
    poll(descriptors, count, timeout)
}

/// The event of poll(2) when the peer of a socket has closed its side (`POLLRDHUP`, which needs `_GNU_SOURCE`).
let systemPeerClosed: Int16 = 0x2000

// Enumerations in one library's headers, numbers in the other's.
#if canImport(Glibc)
    let streamSocket = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let datagramSocket = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
#else
    let (streamSocket, datagramSocket) = (SOCK_STREAM | SOCK_CLOEXEC, SOCK_DGRAM | SOCK_CLOEXEC)
#endif

func systemSocket(_ family: CInt, _ kind: CInt) -> CInt { socket(family, kind, 0) }

func systemAccept(
    _ number: CInt, _ address: UnsafeMutablePointer<sockaddr>, _ length: UnsafeMutablePointer<socklen_t>
) -> CInt {
    accept(number, address, length)
}

func systemConnect(_ number: CInt, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> CInt {
    connect(number, address, length)
}

func systemSend(_ number: CInt, _ text: String, _ flags: CInt) -> Int { send(number, text, text.utf8.count, flags) }

/// Without SIGPIPE if the peer has left.
func systemSend(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    send(number, buffer, count, CInt(MSG_NOSIGNAL))
}

/// The number of the group with this name.
func systemGroup(named name: String) -> gid_t? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 65_536)
    guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0 else { return nil }
    return found?.pointee.gr_gid
}
