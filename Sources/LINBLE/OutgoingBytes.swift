import BluetoothPrimitives

/// The bytes on their way to a device over links that come and go: the send buffer, what the present link has of it,
/// and the counts.
///
/// A chunk stays in the buffer until the link has accepted it. Afterwards it is in flight until it is confirmed, or until
/// the link ends, which leaves it unconfirmed. Inputs that do not fit the state have no effect.
struct OutgoingBytes: Hashable, Sendable {
    /// The confirmation that a link has.
    enum Confirmation: Hashable, Sendable {
        /// Each chunk is confirmed by its response.
        case byResponse
        /// A request confirms the chunks sent before it.
        case byLaterRequest
    }

    /// The limits of the chunks in flight.
    struct Limits: Hashable, Sendable {
        /// The number of chunks after which a confirmation is requested although more bytes wait.
        var chunksPerConfirmation = 128
        /// The maximum number of chunks in flight, so that the answer arrives long before the time limit of the
        /// Attribute Protocol, also over the slowest link.
        var chunksInFlight = 512
    }

    private struct Link: Hashable {
        let confirmation: Confirmation
        /// The number of bytes at the front of the buffer that are being handed over.
        var offered = 0
        /// The chunks that the requested confirmation covers.
        var covered: Run?
        /// The chunks in flight that no confirmation covers yet.
        var uncovered = Run()
    }

    private struct Run: Hashable {
        var chunks = 0
        var bytes = 0
    }

    private let capacity: Int
    private let limits: Limits
    private var queue = ByteQueue()
    private var link: Link?
    /// Bytes handed over to a link.
    private(set) var sent = 0
    /// Bytes that the device has confirmed.
    private(set) var confirmed = 0
    /// Bytes that ended links left unconfirmed.
    private(set) var unconfirmed = 0
    /// Bytes dropped because there was no link.
    private(set) var dropped = 0

    init(capacity: Int, limits: Limits = Limits()) {
        self.capacity = max(1, capacity)
        self.limits = limits
    }

    /// The number of bytes that wait for a link, or for room on it.
    var buffered: Int { queue.count }
    /// The number of bytes in flight.
    var inFlight: Int { sent - confirmed - unconfirmed }
    /// Whether there is a link.
    var isOnline: Bool { link != nil }
    /// Whether the buffer takes more bytes.
    var hasRoom: Bool { queue.count < capacity }
    /// The position after the last byte in the sequence of all bytes.
    var end: Int { sent + queue.count }
    /// The position before which all bytes are confirmed, or left unconfirmed for good.
    var settled: Int { confirmed + unconfirmed }

    // MARK: The program

    /// Appends as many bytes as there is room for, and returns their number.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> Int {
        let part = bytes.prefix(capacity - queue.count)
        queue.append(part)
        return part.count
    }

    /// Counts bytes as dropped.
    mutating func drop(_ count: Int) { dropped += count }

    // MARK: The link

    /// Begins a link.
    mutating func linkOpened(_ confirmation: Confirmation) {
        if link == nil { link = Link(confirmation: confirmation) }
    }

    /// Whether ``offerChunk(limit:)`` returns one.
    var hasChunk: Bool {
        guard let link, link.offered == 0, !queue.isEmpty else { return false }
        return (link.covered?.chunks ?? 0) + link.uncovered.chunks < limits.chunksInFlight
    }

    /// The next chunk for the link, of at most `limit` bytes; nil while there is none, or too many are in flight.
    ///
    /// Its outcome follows: one of ``chunkAccepted()``, ``chunkConfirmed()``, ``chunkNotSent()``.
    mutating func offerChunk(limit: Int) -> [UInt8]? {
        guard hasChunk else { return nil }
        let chunk = queue.prefix(max(1, limit))
        link?.offered = chunk.count
        return chunk
    }

    /// The link has accepted the chunk, and the device may have received it.
    mutating func chunkAccepted() {
        guard let count = link?.offered, count > 0 else { return }
        link?.offered = 0
        link?.uncovered.chunks += 1
        link?.uncovered.bytes += count
        queue.drop(count)
        sent += count
    }

    /// The device has confirmed the chunk.
    mutating func chunkConfirmed() {
        guard let count = link?.offered, count > 0 else { return }
        link?.offered = 0
        queue.drop(count)
        sent += count
        confirmed += count
    }

    /// The device has not received the chunk, which stays in the buffer.
    mutating func chunkNotSent() { link?.offered = 0 }

    /// Whether a confirmation must be requested now: no other is on its way, and the buffer is empty or enough chunks
    /// are in flight.
    var needsConfirmation: Bool {
        guard let link, link.confirmation == .byLaterRequest, link.covered == nil, link.uncovered.chunks > 0 else {
            return false
        }
        return queue.isEmpty || link.uncovered.chunks >= limits.chunksPerConfirmation
    }

    /// The confirmation of all chunks in flight is being requested.
    mutating func confirmationRequested() {
        guard needsConfirmation, let uncovered = link?.uncovered else { return }
        link?.covered = uncovered
        link?.uncovered = Run()
    }

    /// The request for a confirmation was answered.
    mutating func confirmationReceived() {
        guard let covered = link?.covered else { return }
        confirmed += covered.bytes
        link?.covered = nil
    }

    /// Ends the link; returns the number of bytes that it leaves unconfirmed. A chunk without an outcome is one of them.
    mutating func linkEnded() -> Int {
        chunkAccepted()
        link = nil
        defer { unconfirmed += inFlight }
        return inFlight
    }
}
