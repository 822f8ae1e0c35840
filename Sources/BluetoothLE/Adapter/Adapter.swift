import BluetoothKernel
import BluetoothPrimitives
import Logging
import Management

/// A Bluetooth adapter that is ready for LE.
///
/// Opening it brings the controller up without any daemon, if the caller wants that. Scans and connections made through
/// it end with an error when it is switched off or unplugged.
public actor Adapter: LoopActor {
    /// The loop everything of this adapter lives on.
    public nonisolated let loop: EventLoop
    /// The adapter as it was when it was opened.
    public nonisolated let information: AdapterInformation

    private let kernel: any BluetoothKernel
    private let log: Logger
    private let management: ManagementClient
    private let controller: Controller
    private var end: BluetoothError?

    private init(
        _ information: AdapterInformation, management: ManagementClient, on kernel: any BluetoothKernel, log: Logger
    ) {
        self.information = information
        self.management = management
        self.kernel = kernel
        self.log = log
        loop = kernel.loop
        controller = Controller(
            information.index, ownAddressType: information.publicAddress.isZero ? .random : .public,
            management: management, on: kernel, log: log)
    }

    /// All adapters of this machine, lowest index first. Needs no privilege.
    /// - Parameter kernel: whose adapters; nil for the machine's own kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public static func all(
        on kernel: (any BluetoothKernel)? = nil
    ) async throws(BluetoothError) -> [AdapterInformation] {
        let kernel = try chosenKernel(kernel, .init("list adapters"))
        let management = ManagementClient(on: kernel, log: Logger(label: "bluetooth.adapter"))
        return try await AdapterDirectory(kernel: kernel, management: management).all()
    }

    /// Opens an adapter and makes sure that LE works on it.
    ///
    /// Needs CAP_NET_ADMIN when something has to be switched on. What was switched on stays on.
    /// - Parameters:
    ///   - selector: which adapter.
    ///   - power: whether it may be powered on.
    ///   - kernel: whose adapter; nil for the machine's own kernel.
    ///   - log: takes what happens: PDUs and packets as `trace`, oddities as `debug`.
    /// - Throws: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.notPermitted`, `.unsupported`, each
    ///   with the fix.
    public static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, on kernel: (any BluetoothKernel)? = nil,
        log: Logger = Logger(label: "bluetooth.adapter")
    ) async throws(BluetoothError) -> Adapter {
        let kernel = try chosenKernel(kernel, .init("open \(selector)"))
        let management = ManagementClient(on: kernel, log: log)
        let directory = AdapterDirectory(kernel: kernel, management: management)
        let chosen = try await directory.choose(selector)
        let adapter = Adapter(
            try await directory.prepare(chosen, power: power), management: management, on: kernel, log: log)
        try await adapter.watch(directory)
        return adapter
    }

    /// Begins to follow what happens to the adapter.
    private func watch(_ directory: AdapterDirectory) async throws(BluetoothError) {
        await management.follow { [weak self] notice in self?.assumeIsolated { $0.take(notice) } }
        // Asked once the events are followed, so that nothing falls in between.
        guard let now = try await directory.information(information.index) else { throw .noAdapter(operation("open")) }
        if !now.isPowered { finish(.adapterWentOff(operation("use the adapter"))) }
    }

    private func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: information.name)
    }

    private func take(_ notice: AdapterNotice) {
        switch notice {
        case .removed(information.index): finish(wasRemoved)
        case .settings(information.index, let settings) where !settings.contains(.powered):
            // An adapter that is unplugged is told as switched off first, so it is asked whether it is still there.
            management.assumeIsolated {
                $0.post(.readControllerInformation, to: information.index) { [weak self] answer in
                    self?.assumeIsolated { $0.wentOff(answer) }
                }
            }
        case .removed, .added, .settings: break
        }
    }

    private var wasRemoved: BluetoothError {
        BluetoothError(
            .noAdapter, operation("use the adapter"), "\(information.name) was unplugged or taken away.")
    }

    private func wentOff(_ answer: ManagementClient.Answer) {
        if case .failure(let error) = answer, error.code == .noAdapter { return finish(wasRemoved) }
        finish(.adapterWentOff(operation("use the adapter")))
    }

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        log.debug("\(reason)")
        controller.assumeIsolated { $0.close(reason) }
    }

    /// Ends the adapter's scans and sockets. The controller stays as it is; connections stay up.
    public func close() {
        let reason = BluetoothError(
            .cancelled, operation("use the adapter"), "The adapter was closed by this program.")
        finish(reason)
        management.assumeIsolated { $0.close(reason) }
    }

    private func checkUsable() throws(BluetoothError) {
        if let end { throw end }
    }

    // MARK: Scanning

    /// Begins to listen for advertisements; the scan is on when the call returns.
    ///
    /// Leaving the loop over the stream ends the scan and leaves the controller as it was. The stream finishes by
    /// throwing when the adapter is switched off or goes away. A malformed report is passed over. While a connection
    /// is being made the kernel itself uses the scanner; the scan goes on by itself afterwards. Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.busy` when another program scans, `.adapterOff`, `.noAdapter`.
    public func scan(_ options: ScanOptions = ScanOptions()) async throws(BluetoothError) -> BoundedStream<
        Advertisement
    > {
        try checkUsable()
        return try await controller.scan(options, for: self)
    }

    /// Scans for the first advertisement that fulfils a condition.
    /// - Parameters:
    ///   - timeout: the most time to look; nil for ever.
    ///   - options: how to scan.
    ///   - condition: called for every advertisement in turn.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public func first(
        timeout: Duration?, options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement {
        let advertisements = try await scan(options)
        let deadline = timeout.map { timeout in
            let timer = loop.makeTimer { [operation = operation("look for a device")] in
                advertisements.finish(
                    BluetoothError(
                        .notFound, operation, "No device that matches was seen within \(timeout.inSeconds).",
                        remedy: BluetoothError.outOfReachRemedy, isRetryable: true))
            }
            timer.set(after: timeout)
            return timer
        }
        defer { deadline?.cancel() }
        for try await advertisement in advertisements where condition(advertisement) { return advertisement }
        throw .cancelled(operation("look for a device"))
    }

    // MARK: Connecting

    /// Connects to a device and agrees on the ATT_MTU.
    ///
    /// A link that fails to be established – the usual fate of a connection attempt in a crowded band – is tried again
    /// up to ``ConnectionOptions/attempts`` times within the time allowed. Cancelling the task cancels the attempt; the
    /// next may follow at once. Needs no privilege.
    /// - Throws: `.timedOut`, `.connectionFailed`, `.busy` when another program holds the device, `.adapterOff`,
    ///   `.noAdapter`, `.cancelled`.
    public func connect(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try checkUsable()
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        await controller.suspendScans(timeout: options.timeout)
        let result = await establish(peer, options, until: deadline)
        await controller.resumeScans()
        let connection = try result.get()
        do {
            try await connection.exchangeMTU(offering: options.maximumTransmissionUnit, timeout: options.timeout)
        } catch  where error.code == .attributeProtocol {
            // Whatever the peer has against it, the ATT_MTU stays what it is, and the link is good.
            log.debug("\(error)")
        } catch {
            await connection.disconnect()
            throw error
        }
        return connection
    }

    private func establish(
        _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?
    ) async -> Result<Connection, BluetoothError> {
        var attempt = 1
        while true {
            let remaining = deadline.map { loop.now.duration(to: $0) }
            let connection = Connection(
                to: peer, database: .generic(deviceName: information.localName),
                receiveMTU: options.maximumTransmissionUnit, on: loop, log: log)
            do throws(BluetoothError) {
                try await connection.open(
                    from: information.address, on: kernel, options: options.socketOptions(remaining),
                    timeout: remaining)
                return .success(connection)
            } catch {
                let isOver = deadline.map { loop.now >= $0 } ?? false
                guard error.code == .connectionFailed, error.isRetryable, attempt < options.attempts, !isOver else {
                    return .failure(error)
                }
                log.debug("attempt \(attempt) failed: \(error.message)", metadata: ["peer": "\(peer)"])
                attempt += 1
            }
        }
    }

    /// Connects, hands the connection to `body`, and disconnects however `body` ends.
    public func withConnection<Result: Sendable>(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        _ body: @Sendable (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(to: peer, options: options)
        do {
            let result = try await body(connection)
            await connection.disconnect()
            return result
        } catch {
            await connection.disconnect()
            throw error
        }
    }
}

/// How to connect.
public struct ConnectionOptions: Hashable, Sendable {
    /// The most time until the link is up, all attempts together, and again for agreeing on the ATT_MTU; nil for ever.
    public var timeout: Duration?
    /// The ATT_MTU to offer, 23 to 517 bytes.
    public var maximumTransmissionUnit: UInt16
    /// How often a link that fails to be established is tried.
    public var attempts: Int
    /// What to set on the socket.
    public var socket: L2CAPOptions

    /// Options with the usual choices: 30 s, an ATT_MTU of 517, three attempts.
    public init(
        timeout: Duration? = .seconds(30), maximumTransmissionUnit: UInt16 = 517, attempts: Int = 3,
        socket: L2CAPOptions = L2CAPOptions(receiveBuffer: 1 << 20)
    ) {
        self.timeout = timeout
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.attempts = attempts
        self.socket = socket
    }

    /// The kernel gives up after 40 s by itself; our own time limit comes first.
    func socketOptions(_ remaining: Duration?) -> L2CAPOptions {
        var options = socket
        if options.connectTimeout == nil { options.connectTimeout = (remaining ?? .seconds(86400)) + .seconds(5) }
        return options
    }
}
