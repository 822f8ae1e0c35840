import BluetoothATT
import BluetoothPrimitives

/// The Service Changed characteristic of the peer's server (Core Vol 3 Part G §7.1).
package struct RemoteServiceChanged: Sendable {
    /// The handle of the characteristic's value; nil until it is discovered.
    package var handle: AttributeHandle?
    /// The attributes indicated before the characteristic was discovered.
    private var earlyIndications: Set<AttributeHandle> = []
    private static let limit = 16

    /// An undiscovered characteristic.
    package init() {}

    /// Processes an indication; returns the changed range when it is of this characteristic.
    ///
    /// An invalid range means that all attributes may have changed.
    package mutating func receiveIndication(of handle: AttributeHandle, _ value: RawSpan) -> AttributeHandleRange? {
        guard let known = self.handle else {
            if earlyIndications.count < Self.limit { earlyIndications.insert(handle) }
            return nil
        }
        guard handle == known else { return nil }
        var reader = ByteReader(value)
        guard let range = try? reader.readHandleRange(), range.isValid else { return .all }
        return range
    }

    /// Whether the peer may have indicated a change at `handle` before the characteristic was discovered.
    package func mayHaveMissed(_ handle: AttributeHandle?) -> Bool {
        earlyIndications.count >= Self.limit || handle.map(earlyIndications.contains) ?? false
    }
}
