import BluetoothPrimitives

/// The result of sending a packet.
public enum SendOutcome: Equatable, Sendable {
    /// The kernel accepted the packet.
    case sent
    /// The socket's buffer is full, and the packet was not accepted. Retry after `notifyWhenWritable()`.
    case wouldBlock
    /// The socket cannot send the packet.
    case failed(KernelError)
}

/// The result of receiving a packet.
package enum ReceiveOutcome: Equatable, Sendable {
    /// The closure received one packet.
    case packet
    /// No packet is available.
    case wouldBlock
    /// The socket is closed, and no more packets follow.
    case failed(KernelError)
}

/// An event of a socket, reported on the loop.
package enum SocketEvent: Equatable, Sendable {
    /// A packet is probably available. Repeated until there is none.
    case readable
    /// A connection attempt succeeded, or a congested socket accepts packets again. Reported once for each
    /// ``PacketSocket/notifyWhenWritable()``.
    case writable
    /// The socket is closed, for the kernel's reason. Reported once, as the last event.
    ///
    /// The handler can still receive packets that arrived before.
    case closed(KernelError)
}

/// The handler of a socket's events. Called on the loop only, never during a call of the socket.
///
/// Passed to the kernel on the loop, so that a closure formed in an actor on the loop may access the actor's state.
package typealias SocketHandler = (SocketEvent) -> Void

/// A kernel socket that preserves packet boundaries.
///
/// Call all methods on the loop. Releasing the last reference closes the socket.
package protocol PacketSocket: AnyObject, Sendable {
    /// Passes one packet to the kernel without waiting.
    func send(_ packet: RawSpan) -> SendOutcome

    /// Receives one packet from the kernel without waiting; `body` borrows it and runs before the call returns.
    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome

    /// Requests one ``SocketEvent/writable`` event for when a packet can be sent.
    func notifyWhenWritable()

    /// Pauses or resumes ``SocketEvent/readable`` events. Packets remain in the kernel's buffer meanwhile.
    func setReading(_ isOn: Bool)

    /// Closes the socket. No events follow; a second call has no effect.
    func close()
}

/// A filter of the packets received on a raw HCI socket (`HCI_FILTER`).
package struct HCISocketFilter: Equatable, Sendable {
    /// The packet types: bit n for packets with the H4 type n (1 command, 2 ACL data, 4 event).
    package var packetTypes: UInt32
    /// The events: bit (code & 63) for events with that code.
    package var events: UInt64
    /// The only command whose Command Complete and Command Status events pass; zero for all.
    package var opcode: UInt16

    /// A filter with the given fields.
    package init(packetTypes: UInt32, events: UInt64, opcode: UInt16 = 0) {
        self.packetTypes = packetTypes
        self.events = events
        self.opcode = opcode
    }

    /// A filter that only all events pass.
    package static let allEvents = HCISocketFilter(packetTypes: 1 << 4, events: .max)

    /// A filter that only the events with the given codes pass.
    package static func events(_ codes: UInt8...) -> HCISocketFilter {
        HCISocketFilter(packetTypes: 1 << 4, events: codes.reduce(0) { $0 | 1 << UInt64($1 & 63) })
    }
}

/// A raw HCI socket of one adapter: it sends commands and receives events, each with its H4 type.
package protocol HCISocket: PacketSocket {
    /// Sets the filter (`setsockopt(SOL_HCI, HCI_FILTER)`). Without a filter, no packets are received.
    func setFilter(_ filter: HCISocketFilter) throws(KernelError)
}
