import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import BluetoothCapture
import BluetoothKernelHost
import Logging
import Synchronization

/// A capture file of the packets on the air and between program and kernel, for Wireshark and btmon (btsnoop).
///
/// Passed to `AdapterConfiguration.trace`, it records the activity of that adapter. With CAP_NET_RAW it is a true capture of
/// the kernel's monitor channel: every HCI and management packet of every adapter and program. Without, or if the program
/// has the capability from its file and its caller does not have it, it is synthesised from the traffic of this program's
/// own sockets, in the packets that carry it on the air; see ``Source``. Keys, passkeys and out-of-band data are replaced
/// by zeros in both.
///
/// A thread of its own writes the file; at most 1 MiB waits for the disk, and packets that do not fit are counted in
/// ``droppedCount`` and in the file. If a write fails, for instance because the disk is full, recording ends, the error
/// is reported once, and everything else continues. The file is complete after ``close()``; a trace that is released
/// also writes its remaining packets and closes its file. An adapter retains the trace that it was opened with.
public final class PacketTrace: Sendable {
    /// The source of the packets. An open set: switch with a default.
    public struct Source: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the source.
        public let rawValue: String

        /// Creates a source by name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the source.
        public var description: String { rawValue }

        /// The kernel's monitor channel (`HCI_CHANNEL_MONITOR`): all packets of all adapters, decrypted. Needs
        /// CAP_NET_RAW, and that the caller has it: it is root, or the capability is ambient. A program file with
        /// capabilities (`AT_SECURE`) would show its caller the links of others.
        public static let monitor = Source(rawValue: "monitor")
        /// The PDUs of this program's own sockets. ATT and L2CAP packets are wrapped in ACL data between synthetic
        /// events of connection and disconnection; of HCI and management there is only this program's traffic.
        public static let synthesised = Source(rawValue: "synthesised")
    }

    /// The source of the packets.
    public let source: Source
    /// The path of the file.
    public let path: String

    private let writer: TraceWriter
    private let listener: LoopBound<MonitorListener>?
    private let loop: EventLoop
    /// The recorder of this program's own packets; nil when the monitor supplies them.
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
    ///     `/dev/stdout` or `/dev/fd/N`. A symbolic link is not followed.
    ///   - replacingExisting: whether to remove an existing regular file, or a symbolic link to one, first; false
    ///     throws.
    ///   - source: the source of the packets; nil for the monitor channel where that is permitted.
    ///   - adapters: the source of the adapters that the trace is passed to; nil for this machine's kernel.
    ///   - log: receives the error that ends the recording if there is no `onFailure`.
    ///   - onFailure: called once, on the writing thread, when a write fails.
    /// - Throws: `.failed` when the file cannot be created or exists already; `.notPermitted` when `source` is
    ///   `.monitor` and CAP_NET_RAW is missing or only the program's; `.noBluetooth`.
    public nonisolated(nonsending) static func open(
        _ path: String, replacingExisting: Bool = false, source: Source? = nil,
        on adapters: (any AdapterSource)? = nil, log: Logger = Logger(label: "bluetooth.trace"),
        onFailure: (@Sendable (BluetoothError) -> Void)? = nil
    ) async throws(BluetoothError) -> PacketTrace {
        let operation = BluetoothError.Operation("record packets")
        let kernel = try chosenSource(adapters, operation).kernel(operation)
        var listener: LoopBound<MonitorListener>?
        if source != .synthesised {
            do throws(BluetoothError) {
                listener = try await monitor(of: kernel, operation, log)
            } catch {
                guard source == nil else { throw error }
                log.debug("no monitor: \(error)")
            }
        }
        let writer = try TraceWriter(path, replacingExisting: replacingExisting, operation, on: kernel.loop) { error in
            if let onFailure { onFailure(error) } else { log.error("\(error)") }
        }
        if let listener { await kernel.loop.perform { listener.value.start(writer) } }
        return PacketTrace(path, writer, listener, on: kernel.loop)
    }

    /// Opens a kernel's monitor, unless it would show the caller what only this program may read.
    private static func monitor(
        of kernel: any BluetoothKernel, _ operation: BluetoothError.Operation, _ log: Logger
    ) async throws(BluetoothError) -> LoopBound<MonitorListener> {
        let environment = kernel.environment()
        guard !environment.isSecureExecution else {
            throw BluetoothError(
                .notPermitted, operation,
                "The monitor channel shows the packets of all programs, which this program's user may not read.",
                remedy: "Run the program as root.\nIn code, record its own packets: source: .synthesised")
        }
        do throws(KernelError) {
            return try await kernel.loop.perform { () throws(KernelError) in
                LoopBound(try MonitorListener(kernel, log: log), on: kernel.loop)
            }
        } catch {
            throw .controller(operation, error, environment)
        }
    }

    /// The number of packets dropped because the disk was too slow.
    public var droppedCount: Int { writer.droppedCount }

    /// The error that ended the recording before ``close()``; nil if there was none.
    public var failure: BluetoothError? { writer.failure }

    /// Adds a line of text to the capture.
    public func note(_ text: String) {
        writer.record(.systemNote, CapturedPacket.noAdapter, MonitorPayload.systemNote(text).span.bytes)
    }

    /// Ends the recording and waits until the file is complete, however long the disk takes; a cancelled task does not
    /// wait. A second call does nothing.
    public nonisolated(nonsending) func close() async {
        if let listener { await loop.perform { listener.value.close() } }
        await writer.close(on: loop)
    }
}

/// The writer of a trace's file: adds time stamps, hides secrets, and counts dropped packets.
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

    /// The loop's time in microseconds since 1970.
    private var time: Int64 { startTime &+ (loop.now.nanoseconds &- start.nanoseconds) / 1000 }

    func record(_ kind: CapturedPacketKind, _ adapter: UInt16, _ payload: RawSpan) {
        record(CapturedPacket(adapter: adapter, kind: kind, payload: payload))
    }

    func record(_ packet: borrowing CapturedPacket) {
        let time = time
        let (adapter, kind, payload) = (packet.adapter, packet.kind, packet.payload)
        // Serialised, so that the count of drops grows in the order of the file.
        state.withLock { state in
            let packet = CapturedPacket(adapter: adapter, kind: kind, payload: payload)
            let visible = state.filter.visibleByteCount(of: packet)
            let drops = state.drops
            let isTaken = file.append { writer throws(BufferFull) in
                let packet = CapturedPacket(adapter: adapter, kind: kind, payload: payload)
                try BTSnoop.encode(packet, time: time, drops: drops, visibleByteCount: visible, into: &writer)
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

/// The error that ended a trace's file early.
private final class TraceEnding: Sendable {
    let failure = Mutex<BluetoothError?>(nil)
}

extension BluetoothError {
    /// The error for a trace that cannot be written.
    fileprivate static func tracing(_ operation: Operation, _ path: String, _ error: KernelError) -> BluetoothError {
        return BluetoothError(
            .failed, operation, "\(path) \(error.number == .fileExists ? "exists already" : "cannot be written").",
            remedy: error.fileRemedy, cause: .kernel(error))
    }
}
