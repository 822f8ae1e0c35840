/// A weak reference, which changes only to nil.
package struct WeakReference<Object: AnyObject> {
    package weak let object: Object?

    package init(_ object: Object?) {
        self.object = object
    }
}

extension WeakReference: Sendable where Object: Sendable {}
