import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The waiting reads of a channel, and the SDUs received without a waiting read.
///
/// Without readers, SDUs stay in the host and the peer gets no credits.
struct ChannelReader {
    /// The oldest first.
    private var waiters = WaiterList<[UInt8]?, BluetoothError>()
    /// SDUs received from the host without a reader: one whose reader was cancelled, or the rest when the channel
    /// ended.
    private var unread = RingBuffer<[UInt8]>()
    private var isReading = true

    /// The number of waiting reads.
    var waitingCount: Int { waiters.count }

    /// Returns an SDU received earlier, unless other reads wait for it.
    mutating func next() -> [UInt8]? { waiters.isEmpty ? unread.popFirst() : nil }

    /// Receives an SDU from the host, unless other reads wait for it.
    func next(from channel: any HostChannel) -> [UInt8]? {
        guard waiters.isEmpty else { return nil }
        var taken: [UInt8]?
        _ = Self.receiveOne(from: channel) { taken = $0 }
        return taken
    }

    /// Adds a waiting read behind the others.
    mutating func makePromise(_ channel: (any HostChannel)?) -> Promise<[UInt8]?, BluetoothError> {
        let promise = waiters.makePromise()
        if let channel { setReading(true, channel) }
        return promise
    }

    /// Receives an SDU from the host and completes the first waiting read with it.
    mutating func receive(from channel: any HostChannel) {
        guard !waiters.isEmpty else { return setReading(false, channel) }
        guard Self.receiveOne(from: channel, { unread.append($0) }) else { return }
        completeReads()
    }

    /// Stops receiving, so that SDUs stay in the host.
    mutating func pause(_ channel: any HostChannel) { setReading(false, channel) }

    /// Receives everything that is in the host, before the channel's end discards it.
    mutating func receiveAll(from channel: any HostChannel) {
        while Self.receiveOne(from: channel, { unread.append($0) }) {}
    }

    /// Drops the SDUs received without a reader.
    mutating func drop() { unread = RingBuffer() }

    /// Ends the channel: completes waiting reads with the remaining SDUs, and the others with `result`.
    mutating func end(_ result: Result<[UInt8]?, BluetoothError>) {
        completeReads()
        waiters.resolveAll(result)
    }

    /// Receives one SDU from the host; returns whether there was one.
    private static func receiveOne(from channel: any HostChannel, _ take: ([UInt8]) -> Void) -> Bool {
        // An end noticed by this call is also reported as an event, which handles it.
        channel.receive { take([UInt8]($0)) }
    }

    private mutating func completeReads() {
        while let sdu = unread.first, waiters.succeedFirst(sdu) { _ = unread.popFirst() }
    }

    private mutating func setReading(_ isOn: Bool, _ channel: any HostChannel) {
        guard isReading != isOn else { return }
        isReading = isOn
        channel.setReading(isOn)
    }
}
