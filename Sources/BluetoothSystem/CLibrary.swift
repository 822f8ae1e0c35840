#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// What the C library calls by a name that a method of ours has as well, under one that none has.

func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t = 0) -> CInt { open(path, flags, mode) }

func systemRead(_ number: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(number, buffer, count) }

func systemWrite(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int { write(number, buffer, count) }

func systemClose(_ number: CInt) -> CInt { close(number) }

func systemRename(_ path: String, _ other: String) -> CInt { rename(path, other) }
