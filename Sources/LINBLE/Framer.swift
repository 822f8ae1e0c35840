import BluetoothPrimitives

/// An error in the framing of a byte stream, or of a frame to send. An open set: switch with a default.
public struct FramingError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case notFramable
        case frameTooLong(length: Int, maximum: Int)
        case invalidLength(Int)
        case overflow(capacity: Int)
    }

    package let kind: Kind

    /// A frame is longer than the framer's maximum; the framer skips it.
    public static func frameTooLong(length: Int, maximum: Int) -> Self {
        Self(kind: .frameTooLong(length: length, maximum: maximum))
    }
    /// A length field has an impossible value; the framer continues after the field.
    public static func invalidLength(_ length: Int) -> Self { Self(kind: .invalidLength(length)) }
    /// A frame to send contains the delimiter, or does not have the fixed length.
    public static let notFramable = Self(kind: .notFramable)
    /// More bytes were appended than the framer holds, without removing frames; they were discarded.
    public static func overflow(capacity: Int) -> Self { Self(kind: .overflow(capacity: capacity)) }

    /// The least length of the frame that is too long, and the framer's maximum; nil for other errors.
    public var frameTooLong: (length: Int, maximum: Int)? {
        if case .frameTooLong(let length, let maximum) = kind { (length, maximum) } else { nil }
    }
    /// The impossible value of the length field; nil for other errors.
    public var invalidLength: Int? { if case .invalidLength(let length) = kind { length } else { nil } }
    /// The number of bytes that the framer holds, which were exceeded; nil for other errors.
    public var overflow: Int? { if case .overflow(let capacity) = kind { capacity } else { nil } }

    /// The problem, with its numbers.
    public var description: String {
        switch kind {
        case .frameTooLong(let length, let maximum): "a frame of \(length) bytes or more, where \(maximum) are allowed"
        case .invalidLength(let length): "a length field of \(length)"
        case .notFramable: "this framing cannot express the frame"
        case .overflow(let capacity): "more than \(capacity) bytes without removing frames"
        }
    }
}

/// A parser that finds the frames in a byte stream of arbitrary pieces.
///
/// Append each piece, then call ``next()`` until it returns nil. A framer holds a bounded number of bytes. An error has
/// already skipped the offending bytes, so ``next()`` may be called again.
public protocol Framer: Sendable {
    /// Appends a piece of the stream.
    ///
    /// Throws ``FramingError/overflow(capacity:)``, discarding the piece, when frames are not removed.
    mutating func append(_ bytes: [UInt8]) throws(FramingError)

    /// Removes and returns the next whole frame, without its length field or delimiter; nil if there is none yet.
    mutating func next() throws(FramingError) -> [UInt8]?

    /// The bytes that encode `frame`.
    func encode(_ frame: [UInt8]) throws(FramingError) -> [UInt8]

    /// Discards an unfinished frame.
    mutating func reset()
}

/// The minimum capacity of every framer, so that one piece always fits however short the frames are.
private let minimumCapacity = 65_536

extension ByteQueue {
    fileprivate mutating func append(_ bytes: [UInt8], forFramesUpTo length: Int) throws(FramingError) {
        let capacity = max(minimumCapacity, length > Int.max / 2 ? length : 2 * length)
        guard bytes.count <= capacity - count else { throw .overflow(capacity: capacity) }
        append(bytes)
    }
}

/// A framer for frames that begin with their length.
public struct LengthPrefixFramer: Framer {
    /// The width of the length field in bytes.
    public enum Width: Int, Hashable, Sendable {
        /// 1 to 255.
        case one = 1
        /// Up to 65 535.
        case two = 2
        /// Up to 4 294 967 295.
        case four = 4
    }

    /// The width of the length field.
    public let width: Width
    /// Whether the field's least significant byte comes first.
    public let isLittleEndian: Bool
    /// Whether the length includes the field itself.
    public let countsItself: Bool
    /// The minimum length of a frame; a length field below it is an error.
    public let minimumFrameLength: Int
    /// The maximum length of a frame.
    public let maximumFrameLength: Int

    private var queue = ByteQueue()
    private var toSkip = 0

    /// Creates a framer for the given kind of length field.
    public init(
        width: Width, isLittleEndian: Bool = false, countsItself: Bool = false, minimumFrameLength: Int = 0,
        maximumFrameLength: Int = 65_536
    ) {
        self.width = width
        self.isLittleEndian = isLittleEndian
        self.countsItself = countsItself
        self.minimumFrameLength = max(0, minimumFrameLength)
        self.maximumFrameLength = max(0, maximumFrameLength)
    }

    private var overhead: Int { countsItself ? width.rawValue : 0 }

    /// Appends a piece of the stream.
    public mutating func append(_ bytes: [UInt8]) throws(FramingError) {
        let skipped = min(toSkip, bytes.count)
        try queue.append(skipped == 0 ? bytes : Array(bytes.dropFirst(skipped)), forFramesUpTo: maximumFrameLength)
        toSkip -= skipped
    }

    /// Removes and returns the next whole frame; nil if there is none yet.
    public mutating func next() throws(FramingError) -> [UInt8]? {
        guard queue.count >= width.rawValue else { return nil }
        var field: UInt32 = 0
        for offset in 0..<width.rawValue {
            field = field << 8 | UInt32(queue[isLittleEndian ? width.rawValue - 1 - offset : offset])
        }
        let length = Int(field) - overhead
        guard length >= minimumFrameLength else {
            queue.drop(width.rawValue)
            throw .invalidLength(Int(field))
        }
        guard length <= maximumFrameLength else {
            queue.drop(width.rawValue)
            let present = min(length, queue.count)
            queue.drop(present)
            toSkip = length - present
            throw .frameTooLong(length: length, maximum: maximumFrameLength)
        }
        guard queue.count >= width.rawValue + length else { return nil }
        queue.drop(width.rawValue)
        return queue.removeFirst(length)
    }

    /// The length field, then `frame`.
    public func encode(_ frame: [UInt8]) throws(FramingError) -> [UInt8] {
        let limit = width == .four ? Int(UInt32.max) : 1 << (8 * width.rawValue) - 1
        let maximum = min(maximumFrameLength, limit - overhead)
        guard frame.count <= maximum else { throw .frameTooLong(length: frame.count, maximum: maximum) }
        guard frame.count >= minimumFrameLength else { throw .invalidLength(frame.count) }
        let field = frame.count + overhead
        var bytes = (0..<width.rawValue).map { UInt8(truncatingIfNeeded: field >> (8 * $0)) }
        if !isLittleEndian { bytes.reverse() }
        return bytes + frame
    }

    /// Discards an unfinished frame.
    public mutating func reset() {
        queue.removeAll()
        toSkip = 0
    }
}

/// A framer for frames that end with a delimiter, such as lines.
public struct DelimiterFramer: Framer {
    /// The delimiter; never empty.
    public let delimiter: [UInt8]
    /// The maximum length of a frame.
    public let maximumFrameLength: Int

    private var queue = ByteQueue()
    /// The number of bytes at the front of the queue that were searched for the delimiter.
    private var searched = 0
    /// Whether a frame above the maximum length is being skipped.
    private var isSkipping = false

    /// Creates a framer for frames that end with `delimiter`; an empty one is replaced by a line feed.
    public init(delimiter: [UInt8] = [0x0A], maximumFrameLength: Int = 4096) {
        self.delimiter = delimiter.isEmpty ? [0x0A] : delimiter
        self.maximumFrameLength = max(0, maximumFrameLength)
    }

    /// Appends a piece of the stream.
    public mutating func append(_ bytes: [UInt8]) throws(FramingError) {
        try queue.append(bytes, forFramesUpTo: maximumFrameLength)
    }

    /// Removes and returns the next whole frame; nil if there is none yet.
    public mutating func next() throws(FramingError) -> [UInt8]? {
        while true {
            let end = queue.firstOffset(of: delimiter, from: searched)
            searched = end ?? max(searched, queue.count - delimiter.count + 1)
            if isSkipping {
                queue.drop(end.map { $0 + delimiter.count } ?? searched)
                searched = 0
                guard end != nil else { return nil }
                isSkipping = false
                continue
            }
            // At least `searched` bytes belong to the frame, whether it is complete or not.
            guard searched <= maximumFrameLength else {
                let length = searched
                isSkipping = true
                throw .frameTooLong(length: length, maximum: maximumFrameLength)
            }
            guard let end else { return nil }
            let frame = queue.removeFirst(end)
            queue.drop(delimiter.count)
            searched = 0
            return frame
        }
    }

    /// `frame`, then the delimiter.
    public func encode(_ frame: [UInt8]) throws(FramingError) -> [UInt8] {
        guard frame.count <= maximumFrameLength else {
            throw .frameTooLong(length: frame.count, maximum: maximumFrameLength)
        }
        var whole = ByteQueue()
        whole.append(frame + delimiter)
        guard whole.firstOffset(of: delimiter, from: 0) == frame.count else { throw .notFramable }
        return frame + delimiter
    }

    /// Discards an unfinished frame.
    public mutating func reset() {
        queue.removeAll()
        searched = 0
        isSkipping = false
    }
}

/// A framer for frames of the same length.
public struct FixedLengthFramer: Framer {
    /// The length of a frame in bytes; at least one.
    public let frameLength: Int
    private var queue = ByteQueue()

    /// Creates a framer for frames of `frameLength` bytes; values below one count as one.
    public init(frameLength: Int) {
        self.frameLength = max(1, frameLength)
    }

    /// Appends a piece of the stream.
    public mutating func append(_ bytes: [UInt8]) throws(FramingError) {
        try queue.append(bytes, forFramesUpTo: frameLength)
    }

    /// Removes and returns the next whole frame; nil if there is none yet.
    public mutating func next() throws(FramingError) -> [UInt8]? {
        queue.count >= frameLength ? queue.removeFirst(frameLength) : nil
    }

    /// `frame`, unchanged.
    public func encode(_ frame: [UInt8]) throws(FramingError) -> [UInt8] {
        guard frame.count == frameLength else { throw .notFramable }
        return frame
    }

    /// Discards an unfinished frame.
    public mutating func reset() {
        queue.removeAll()
    }
}
