// The C library, in every file here and in every module above that imports this one.
#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif

// C library functions whose names are also those of methods here, under other names.

package func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t = 0) -> CInt { open(path, flags, mode) }

func systemRead(_ number: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int { read(number, buffer, count) }

package func systemWrite(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, buffer, count)
}

func systemClose(_ number: CInt) -> CInt { close(number) }

func systemRename(_ path: String, _ other: String) -> CInt { rename(path, other) }
