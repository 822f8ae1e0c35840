import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives

/// What keeps links that have no connection any more: connection-oriented channels of this program, because of which the
/// kernel does not end them, and attribute channels on which something is outstanding.
struct LinkHolds {
    private struct Channel {
        weak var socket: (any HostChannel)?
    }

    private var channels: [UInt64: Channel] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var drains: [ObjectIdentifier: BearerDrain] = [:]

    mutating func add(_ socket: any HostChannel) -> UInt64 {
        lastNumber += 1
        channels[lastNumber] = Channel(socket: socket)
        return lastNumber
    }

    mutating func remove(_ number: UInt64) { channels[number] = nil }

    mutating func add(_ drain: BearerDrain) { drains[ObjectIdentifier(drain)] = drain }

    /// Says whether it was there.
    mutating func remove(_ drain: BearerDrain) -> Bool { drains.removeValue(forKey: ObjectIdentifier(drain)) != nil }

    /// Whether a channel of this program keeps the link to the device that goes by these addresses.
    func keepLink(to peers: Set<BluetoothAddress>) -> Bool {
        channels.values.contains { $0.socket.map { peers.contains($0.peer) } ?? false }
    }
}
