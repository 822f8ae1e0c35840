import BluetoothATT
import BluetoothPrimitives

/// Where the peer's server indicates that its attributes have changed (Core Vol 3 Part G §7.1).
package struct RemoteServiceChanged: Sendable {
    /// The handle of the characteristic's value; nil until it is discovered.
    package var handle: AttributeHandle?
    /// The attributes that were indicated before it was.
    private var earlyIndications: Set<AttributeHandle> = []
    private static let limit = 16

    /// Nothing is known.
    package init() {}

    /// Receives an indication; returns what has changed when it is the one that says so.
    ///
    /// A range that makes no sense stands for everything.
    package mutating func receiveIndication(of handle: AttributeHandle, _ value: RawSpan) -> AttributeHandleRange? {
        guard let known = self.handle else {
            if earlyIndications.count < Self.limit { earlyIndications.insert(handle) }
            return nil
        }
        guard handle == known else { return nil }
        var reader = ByteReader(value)
        let start = AttributeHandle((try? reader.readUInt16()) ?? 0)
        let range = AttributeHandleRange(start: start, end: AttributeHandle((try? reader.readUInt16()) ?? 0))
        return range.isValid ? range : .all
    }

    /// Whether the peer may have indicated a change at `handle` before it was known that it does so there.
    package func mayHaveMissed(_ handle: AttributeHandle?) -> Bool {
        earlyIndications.count >= Self.limit || handle.map(earlyIndications.contains) ?? false
    }
}
