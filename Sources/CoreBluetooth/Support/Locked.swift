import Foundation

/// A value that several threads use in turn, of whatever type: what comes out of the lock is the caller's to keep in
/// order. Unchecked, since the value is touched between lock and unlock alone.
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

    /// Replaces a part of the value. What it was is released outside the lock: its end may run code of the program's that
    /// wants the lock.
    func replace<Part>(_ path: WritableKeyPath<Value, Part>, with part: Part) {
        let former = self { value in
            defer { value[keyPath: path] = part }
            return value[keyPath: path]
        }
        withExtendedLifetime(former) {}
    }
}

/// One of Apple's objects on its way from the caller's thread to the callback queue. Unchecked: they are not Sendable, as
/// they are not on Apple's systems, but what changes in them is locked.
struct Handed<Object>: @unchecked Sendable {
    let object: Object

    init(_ object: Object) {
        self.object = object
    }
}

/// One of Apple's objects that does not live on because of us. Unchecked for the reason of ``Handed``; the reference
/// itself never changes but to nil, which the runtime does atomically.
struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    weak let object: Object?

    init(_ object: Object?) {
        self.object = object
    }
}
