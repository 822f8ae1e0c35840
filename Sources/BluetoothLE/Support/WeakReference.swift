/// A reference that keeps nothing alive, for what reaches the loop later.
struct WeakReference<Object: AnyObject> {
    private(set) weak var object: Object?

    init(to object: Object) {
        self.object = object
    }
}

extension WeakReference: Sendable where Object: Sendable {}
