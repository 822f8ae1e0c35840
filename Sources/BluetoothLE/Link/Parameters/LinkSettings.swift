import BluetoothHost
import BluetoothHCI
import BluetoothLoop
import BluetoothPrimitives

/// The settings that a program requests for a link; nil leaves one as it is.
struct LinkSettings {
    private(set) var parameters: ConnectionParameterRequest?
    private(set) var phys: LEPHYSet?
    private(set) var dataLength: Int?

    init(_ use: ConnectionUse) {
        (parameters, phys, dataLength) = (use.parameters, use.phys, use.dataLength)
    }

    /// The settings of the options, which take precedence over those of their use.
    /// - Throws: `.invalidArgument` for a value outside the specification's ranges.
    init(_ options: ConnectionOptions, _ operation: BluetoothError.Operation) throws(BluetoothError) {
        parameters = options.parameters ?? options.use?.parameters
        phys = options.phys ?? options.use?.phys
        dataLength = options.dataLength ?? options.use?.dataLength
        _ = try parameters?.parameters(operation)
        if let phys { try Self.check(phys, operation) }
        if let dataLength { try Self.check(dataLength, operation) }
    }

    /// Those of the settings that ask for more than a link has, which others use as well.
    func raising(_ link: Link) -> LinkSettings {
        var settings = self
        if let interval = link.parameters?.interval, let request = parameters, interval <= request.interval.upperBound {
            settings.parameters = nil
        }
        if let octets = link.dataLength?.transmitOctets, octets >= dataLength ?? 0 { settings.dataLength = nil }
        return settings
    }

    /// - Throws: `.invalidArgument` if none is chosen, or one that does not exist.
    static func check(_ phys: LEPHYSet, _ operation: BluetoothError.Operation) throws(BluetoothError) {
        guard !phys.isEmpty, phys.isSubset(of: [.le1M, .le2M, .leCoded]) else {
            throw .invalidArgument(operation, "The PHYs are one or several of LE 1M, LE 2M and LE Coded.")
        }
    }

    /// - Throws: `.invalidArgument` outside 27 to 251 bytes.
    static func check(_ octets: Int, _ operation: BluetoothError.Operation) throws(BluetoothError) {
        guard (27...251).contains(octets) else {
            throw .invalidArgument(operation, "The data length is 27 to 251 bytes.")
        }
    }
}

/// The settings that callers have asked for with their connects, and that are requested one after the other.
final class SettingsRequests {
    fileprivate var pending: [(settings: LinkSettings, timeout: Duration?)] = []
    fileprivate var waiters = WaiterList<Void, BluetoothError>()
}

extension Connection {
    /// Requests the settings of the link's options, after those of earlier ones, without waiting for the result: the link
    /// is usable meanwhile, and without them.
    func requestSoon(_ settings: LinkSettings, timeout: Duration?) {
        guard settings.parameters != nil || settings.dataLength != nil || settings.phys != nil else { return }
        let core = core
        if let requests = core.value.settingsRequests {
            requests.pending.append((settings, timeout))
            return
        }
        let requests = SettingsRequests()
        requests.pending.append((settings, timeout))
        core.value.settingsRequests = requests
        Task(executorPreference: loop) { await core { await $0.requestPending() } }
    }
}

extension Link {
    fileprivate nonisolated(nonsending) func requestPending() async {
        guard let requests = settingsRequests else { return }
        while let (settings, timeout) = requests.pending.first {
            do throws(BluetoothError) {
                try await request(settings, timeout: timeout)
            } catch  where error.code != .disconnected {
                log.notice("the link keeps its settings: \(error)", metadata: ["peer": "\(peer)"])
            } catch {}
            requests.pending.removeFirst()
        }
        settingsRequests = nil
        requests.waiters.succeedAll()
    }

    /// Waits until the settings of the link's options were requested, so that later requests come after them; returns what
    /// remains of the time.
    /// - Throws: `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func whenSettingsAreRequested(
        timeout: Duration?
    ) async throws(BluetoothError) -> Duration? {
        guard let requests = settingsRequests else { return timeout }
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        try await requests.waiters.makePromise().value(
            .init("wait for the link's settings", peer: peer), timeout: timeout, on: loop)
        return deadline?.remaining(at: loop.now)
    }

    /// Requests the settings that the link does not have. A refusal by the controller or the peer is no error: the link
    /// remains usable as it is.
    /// - Throws: `.disconnected`, `.timedOut`, `.cancelled`; `.notPermitted` without CAP_NET_RAW.
    @inline(never)
    nonisolated(nonsending) func request(_ settings: LinkSettings, timeout: Duration?) async throws(BluetoothError) {
        // Each request waits behind the packets that the controller has, which longer ones carry sooner; this one waits
        // for no answer of the peer.
        if let octets = settings.dataLength, dataLength?.transmitOctets != octets {
            try await attempt { () async throws(BluetoothError) in
                // On LE Coded a packet takes longer than the default allows.
                let isCoded = settings.phys?.contains(.leCoded) == true
                let time = isCoded ? LinkLayerTiming.codedDuration(ofPayload: octets) : nil
                try await requestDataLength(octets, time: time, timeout: timeout)
            }
        }
        // Then what makes the last procedure shorter.
        if let parameters = settings.parameters {
            try await attempt { () async throws(BluetoothError) in
                if self.parameters.map({ parameters.includes($0) }) == true {
                    let operation = BluetoothError.Operation("keep the connection parameters", peer: peer)
                    try hostLink?.keepParameters(parameters.parameters(operation), isPolicy: false, operation)
                } else {
                    _ = try await requestParameters(parameters, timeout: timeout)
                }
            }
        }
        if let phys = settings.phys {
            try await attempt { () async throws(BluetoothError) in
                _ = try await setPHYs(transmit: phys, receive: phys, timeout: timeout)
            }
        }
    }

    private nonisolated(nonsending) func attempt(
        _ body: nonisolated(nonsending) () async throws(BluetoothError) -> Void
    ) async throws(BluetoothError) {
        do {
            try await body()
        } catch {
            switch error.code {
            case .disconnected, .cancelled, .notPermitted, .timedOut: throw error
            default: log.debug("\(error)")
            }
        }
    }
}
