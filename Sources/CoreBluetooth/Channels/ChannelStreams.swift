import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import Foundation

/// A channel shared by two streams: it closes when both are closed or released.
final class ChannelEnd: Sendable {
    let channel: ConnectionOrientedChannel

    init(_ channel: ConnectionOrientedChannel) {
        self.channel = channel
    }

    deinit {
        channel.closeSoon()
    }
}

/// The capacity of a stream in bytes.
private let streamCapacity = 65_536

/// One direction of a channel, behind a stream: its status and the bytes that wait. Unchecked, since a condition locks
/// its mutable state.
class ChannelDirection: @unchecked Sendable {
    fileprivate struct State {
        var status = Stream.Status.notOpen
        var error: (any Error)?
        /// Received bytes that were not read, or written ones that were not sent.
        var bytes = ByteQueue()
        var end: ChannelEnd?
        /// The task that reads from the channel, or that waits for its end.
        var task: Task<Void, Never>?
        /// Resolved when the task at the channel can continue: there is room for received bytes, or there are bytes to
        /// send, or will be no more.
        var turn: Promise<Void, Never>?
        /// The status after all received bytes were read.
        var ending: Stream.Status?

        var isFull: Bool { bytes.count >= streamCapacity }

        /// Ends the stream if that is due; returns the event to report.
        mutating func endIfDue() -> Stream.Event? {
            guard status == .open, bytes.isEmpty, let ending else { return nil }
            status = ending
            return ending == .atEnd ? .endEncountered : .errorOccurred
        }
    }

    fileprivate let condition = NSCondition()
    fileprivate var state = State()
    let events = StreamEvents()

    init(_ end: ChannelEnd) {
        state.end = end
    }

    deinit {
        state.task?.cancel()
        state.turn?.succeed()
    }

    fileprivate func locked<Result>(_ body: (inout State) -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body(&state)
    }

    var status: Stream.Status { locked { $0.status } }
    var error: (any Error)? { locked { $0.error } }

    /// Opens the stream; returns its channel, nil if it was open before.
    fileprivate func begin() -> ChannelEnd? {
        let end = locked { state -> ChannelEnd? in
            guard state.status == .notOpen else { return nil }
            state.status = .open
            return state.end
        }
        if end != nil { events.post(.openCompleted) }
        return end
    }

    func close() {
        let (task, end, turn) = locked { state in
            state.status = .closed
            defer { (state.task, state.end, state.turn) = (nil, nil, nil) }
            return (state.task, state.end, state.turn)
        }
        condition.broadcast()
        task?.cancel()
        turn?.succeed()
        withExtendedLifetime(end) {}
    }

    /// Whether an event still applies.
    func isTrue(_ event: Stream.Event) -> Bool {
        locked { state in
            switch event {
            case .hasBytesAvailable: !state.bytes.isEmpty && state.status == .open
            case .hasSpaceAvailable: state.status == .open && !state.isFull
            case .endEncountered: state.status == .atEnd
            case .errorOccurred: state.status == .error
            default: state.status != .closed
            }
        }
    }
}

/// The receiver of a channel's bytes. Unchecked, as its superclass.
final class ChannelInput: ChannelDirection, @unchecked Sendable {
    var hasBytes: Bool { locked { !$0.bytes.isEmpty } }

    func open() {
        guard let channel = begin()?.channel else { return }
        let task = Task(executorPreference: channel.loop) { [weak self] in
            do throws(BluetoothError) {
                while let sdu = try await channel.read() {
                    guard let room = self?.append(sdu) else { return }
                    await room.value(ifCancelled: ())
                }
                self?.finish(nil)
            } catch {
                self?.finish(error.code == .cancelled ? nil : error.coreBluetooth)
            }
        }
        locked { $0.task = task }
    }

    /// Adds received bytes; returns a promise of room for more.
    private func append(_ sdu: [UInt8]) -> Promise<Void, Never> {
        let room = Promise<Void, Never>()
        let hasRoom = locked { state -> Bool in
            state.bytes.append(sdu)
            if state.isFull { state.turn = room }
            return state.turn == nil
        }
        if hasRoom { room.succeed() }
        condition.broadcast()
        events.post(.hasBytesAvailable)
        return room
    }

    private func finish(_ error: (any Error)?) {
        let event = locked { state in
            state.ending = error == nil ? .atEnd : .error
            state.error = error
            return state.endIfDue()
        }
        condition.broadcast()
        if let event { events.post(event) }
    }

    /// Reads, waiting for the first byte as streams do; 0 is the end. A negative length is an error.
    func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard len >= 0 else { return -1 }
        condition.lock()
        while state.bytes.isEmpty, state.status == .open { condition.wait() }
        let count = min(len, state.bytes.count)
        for index in 0..<count { buffer[index] = state.bytes[index] }
        state.bytes.drop(count)
        let hasMore = !state.bytes.isEmpty
        let room = state.isFull ? nil : state.turn.take()
        let event = hasMore ? .hasBytesAvailable : state.endIfDue()
        let isError = count == 0 && state.status == .error
        condition.unlock()
        room?.succeed()
        if let event { events.post(event) }
        return isError ? -1 : count
    }
}

/// The sender of a channel's bytes. Unchecked, as its superclass.
final class ChannelOutput: ChannelDirection, @unchecked Sendable {
    func open() {
        guard let end = begin() else { return }
        events.post(.hasSpaceAvailable)
        // Bytes written before the stream was closed are still sent, so the task retains the channel that long.
        let writer = WeakReference(to: self)
        Task(executorPreference: end.channel.loop) {
            do throws(BluetoothError) {
                while let bytes = await Self.next(of: writer) { try await end.channel.write(bytes) }
                try await end.channel.flush(timeout: .seconds(30))
            } catch {
                writer.object?.finish(error)
            }
        }
        let watch = Task(executorPreference: end.channel.loop) { [channel = end.channel] in
            let reason = await channel.closed()
            if reason.code != .cancelled { writer.object?.finish(reason) }
        }
        locked { $0.task = watch }
    }

    /// The bytes to send next; nil when the stream is closed or released, and none are left.
    private static func next(of stream: WeakReference<ChannelOutput>) async -> [UInt8]? {
        while true {
            let work = Promise<Void, Never>()
            guard let (bytes, isClosed) = stream.object?.takeAll(orWaitFor: work) else { return nil }
            if !bytes.isEmpty { return bytes }
            if isClosed { return nil }
            await work.value(ifCancelled: ())
        }
    }

    private func takeAll(orWaitFor work: Promise<Void, Never>) -> ([UInt8], Bool) {
        let (bytes, wasFull, isClosed) = locked { state in
            let wasFull = state.isFull
            if state.bytes.isEmpty { state.turn = work }
            return (state.bytes.removeFirst(state.bytes.count), wasFull, state.status != .open)
        }
        if wasFull {
            condition.broadcast()
            events.post(.hasSpaceAvailable)
        }
        return (bytes, isClosed)
    }

    private func finish(_ reason: BluetoothError) {
        let (event, work) = locked { state -> (Stream.Event?, Promise<Void, Never>?) in
            guard state.status == .open else { return (nil, nil) }
            // The end of a channel or its link by either side is a regular end of the stream.
            let isEnd = reason.code == .disconnected
            state.status = isEnd ? .atEnd : .error
            state.error = isEnd ? nil : reason.coreBluetooth
            return (isEnd ? .endEncountered : .errorOccurred, state.turn.take())
        }
        condition.broadcast()
        work?.succeed()
        if let event { events.post(event) }
    }

    /// Writes as many bytes as there is room for, waiting for room as streams do. A negative length is an error.
    func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard len >= 0 else { return -1 }
        condition.lock()
        while state.status == .open, state.isFull { condition.wait() }
        guard state.status == .open else {
            condition.unlock()
            return -1
        }
        let count = min(len, streamCapacity - state.bytes.count)
        state.bytes.append(UnsafeBufferPointer(start: buffer, count: count))
        let isFull = state.isFull
        let work = state.turn.take()
        condition.unlock()
        work?.succeed()
        if !isFull { events.post(.hasSpaceAvailable) }
        return count
    }
}

/// The received bytes of a channel, as a stream.
final class ChannelInputStream: InputStream {
    private let reader: ChannelInput

    init(_ end: ChannelEnd) {
        reader = ChannelInput(end)
        super.init(data: Data())
        reader.events.attach(self) { [weak reader] in reader?.isTrue($0) ?? false }
    }

    override var delegate: (any StreamDelegate)? {
        get { reader.events.delegate }
        set { reader.events.delegate = newValue }
    }
    override var streamStatus: Stream.Status { reader.status }
    override var streamError: (any Error)? { reader.error }
    override var hasBytesAvailable: Bool { reader.hasBytes }
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        reader.events.schedule(in: aRunLoop, mode)
    }
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        reader.events.remove(from: aRunLoop, mode)
    }
    override func open() { reader.open() }
    override func close() { reader.close() }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        reader.read(buffer, maxLength: len)
    }
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }
}

/// The bytes to send over a channel, as a stream.
final class ChannelOutputStream: OutputStream {
    private let writer: ChannelOutput

    init(_ end: ChannelEnd) {
        writer = ChannelOutput(end)
        super.init(toMemory: ())
        writer.events.attach(self) { [weak writer] in writer?.isTrue($0) ?? false }
    }

    required init(toMemory: ()) {
        preconditionFailure("a channel's stream has no memory to write to")
    }

    override var delegate: (any StreamDelegate)? {
        get { writer.events.delegate }
        set { writer.events.delegate = newValue }
    }
    override var streamStatus: Stream.Status { writer.status }
    override var streamError: (any Error)? { writer.error }
    override var hasSpaceAvailable: Bool { writer.isTrue(.hasSpaceAvailable) }
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        writer.events.schedule(in: aRunLoop, mode)
    }
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        writer.events.remove(from: aRunLoop, mode)
    }
    override func open() { writer.open() }
    override func close() { writer.close() }
    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        writer.write(buffer, maxLength: len)
    }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
}
