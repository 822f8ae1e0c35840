import BluetoothPrimitives
import Glibc

// Every call this package makes to the system is in this target, or in the files of LinuxKernel named SystemCalls.

/// Makes a call again while signals interrupt it; -1 becomes an error with the call's name and `errno`.
///
/// Public to be specialised where it is used: every packet goes through it.
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
        if number >= 0 { _ = Glibc.close(number) }
    }

    package var isOpen: Bool { number >= 0 }

    /// Closes it now. A signal that interrupts `close` has not kept Linux from closing.
    package mutating func close() {
        guard number >= 0 else { return }
        _ = Glibc.close(number)
        number = -1
    }

    /// Leaves it alone: somebody else has closed it, and the number may be another's by now.
    package mutating func forget() {
        number = -1
    }
}
