import BluetoothPrimitives

// This target and the files of LinuxKernel named SystemCalls contain all system calls of this package.

/// Repeats a call while signals interrupt it; -1 becomes an error with the call's name and `errno`.
///
/// Public for specialisation in other modules: every packet passes through it.
@inlinable
@inline(__always)
@discardableResult
public func check<Result: FixedWidthInteger & SignedInteger>(
    _ name: @autoclosure () -> String, _ call: () -> Result
) throws(KernelError) -> Result {
    while true {
        let result = call()
        guard result == -1 else { return result }
        let number = errno
        guard number == EINTR else { throw KernelError(name(), ErrorNumber(rawValue: number)) }
    }
}

/// A file descriptor that is closed with its owner.
package struct FileDescriptor: ~Copyable {
    package private(set) var number: CInt

    package init(_ number: CInt) {
        self.number = number
    }

    deinit {
        if number >= 0 { _ = systemClose(number) }
    }

    package var isOpen: Bool { number >= 0 }

    /// Closes the descriptor. Linux closes it even if a signal interrupts `close`.
    package mutating func close() {
        guard number >= 0 else { return }
        _ = systemClose(number)
        number = -1
    }

    /// The bytes up to the end of a file; no more are read once there are more than `limit`.
    package func readAll(limit: Int) throws(KernelError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while bytes.count <= limit {
            let count = try check("read") { systemRead(number, &chunk, chunk.count) }
            guard count > 0 else { break }
            bytes += chunk.prefix(count)
        }
        return bytes
    }

    /// Releases the descriptor without closing it, after other code has closed it: the number may be in use again.
    package mutating func relinquish() {
        number = -1
    }
}
