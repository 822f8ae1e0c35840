import Foundation

/// A value of any type behind a lock; access to a reference that leaves the lock is the caller's responsibility.
/// Unchecked, since the value is accessed between lock and unlock alone.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func callAsFunction<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    /// Returns a part of the value, which `make` makes on first use, outside the lock.
    func part<Part>(_ path: WritableKeyPath<Value, Part?>, orMake make: () -> Part) -> Part {
        if let part = self({ $0[keyPath: path] }) { return part }
        let made = make()
        return self { value in
            let part = value[keyPath: path] ?? made
            value[keyPath: path] = part
            return part
        }
    }

    /// Replaces a part of the value. The old part is released outside the lock: its deinitialiser may run code of the
    /// program that acquires the lock.
    func replace<Part>(_ path: WritableKeyPath<Value, Part>, with part: Part) {
        let former = self { value in
            defer { value[keyPath: path] = part }
            return value[keyPath: path]
        }
        withExtendedLifetime(former) {}
    }
}
