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
    /// SDUs received from the host without a reader: one, or the rest when the channel ended.
    private var unread = RingBuffer<[UInt8]>()
    private var isReading = true

    /// The number of waiting reads.
    var waitingCount: Int { waiters.count }

    /// Returns an SDU received earlier, unless other reads wait for it.
    mutating func next() -> [UInt8]? { waiters.isEmpty ? unread.popFirst() : nil }

    /// Adds a waiting read behind the others.
    mutating func makePromise(_ channel: (any HostChannel)?) -> Promise<[UInt8]?, BluetoothError> {
        let promise = waiters.makePromise()
        if let channel { setReading(true, channel) }
        return promise
    }

    /// Takes an SDU from the host and completes the first waiting read with it.
    mutating func receive(_ sdu: RawSpan, from channel: any HostChannel) {
        unread.append([UInt8](sdu))
        if !waiters.isEmpty { completeReads() }
        if !unread.isEmpty { setReading(false, channel) }
    }

    /// Stops receiving, so that SDUs stay in the host.
    mutating func pause(_ channel: any HostChannel) { setReading(false, channel) }

    /// Drops the SDUs received without a reader.
    mutating func drop() { unread = RingBuffer() }

    /// Ends the channel: completes waiting reads with the remaining SDUs, and the others with `result`.
    mutating func end(_ result: Result<[UInt8]?, BluetoothError>) {
        completeReads()
        waiters.resolveAll(result)
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
