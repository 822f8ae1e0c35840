import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// A group as what finds devices by their keys and connects to them.
struct GroupRadio: IdentityRadio {
    private let members: GroupMembers
    private let scans: GroupScans
    private let connector: GroupConnector

    init(_ members: GroupMembers, _ scans: GroupScans, _ connector: GroupConnector) {
        (self.members, self.scans, self.connector) = (members, scans, connector)
    }

    var loop: EventLoop { members.loop }
    var log: Logger? { members.all.first?.adapter.session.log }

    /// The time for the other adapters to receive a device that one has received: an advertising event or two.
    private static let gatheringTime = Duration.milliseconds(300)

    nonisolated(nonsending) func bondedAddress(_ keys: [SecurityKey]) async -> BluetoothAddress? {
        for member in members.all {
            if let address = await member.adapter.session.bondedAddress(keys) { return address }
        }
        return nil
    }

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        try await members.ready(timeout: timeout)
    }

    /// The first advertisement of a device; returns when all adapters have received it, as far as they soon do, so that the
    /// one with the best signal is known.
    nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration?, options: ScanOptions
    ) async throws(BluetoothError) -> Advertisement {
        var options = options
        options.duration = timeout
        for try await found in try await scan(options) {
            if let address = found.address, !members.areAllReceiving(address) {
                options.duration = Self.gatheringTime
                for try await _ in try await scan(options) where members.areAllReceiving(address) { break }
            }
            return found.advertisement
        }
        throw BluetoothError(.notFound, .init("look for a device"), "No device that matches was seen.")
    }

    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions, within time: inout ConnectTime
    ) async throws(BluetoothError) -> Connection {
        try await connector.connect(to: peer, options, within: &time)
    }

    private nonisolated(nonsending) func scan(
        _ options: ScanOptions
    ) async throws(BluetoothError) -> BoundedStream<GroupAdvertisement> {
        // The caller retains the group.
        try await scans.scan(options, for: loop)
    }
}
