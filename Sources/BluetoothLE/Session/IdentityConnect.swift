import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// What finds a device by its identity resolving key and connects to it: an adapter, or several as one.
protocol IdentityRadio {
    var loop: EventLoop { get }
    var log: Logger? { get }

    /// The identity address of a device with one of these keys that has a bond.
    nonisolated(nonsending) func bondedAddress(_ keys: [SecurityKey]) async -> BluetoothAddress?

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError)

    nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration?, options: ScanOptions
    ) async throws(BluetoothError) -> Advertisement

    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions, within time: inout ConnectTime
    ) async throws(BluetoothError) -> Connection
}

extension IdentityRadio {
    /// Connects to a device by its identity resolving key, at the address it has now.
    /// - Parameter onAddress: called before the connect to each address, with the advertisement in which the device had it;
    ///   nil if a bond says which it is.
    nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @Sendable (BluetoothAddress, Advertisement?) -> Void = { _, _ in }
    ) async throws(BluetoothError) -> Connection {
        let operation = BluetoothError.Operation("connect")
        if let address = await bondedAddress(identity.candidates) {
            // The host has the key, and finds the device itself.
            var time = ConnectTime(options.wholeTime, room: options.slotTimeout, from: loop.now)
            onAddress(address, nil)
            return try await connect(to: address, options, within: &time)
        }
        var time = ConnectTime(options.searchTime, room: options.slotTimeout, from: loop.now)
        if options.waitsForAdapter { try await ready(timeout: options.timeout) }
        var scan = options.search(.identity(identity) && .connectable, duplicates: .all)
        if options.waitsForAdapter { scan.whenAdapterUnavailable = .resume }
        var (options, hasBeenSeen) = (options, false)
        options.attributeTimeout = options.attributeTimeout ?? options.timeout
        while true {
            let found: Advertisement
            do throws(BluetoothError) {
                found = try await firstAdvertisement(timeout: time.remaining(at: loop.now), options: scan)
            } catch  where error.code == .notFound {
                throw BluetoothError(
                    hasBeenSeen ? .timedOut : .notFound, operation,
                    hasBeenSeen
                        ? "The device \(identity.name) advertised, but did not respond."
                        : "The device \(identity.name) was not seen\(options.searchTime.map { " within \($0.inSeconds)" } ?? "").",
                    remedy: BluetoothError.outOfReachRemedy, isRetryable: true)
            }
            if !hasBeenSeen, case .own = options.searchLimit {
                time = ConnectTime(options.timeout, room: options.slotTimeout, from: loop.now)
            }
            hasBeenSeen = true
            // The device may change its address before it answers; then it is found again.
            time.beginSlice(identitySlice, at: loop.now)
            do throws(BluetoothError) {
                let address = try found.connectableAddress(for: operation)
                onAddress(address, found)
                return try await connect(to: address, options.hearing(found), within: &time)
            } catch {
                time.endSlice()
                guard [.timedOut, .connectionFailed].contains(error.code), !time.isOver(at: loop.now),
                    !Task.isCancelled
                else { throw error }
                log?.debug("looking for \(identity.name) again: \(error.message)")
            }
        }
    }

    /// The time for one address of a device: longer than its longest advertising interval, and than a turn of an attempt.
    private var identitySlice: Duration { .seconds(11) }
}

extension ConnectionOptions {
    /// The time limit for finding a device by its key; nil for none.
    fileprivate var searchTime: Duration? {
        switch searchLimit {
        case .shared: timeout
        case .own(let limit): limit
        }
    }

    /// The time limit for finding a device and connecting to it together; nil for none.
    fileprivate var wholeTime: Duration? {
        switch searchLimit {
        case .shared: timeout
        case .own(let limit): timeout.flatMap { timeout in limit.map { $0 + timeout } }
        }
    }
}
