import BluetoothPrimitives

/// What became of a packet handed to a socket.
public enum SendOutcome: Equatable, Sendable {
    /// The kernel has it.
    case sent
    /// The socket's buffer is full; the packet was not taken. ``PacketSocket/notifyWhenWritable()`` tells when to retry.
    case wouldBlock
    /// It will never be sent here.
    case failed(KernelError)
}

/// What a socket had to hand out.
public enum ReceiveOutcome: Equatable, Sendable {
    /// One packet was handed to the closure.
    case packet
    /// Nothing is there yet.
    case wouldBlock
    /// The socket has ended; no packet will come any more.
    case failed(KernelError)
}

/// What happens on a socket, told on the loop.
public enum SocketEvent: Equatable, Sendable {
    /// A packet can be received, most likely. Told again until there is none.
    case readable
    /// A connection attempt has succeeded, or a full socket takes packets again. Told once for each
    /// ``PacketSocket/notifyWhenWritable()``.
    case writable
    /// The socket has ended, for the reason the kernel gives. Told once, the last event of the socket.
    ///
    /// Packets that arrived before may still be received from within the event.
    case closed(KernelError)
}

/// Takes a socket's events. Called on the loop only, never from within a call to the socket.
///
/// It is given to the kernel on the loop, so a closure formed in an actor that lives there may use what is the actor's.
public typealias SocketHandler = (SocketEvent) -> Void

/// A socket of the kernel that keeps packet boundaries.
///
/// All methods are called on the loop. Dropping the last reference closes the socket.
public protocol PacketSocket: AnyObject, Sendable {
    /// Hands one packet to the kernel without waiting.
    func send(_ packet: RawSpan) -> SendOutcome

    /// Takes one packet from the kernel without waiting; `body` borrows it and runs before the call returns.
    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome

    /// Asks for one ``SocketEvent/writable`` event as soon as a packet can be sent.
    func notifyWhenWritable()

    /// Stops or resumes ``SocketEvent/readable`` events. Packets that arrive meanwhile wait in the kernel's buffer.
    func setReading(_ isOn: Bool)

    /// Closes the socket. No event follows; a second call does nothing.
    func close()
}

/// Which packets a raw HCI socket lets through (`HCI_FILTER`).
public struct HCISocketFilter: Equatable, Sendable {
    /// Bit n lets packets with H4 type n through: 1 command, 2 ACL data, 4 event.
    public var packetTypes: UInt32
    /// Bit (code & 63) lets events with that code through.
    public var events: UInt64
    /// When not zero, Command Complete and Command Status pass for this command alone.
    public var opcode: UInt16

    /// A filter made of its three parts.
    public init(packetTypes: UInt32, events: UInt64, opcode: UInt16 = 0) {
        self.packetTypes = packetTypes
        self.events = events
        self.opcode = opcode
    }

    /// Lets all events through and nothing else.
    public static let allEvents = HCISocketFilter(packetTypes: 1 << 4, events: .max)

    /// Lets the events with the given codes through and nothing else.
    public static func events(_ codes: UInt8...) -> HCISocketFilter {
        HCISocketFilter(packetTypes: 1 << 4, events: codes.reduce(0) { $0 | 1 << UInt64($1 & 63) })
    }
}

/// A raw HCI socket of one adapter: commands out, events in, each packet with its H4 type byte.
public protocol HCISocket: PacketSocket {
    /// Chooses which packets arrive (`setsockopt(SOL_HCI, HCI_FILTER)`). Without it none do.
    func setFilter(_ filter: HCISocketFilter) throws(KernelError)
}
