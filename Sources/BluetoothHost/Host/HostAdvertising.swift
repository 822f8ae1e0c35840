import BluetoothAdvertising

/// The state of an advertising set.
public enum AdvertisingState: Hashable, Sendable {
    /// The kernel has the set and sends it as far as links leave time.
    case advertising
    /// The set is paused for this reason; it resumes automatically.
    case waiting(BluetoothError)
    /// The set has ended for this reason: `.cancelled` when this program stopped it.
    case ended(BluetoothError)
}

/// The parameters of an advertising set that the host has chosen.
package struct AdvertisingSetParameters: Sendable {
    package var payloads = AdvertisingPayloads([])
    /// The transmit power in dBm, if one can be requested.
    package var transmitPower: Int?
    /// The host's instance number, as other tools show it; nil while there is none.
    package var instance: UInt8?

    package init() {}
}

/// An event of an advertising set.
package enum AdvertisingEvent {
    case parameters(AdvertisingSetParameters)
    /// The state changed; after ``AdvertisingState/ended(_:)`` only ``removed`` follows.
    case state(AdvertisingState)
    /// The last request was applied, or failed with this error.
    case applied(BluetoothError?)
    /// The host has removed the set.
    case removed
}

/// The advertising sets of this program on an adapter.
///
/// A declared set is sent until it is removed, as far as the adapter's absences and other programs allow; events report
/// its state.
// Lives on the loop, with the session.
package protocol HostAdvertising: AnyObject {
    /// Declares a set, in place of an earlier content of `id`; ``AdvertisingEvent/applied(_:)`` follows, or the end.
    func advertise(_ content: AdvertisementContent, _ options: AdvertisingOptions, as id: UInt64)

    /// Restores the content of `id` before a change that failed or was withdrawn.
    func revert(_ id: UInt64, to content: AdvertisementContent)

    /// Stops a set for this reason; ``AdvertisingEvent/removed`` follows.
    func stop(_ id: UInt64, _ reason: BluetoothError)

    /// Removes the sets of other programs and returns their number.
    nonisolated(nonsending) func removeForeign(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int

    /// The number of advertising sets, and of those in use; nil if they cannot be counted.
    nonisolated(nonsending) func capacity() async -> (count: Int, inUse: Int)?
}
