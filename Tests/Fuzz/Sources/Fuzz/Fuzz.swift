// For the programs' files, which have it from their own module.
@_exported import Glibc

/// A place where bytes from outside enter the library.
struct FuzzTarget: Sendable {
    /// Lower case with hyphens, such as "att-pdu".
    let name: String
    /// Traps if the bytes lead to something that must not be.
    let run: @Sendable (UnsafeRawBufferPointer) -> Void
}

/// The target that the variable FUZZ names.
private let chosen = getenv("FUZZ").flatMap { name in all.first { $0.name == String(cString: name) } }

/// Prints the names of the targets if none is chosen.
@_cdecl("LLVMFuzzerInitialize")
func initialize(_ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer) -> CInt {
    guard chosen == nil else { return 0 }
    for target in all { print(target.name) }
    exit(EX_USAGE)
}

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
    chosen?.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// Traps unless `condition` holds; the fuzzer keeps the input.
func require(
    _ condition: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { fatalError(message(), file: file, line: line) }
}

/// Traps because of something that must not be; the fuzzer keeps the input.
func fault(_ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) {
    fatalError(message(), file: file, line: line)
}
