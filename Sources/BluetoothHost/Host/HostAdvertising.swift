import BluetoothAdvertising
import BluetoothPrimitives

/// The state of an advertising set. An open set: compare with ``advertising``, or ask for the reason.
public struct AdvertisingState: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case advertising
        case waiting(BluetoothError)
        case closed(BluetoothError)
    }

    package let kind: Kind

    /// The kernel has the set and sends it as far as links leave time.
    public static let advertising = AdvertisingState(kind: .advertising)
    package static func waiting(_ reason: BluetoothError) -> Self { Self(kind: .waiting(reason)) }
    package static func closed(_ reason: BluetoothError) -> Self { Self(kind: .closed(reason)) }

    /// The reason for which the set is paused, if it is; it resumes automatically.
    public var waiting: BluetoothError? { if case .waiting(let reason) = kind { reason } else { nil } }
    /// The reason for which the set has ended, if it has: `.cancelled` when this program closed it.
    public var closed: BluetoothError? { if case .closed(let reason) = kind { reason } else { nil } }
}

extension AdvertisingState: CustomStringConvertible {
    /// The state in words, with its reason.
    public var description: String {
        switch kind {
        case .advertising: "advertising"
        case .waiting(let reason): "waiting(\(reason))"
        case .closed(let reason): "closed(\(reason))"
        }
    }
}

/// The limits of an adapter's advertising sets.
package struct AdvertisingLimits: Sendable {
    /// The maximum lengths of the data in bytes, in the format with more room.
    package var advertisingData = AdvertisementDataBuilder.legacyCapacity
    package var scanResponse = AdvertisementDataBuilder.legacyCapacity
    /// Whether a transmit power can be requested.
    package var canSetTransmitPower = false
    /// Whether the data can include the transmit power.
    package var canIncludeTransmitPower = false
    /// The PHYs of the extended format; empty if the adapter has only the legacy one.
    package var phys: LEPHYSet = []
    /// The number of sets, and of those in use.
    package var count = 1
    package var countInUse = 0

    package init() {}
}

/// A request for an advertising set, arranged for the limits of the adapter.
package struct AdvertisingRequest: Hashable, Sendable {
    /// The data, to which the host adds the flags and the transmit power.
    package let payloads: AdvertisingPayloads
    package let discoverability: AdvertisementContent.Discoverability
    package let includesTransmitPower: Bool
    /// The parameters, within the specification's ranges.
    package let options: AdvertisingOptions

    package init(_ payloads: AdvertisingPayloads, of content: AdvertisementContent, _ options: AdvertisingOptions) {
        (self.payloads, self.options) = (payloads, options)
        (discoverability, includesTransmitPower) = (content.discoverability, content.includesTransmitPower)
    }
}

/// An event of an advertising set.
package enum AdvertisingEvent: Hashable {
    /// The host's instance number, as other tools show it, nil while there is none; and the transmit power in dBm that
    /// the controller uses.
    case parameters(instance: UInt8?, transmitPower: Int?)
    /// The state changed; after ``AdvertisingState/ended`` only ``removed`` follows.
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
    /// The limits of the adapter's sets, which it keeps, and the number of those in use.
    nonisolated(nonsending) func limits(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdvertisingLimits

    /// Declares a set, in place of an earlier request for `id`; ``AdvertisingEvent/applied(_:)`` follows, or the end.
    func advertise(_ request: AdvertisingRequest, as id: UInt64)

    /// Stops a set for this reason; ``AdvertisingEvent/removed`` follows.
    func stop(_ id: UInt64, _ reason: BluetoothError)

    /// Removes the sets of other programs and returns their number.
    nonisolated(nonsending) func removeForeign() async throws(BluetoothError) -> Int
}
