import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import BluetoothCapture
import BluetoothKernelHost
import Logging
import Synchronization

/// A file of what goes over the air and between program and kernel, which Wireshark and btmon open (btsnoop).
///
/// Passed to `Adapter.open(trace:)`, it records what that adapter does. With CAP_NET_RAW it is a true
/// capture of the kernel's monitor channel: every HCI and management packet of every adapter and program. Without, the
/// file is made of what this program's own sockets send and receive, in the packets in which it would travel; see
/// ``Source``. Keys, passkeys and out-of-band data are replaced by zeros in both.
///
/// A thread of its own writes the file; at most 1 MiB waits for the disk, and what does not fit is counted in
/// ``droppedCount`` and in the file. If a write fails, for instance because the disk is full, recording ends, the error is
/// reported once, and everything else continues. The file is complete after ``close()``; a trace that is released writes
/// what it has and closes its file as well. An adapter that it was passed to holds it.
public final class PacketTrace: Sendable {
    /// Where the packets come from.
    public enum Source: String, Sendable {
        /// The kernel's monitor channel (`HCI_CHANNEL_MONITOR`, needs CAP_NET_RAW): all packets of all adapters.
        case monitor
        /// The PDUs of this program's own sockets. ATT and L2CAP packets are wrapped in ACL data between made-up events
        /// of connection and disconnection; of HCI and management there is what this program exchanged.
        case synthesised
    }

    /// Where the packets come from.
    public let source: Source
    /// The file.
    public let path: String

    private let writer: TraceWriter
    private let listener: LoopBound<MonitorListener>?
    private let loop: EventLoop
    /// Where this program's own packets go; nil when the monitor tells them.
    let synthesis: PacketSynthesis?

    private init(_ path: String, _ writer: TraceWriter, _ listener: LoopBound<MonitorListener>?, on loop: EventLoop) {
        self.path = path
        self.writer = writer
        self.listener = listener
        self.loop = loop
        source = listener == nil ? .synthesised : .monitor
        synthesis = listener == nil ? PacketSynthesis(writer) : nil
    }

    /// Creates a file and begins to record.
    ///
    /// - Parameters:
    ///   - path: the file to create, readable by its owner alone; or a device, a named pipe that has a reader,
    ///     `/dev/stdout` or `/dev/fd/N`.
    ///   - replacingExisting: whether to remove an existing regular file, or a symbolic link to one, first; false throws.
    ///   - source: where the packets come from; nil takes the monitor channel where that is permitted.
    ///   - kernel: whose packets; nil for the machine's own kernel. Has to be the kernel of the adapters that the trace
    ///     is handed to.
    ///   - log: receives the error that ends the recording if there is no `onFailure`.
    ///   - onFailure: called once, on the writing thread, when a write fails.
    /// - Throws: `.failed` when the file cannot be created or exists already; `.notPermitted` when `source` is `.monitor`
    ///   and CAP_NET_RAW is missing; `.noBluetooth`.
    public static func open(
        _ path: String, replacingExisting: Bool = false, source: Source? = nil,
        on kernel: (any BluetoothKernel)? = nil, log: Logger = Logger(label: "bluetooth.trace"),
        onFailure: (@Sendable (BluetoothError) -> Void)? = nil
    ) async throws(BluetoothError) -> PacketTrace {
        let operation = BluetoothError.Operation("record packets")
        let kernel = try chosenKernel(kernel, operation)
        var listener: LoopBound<MonitorListener>?
        if source != .synthesised {
            do throws(KernelError) {
                listener = try await kernel.loop.perform { () throws(KernelError) in
                    LoopBound(try MonitorListener(kernel, log: log), on: kernel.loop)
                }
            } catch {
                guard source == nil else { throw .controller(operation, error, kernel.environment()) }
                log.debug("no monitor: \(error)")
            }
        }
        let writer = try TraceWriter(path, replacingExisting: replacingExisting, operation, on: kernel.loop) { error in
            if let onFailure { onFailure(error) } else { log.error("\(error)") }
        }
        if let listener { await kernel.loop.perform { listener.value.start(writer) } }
        return PacketTrace(path, writer, listener, on: kernel.loop)
    }

    /// How many packets were left out because the disk was too slow.
    public var droppedCount: Int { writer.droppedCount }

    /// Why recording has ended before ``close()``; nil while it goes on.
    public var failure: BluetoothError? { writer.failure }

    /// Writes a line of text into the capture, for whoever reads it.
    public func note(_ text: String) {
        writer.record(.systemNote, CapturedPacket.noAdapter, MonitorPayload.systemNote(text).span.bytes)
    }

    /// Ends the recording and waits until the file is complete, as long as the disk takes; a cancelled task does not
    /// wait. A second call does nothing.
    public func close() async {
        if let listener { await loop.perform { listener.value.close() } }
        await writer.close(on: loop)
    }
}

/// The file of a trace: puts the time on packets, hides secrets, and counts what does not fit.
final class TraceWriter: PacketRecorder {
    private struct State {
        var filter = SecretFilter()
        var drops: UInt32 = 0
    }

    private let file: BackgroundFile
    private let loop: EventLoop
    private let start: KernelInstant
    private let startTime: Int64
    private let state = Mutex(State())
    private let ending: TraceEnding

    init(
        _ path: String, replacingExisting: Bool, _ operation: BluetoothError.Operation,
        on loop: EventLoop, onFailure: @escaping @Sendable (BluetoothError) -> Void
    ) throws(BluetoothError) {
        self.loop = loop
        start = loop.now
        startTime = SystemClock.microsecondsSince1970
        let ending = TraceEnding()
        self.ending = ending
        do throws(KernelError) {
            file = try BackgroundFile(path, replacingExisting: replacingExisting) { error in
                let error = BluetoothError.tracing(operation, path, error)
                ending.failure.withLock { $0 = error }
                onFailure(error)
            }
        } catch {
            throw .tracing(operation, path, error)
        }
        file.append { writer throws(BufferFull) in try BTSnoop.encodeHeader(into: &writer) }
    }

    var droppedCount: Int { state.withLock { Int($0.drops) } }
    var failure: BluetoothError? { ending.failure.withLock { $0 } }

    /// Microseconds since 1970, by the loop's clock.
    private var time: Int64 { startTime &+ (loop.now.nanoseconds &- start.nanoseconds) / 1000 }

    func record(_ kind: CapturedPacketKind, _ adapter: UInt16, _ payload: RawSpan) {
        record(CapturedPacket(adapter: adapter, kind: kind, payload: payload))
    }

    func record(_ packet: borrowing CapturedPacket) {
        let time = time
        let (adapter, kind, payload) = (packet.adapter, packet.kind, packet.payload)
        // One after the other, so that the count of drops grows in the order of the file.
        state.withLock { state in
            let packet = CapturedPacket(adapter: adapter, kind: kind, payload: payload)
            let visible = state.filter.visibleByteCount(of: packet)
            let drops = state.drops
            let isTaken = file.append { writer throws(BufferFull) in
                let packet = CapturedPacket(adapter: adapter, kind: kind, payload: payload)
                try BTSnoopRecord(packet, time: time, drops: drops).encode(visibleByteCount: visible, into: &writer)
            }
            if !isTaken { state.drops = state.drops == .max ? .max : state.drops + 1 }
        }
    }

    func close(on loop: EventLoop) async {
        let call = Promise<Void, BluetoothError>()
        file.close { call.succeed() }
        try? await call.value(.init("close the packet trace"), timeout: nil, on: loop)
    }
}

/// Why a trace's file could not be written to its end.
private final class TraceEnding: Sendable {
    let failure = Mutex<BluetoothError?>(nil)
}

extension BluetoothError {
    /// Why a trace cannot be written.
    fileprivate static func tracing(_ operation: Operation, _ path: String, _ error: KernelError) -> BluetoothError {
        let remedy: String? =
            switch error.number {
            case .fileExists: "Choose another name, or have the file replaced."
            case .accessDenied, .notPermitted: "Choose a file in a folder that this program may write to."
            case .noSuchDeviceOrAddress: "It is a pipe that nobody reads: start its reader first."
            case .noSpace: "Make room on the disk, or choose another."
            default: nil
            }
        return BluetoothError(
            .failed, operation, "\(path) \(error.number == .fileExists ? "exists already" : "cannot be written").",
            remedy: remedy, cause: .kernel(error))
    }
}
