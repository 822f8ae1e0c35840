import BluetoothAdvertising

/// How an advertisement stands.
public enum AdvertisingState: Hashable, Sendable {
    /// The kernel has it, and sends it as far as links leave room.
    case advertising
    /// It is not sent for now, and why; it goes on by itself.
    case waiting(BluetoothError)
    /// It has ended for good, and why: `.cancelled` when this program stopped it.
    case ended(BluetoothError)
}

/// What is known of an advertisement that is sent.
package struct AdvertisingFacts: Sendable {
    package var payloads = AdvertisingPayloads([])
    /// The power it is sent with in dBm, where one can be asked for.
    package var transmitPower: Int?
    /// The host's number for it, as other tools show it; nil while it has none.
    package var instance: UInt8?

    package init() {}
}

/// What is told of an advertisement by a host.
package enum AdvertisingEvent {
    case facts(AdvertisingFacts)
    /// How it stands; nothing of it follows ``AdvertisingState/ended(_:)`` but ``removed``.
    case state(AdvertisingState)
    /// What was asked for last is carried out, or is not, and why.
    case settled(BluetoothError?)
    /// The host has nothing of it any more.
    case removed
}

/// What an adapter advertises for this program.
///
/// What is declared is sent until it is removed, as far as the adapter's absences and other programs allow; what becomes of
/// it is told.
//
// Lives on the loop, with the session.
package protocol HostAdvertising: AnyObject {
    /// Has `onEvent` called with what becomes of advertisements; a second call does nothing.
    func follow(_ onEvent: @escaping (_ id: UInt64, AdvertisingEvent) -> Void) throws(BluetoothError)

    /// Has this advertised, in place of what `id` said before; ``AdvertisingEvent/settled(_:)`` follows, or the end.
    func advertise(_ content: AdvertisementContent, _ options: AdvertisingOptions, as id: UInt64)

    /// Has `id` say again what it said before a change that was not made, or is not wanted any more.
    func revert(_ id: UInt64, to content: AdvertisementContent)

    /// Advertises this no more, for a reason that is known; ``AdvertisingEvent/removed`` follows.
    func stop(_ id: UInt64, _ reason: BluetoothError)

    /// Removes everything that is not this program's, and says how much there was.
    nonisolated(nonsending) func removeForeign(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int

    /// Waits until nothing is under way.
    nonisolated(nonsending) func finish() async

    /// The adapter is off, blocked or away: what does not wait for it ends.
    func adapterHasLeft(_ reason: BluetoothError)

    /// The adapter can be used again.
    func adapterIsBack()

    /// The adapter is closed: everything ends for this reason.
    func end(_ reason: BluetoothError)
}
