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

/// An object passed from the caller's thread to the callback queue. Unchecked: it is one of Core Bluetooth's, whose
/// mutable state is locked.
struct UncheckedSendable<Object>: @unchecked Sendable {
    let object: Object

    init(_ object: Object) {
        self.object = object
    }
}

/// A weak reference. Unchecked for the reason of ``UncheckedSendable``; the reference itself changes only to nil, which the
/// runtime does atomically.
struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    weak let object: Object?

    init(_ object: Object?) {
        self.object = object
    }
}
