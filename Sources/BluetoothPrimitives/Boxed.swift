/// A value that rarely exists, kept apart from its owner, which has one word for it.
@propertyWrapper
public struct Boxed<Value> {
    @usableFromInline
    indirect enum Box {
        case value(Value)
    }

    @usableFromInline var box: Box?

    /// No value.
    @inlinable
    public init() {}

    /// The value, if there is one.
    @inlinable public var wrappedValue: Value? {
        get { if case .value(let value) = box { value } else { nil } }
        set { box = newValue.map { .value($0) } }
    }

    /// Whether there is a value; it is not looked at.
    @inlinable public var exists: Bool { if case .some = box { true } else { false } }

    /// The wrapper itself.
    @inlinable public var projectedValue: Self { self }
}

extension Boxed.Box: Sendable where Value: Sendable {}
extension Boxed: Sendable where Value: Sendable {}
