import BluetoothPrimitives

/// The number of an attribute on a server (Core Vol 3 Part F §3.2.2).
///
/// Attributes have handles from 0x0001 to 0xFFFF. The value 0x0000 can be held and sent too: it is reserved, and an
/// error that concerns no attribute carries it.
@frozen
public struct AttributeHandle: RawRepresentable, Comparable, Hashable, Sendable {
    /// The number on the air.
    public let rawValue: UInt16

    /// The handle with the number `rawValue`.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The handle with the number `rawValue`.
    @inlinable
    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// 0x0000, which is no attribute's handle.
    @inlinable public static var none: AttributeHandle { AttributeHandle(0x0000) }

    /// 0x0001, the smallest handle an attribute can have.
    @inlinable public static var first: AttributeHandle { AttributeHandle(0x0001) }

    /// 0xFFFF, the largest handle an attribute can have.
    @inlinable public static var last: AttributeHandle { AttributeHandle(0xFFFF) }

    /// Whether an attribute can have this handle: it is not 0x0000.
    @inlinable public var isValid: Bool { rawValue != 0 }

    /// The handle one above, or nil after 0xFFFF.
    @inlinable public var next: AttributeHandle? {
        rawValue == .max ? nil : AttributeHandle(rawValue &+ 1)
    }

    /// The handle one below, or nil where that would be no attribute's handle.
    @inlinable public var previous: AttributeHandle? {
        rawValue <= 1 ? nil : AttributeHandle(rawValue &- 1)
    }

    /// Orders by number.
    @inlinable
    public static func < (left: AttributeHandle, right: AttributeHandle) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
    /// The handle with that number: `0x0001`.
    @inlinable
    public init(integerLiteral value: UInt16) {
        self.init(value)
    }
}

extension AttributeHandle: CustomStringConvertible {
    /// Four hexadecimal digits: `0x002A`.
    public var description: String { "0x" + hexadecimal(rawValue, digits: 4) }
}

/// Two handles as a peer sent them, both included (Core Vol 3 Part F §3.4.3.1).
///
/// Unlike Swift's own ranges this one can hold a start above its end, because a peer can send that; such a range is
/// not valid and contains nothing.
@frozen
public struct AttributeHandleRange: Hashable, Sendable {
    /// The first handle.
    public var start: AttributeHandle
    /// The last handle, which belongs to the range.
    public var end: AttributeHandle

    /// The range from `start` to `end`, in whatever order they are.
    @inlinable
    public init(start: AttributeHandle, end: AttributeHandle) {
        self.start = start
        self.end = end
    }

    /// The range with the same ends.
    @inlinable
    public init(_ range: ClosedRange<AttributeHandle>) {
        self.init(start: range.lowerBound, end: range.upperBound)
    }

    /// Every handle an attribute can have: 0x0001 to 0xFFFF.
    @inlinable public static var all: AttributeHandleRange { AttributeHandleRange(start: .first, end: .last) }

    /// Whether a request may ask for this range: the start is not 0x0000 and not above the end.
    ///
    /// A server answers a request for any other range with ``ATTErrorCode/invalidHandle`` and the start handle.
    @inlinable public var isValid: Bool { start.isValid && start <= end }

    /// How many handles the range spans; none when the start is above the end.
    @inlinable public var count: Int {
        start <= end ? Int(end.rawValue) - Int(start.rawValue) + 1 : 0
    }

    /// Whether `handle` lies within.
    @inlinable
    public func contains(_ handle: AttributeHandle) -> Bool {
        start <= handle && handle <= end
    }

    /// The same two handles as a range of the standard library, or nil when the start is above the end.
    @inlinable public var closedRange: ClosedRange<AttributeHandle>? {
        start <= end ? start...end : nil
    }
}

extension AttributeHandleRange: CustomStringConvertible {
    /// Both handles: `0x0001-0xFFFF`.
    public var description: String { "\(start)-\(end)" }
}
