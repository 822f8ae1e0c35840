import Advertising

/// What is told of advertising by a host.
package enum AdvertisingEvent {
    /// An instance is there no more. Powering off does that, before the adapter is off, and so do other programs.
    case removed(instance: UInt8)
    /// A device has made a link. Which advertisement it has answered is not told.
    case connectedByPeer
    case linkEnded
}

/// The advertising instances of one adapter, those of other programs among them.
//
// Lives on the loop, with what is advertised.
package protocol HostAdvertising: AnyObject {
    /// Has `onEvent` called with what happens; a second call does nothing.
    func follow(_ onEvent: @escaping (AdvertisingEvent) -> Void) throws(BluetoothError)

    /// What can be advertised now.
    nonisolated(nonsending) func capacity(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> any HostAdvertisingCapacity

    /// Removes an instance; false when there was none.
    @discardableResult
    nonisolated(nonsending) func remove(_ instance: UInt8) async throws(BluetoothError) -> Bool

    /// Removes every instance that is not of these, and says how many there were.
    nonisolated(nonsending) func removeAll(
        but own: () -> Set<UInt8>, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int
}

/// What an adapter can advertise.
package protocol HostAdvertisingCapacity {
    /// An instance that says what is wanted: number `own`, or one that is free and not of `taken`.
    /// - Throws: `.invalidArgument` for what no adapter can do, `.unsupported` for what this one cannot, `.busy`.
    func instance(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, own: UInt8?, taken: Set<UInt8>,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> any HostAdvertisingInstance
}

/// An instance as it is to be.
package protocol HostAdvertisingInstance {
    var number: UInt8 { get }
    var payloads: AdvertisingPayloads { get }

    /// Has it advertised, for the first time or again; returns the power it is sent with, where one can be asked for. One
    /// whose change failed is not there any more, or half made.
    nonisolated(nonsending) func put(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> Int?
}
