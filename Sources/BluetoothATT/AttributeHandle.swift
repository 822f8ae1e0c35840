import BluetoothPrimitives

/// The handle of an attribute on a server (Core Vol 3 Part F §3.2.2).
///
/// Attributes have handles from 0x0001 to 0xFFFF. The type also represents the reserved value 0x0000, which an error
/// that concerns no attribute carries.
@frozen
public struct AttributeHandle: RawRepresentable, Comparable, Hashable, Sendable {
    /// The handle as sent.
    public let rawValue: UInt16

    /// The handle with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The handle with the value `rawValue`.
    @inlinable
    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// 0x0000, the reserved handle.
    @inlinable package static var none: AttributeHandle { AttributeHandle(0x0000) }

    /// 0x0001, the smallest handle an attribute can have.
    @inlinable package static var first: AttributeHandle { AttributeHandle(0x0001) }

    /// 0xFFFF, the largest handle an attribute can have.
    @inlinable package static var last: AttributeHandle { AttributeHandle(0xFFFF) }

    /// Whether an attribute can have this handle: it is not 0x0000.
    @inlinable package var isValid: Bool { rawValue != 0 }

    /// The next handle, or nil after 0xFFFF.
    @inlinable package var next: AttributeHandle? {
        rawValue == .max ? nil : AttributeHandle(rawValue &+ 1)
    }

    /// The previous handle, or nil when there is no valid one.
    @inlinable package var previous: AttributeHandle? {
        rawValue <= 1 ? nil : AttributeHandle(rawValue &- 1)
    }

    /// Orders handles by value.
    @inlinable
    public static func < (left: AttributeHandle, right: AttributeHandle) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
    /// The handle with this value: `0x0001`.
    @inlinable
    public init(integerLiteral value: UInt16) {
        self.init(value)
    }
}

extension AttributeHandle: CustomStringConvertible {
    /// Four hexadecimal digits: `0x002A`.
    public var description: String { "0x" + hexadecimal(rawValue, digits: 4) }
}

/// A starting and an ending handle as a peer sent them, both included (Core Vol 3 Part F §3.4.3.1).
///
/// Unlike Swift's ranges, this one can have a start above its end, because a peer can send that; such a range is
/// invalid and empty.
@frozen
public struct AttributeHandleRange: Hashable, Sendable {
    /// The starting handle.
    public var start: AttributeHandle
    /// The ending handle, which belongs to the range.
    public var end: AttributeHandle

    /// The range from `start` to `end`; the start may be above the end.
    @inlinable
    public init(start: AttributeHandle, end: AttributeHandle) {
        self.start = start
        self.end = end
    }

    /// The range with the same bounds.
    @inlinable
    package init(_ range: ClosedRange<AttributeHandle>) {
        self.init(start: range.lowerBound, end: range.upperBound)
    }

    /// All valid handles: 0x0001 to 0xFFFF.
    @inlinable public static var all: AttributeHandleRange { AttributeHandleRange(start: .first, end: .last) }

    /// Whether the range is valid in a request: the start is not 0x0000 and not above the end.
    ///
    /// A server answers a request for an invalid range with ``ATTErrorCode/invalidHandle`` and the starting handle.
    @inlinable package var isValid: Bool { start.isValid && start <= end }

    /// The number of handles in the range; 0 when the start is above the end.
    @inlinable package var count: Int {
        start <= end ? Int(end.rawValue) - Int(start.rawValue) + 1 : 0
    }

    /// Whether the range contains `handle`.
    @inlinable
    public func contains(_ handle: AttributeHandle) -> Bool {
        start <= handle && handle <= end
    }

    /// The smallest range that contains both.
    package func joined(with other: AttributeHandleRange) -> AttributeHandleRange {
        AttributeHandleRange(start: min(start, other.start), end: max(end, other.end))
    }

    /// The range as a `ClosedRange`, or nil when the start is above the end.
    @inlinable package var closedRange: ClosedRange<AttributeHandle>? {
        start <= end ? start...end : nil
    }
}

extension AttributeHandleRange: CustomStringConvertible {
    /// Both handles: `0x0001-0xFFFF`.
    public var description: String { "\(start)-\(end)" }
}
