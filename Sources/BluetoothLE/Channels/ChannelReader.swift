import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// Who waits for a channel's SDUs, and what has come without anybody waiting for it.
///
/// While nobody reads, SDUs stay in the host and the peer without credits.
struct ChannelReader {
    /// First first.
    private var waiters = WaiterList<[UInt8]?, BluetoothError>()
    /// What was taken out of the host and found no reader: one SDU whose reader was cancelled, or what was there when
    /// the channel ended.
    private var leftovers = RingBuffer<[UInt8]>()
    private var isReading = true

    /// How many reads wait.
    var waitingCount: Int { waiters.count }

    /// An SDU that has been taken out already, unless others wait for it.
    mutating func next() -> [UInt8]? { waiters.isEmpty ? leftovers.popFirst() : nil }

    /// An SDU that is in the host, unless others wait for it.
    func next(from channel: any HostChannel) -> [UInt8]? {
        guard waiters.isEmpty else { return nil }
        var taken: [UInt8]?
        _ = Self.takeOne(from: channel) { taken = $0 }
        return taken
    }

    /// Waits for an SDU, behind those that wait already.
    mutating func makePromise(_ channel: (any HostChannel)?) -> Promise<[UInt8]?, BluetoothError> {
        let promise = waiters.makePromise()
        if let channel { setReading(true, channel) }
        return promise
    }

    /// Hands over what has come to who waits.
    mutating func receive(from channel: any HostChannel) {
        guard !waiters.isEmpty else { return setReading(false, channel) }
        guard Self.takeOne(from: channel, { leftovers.append($0) }) else { return }
        serve()
    }

    /// Leaves what comes in the host.
    mutating func pause(_ channel: any HostChannel) { setReading(false, channel) }

    /// Takes all that is in the host, before it is gone.
    mutating func takeAll(from channel: any HostChannel) {
        while Self.takeOne(from: channel, { leftovers.append($0) }) {}
    }

    /// Drops what was not read.
    mutating func drop() { leftovers = RingBuffer() }

    /// The channel has ended: whoever waits is given what there is, and the others `result`.
    mutating func end(_ result: Result<[UInt8]?, BluetoothError>) {
        serve()
        waiters.resolveAll(result)
    }

    /// Takes one SDU out of the host; says whether there was one.
    private static func takeOne(from channel: any HostChannel, _ take: ([UInt8]) -> Void) -> Bool {
        // An end that the call learns of is told as an event, too, which is where it counts.
        channel.receive { take([UInt8]($0)) }
    }

    private mutating func serve() {
        while let sdu = leftovers.first, waiters.succeedFirst(sdu) { _ = leftovers.popFirst() }
    }

    private mutating func setReading(_ isOn: Bool, _ channel: any HostChannel) {
        guard isReading != isOn else { return }
        isReading = isOn
        channel.setReading(isOn)
    }
}
