// The results with --json, and the files that `ble serve` reads.
@_exported import struct BluetoothJSON.JSONProblem
@_exported import enum BluetoothJSON.JSONValue

// The C library, in every file.
#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
