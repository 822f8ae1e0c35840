/// A weak reference, which changes only to nil.
package struct WeakReference<Object: AnyObject> {
    package weak let object: Object?

    package init(to object: Object?) {
        self.object = object
    }
}

extension WeakReference: Sendable where Object: Sendable {}
