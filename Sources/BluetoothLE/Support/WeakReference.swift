/// A weak reference, for closures that reach the loop later.
struct WeakReference<Object: AnyObject> {
    private(set) weak var object: Object?

    init(to object: Object) {
        self.object = object
    }
}

extension WeakReference: Sendable where Object: Sendable {}
