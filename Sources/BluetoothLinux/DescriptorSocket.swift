import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem

/// The common part of all sockets of this kernel: a descriptor, its events, and its end.
///
/// Each socket owns one. The driver retains it while it is registered, so that a socket may be dropped or closed from
/// within its own events.
//
// Unchecked: used on the loop's thread only, as the kernel seam requires; a socket dropped elsewhere is passed to that
// thread to be closed (`EpollDriver.closeUnused`).
// Holds more than ten variables: one descriptor from its attempt to connect to its end.
final class DescriptorSocket: ReadinessHandler, @unchecked Sendable {
    private let driver: EpollDriver
    private(set) var descriptor: FileDescriptor
    private var handler: SocketHandler?
    private var registration: Registration?
    private var isReading = true
    private var awaitsOutput = false
    /// Whether a connection attempt is in progress.
    private(set) var isConnecting = false
    /// Ends an attempt that the kernel has lost; nil once it has succeeded.
    private var attemptLimit: LoopTimer?
    private var hasEnded = false
    private var backlog = Backlog()
    /// The error that a call received from the socket before the end could be reported.
    @Boxed private var takenError: KernelError?

    init(_ descriptor: consuming FileDescriptor, driver: EpollDriver) {
        self.descriptor = descriptor
        self.driver = driver
    }

    /// Starts reporting events to `handler`.
    func start(_ handler: @escaping SocketHandler) throws(KernelError) {
        guard descriptor.isOpen else { return }
        self.handler = handler
        registration = try driver.register(descriptor, for: wants, handler: self)
    }

    /// Starts reporting the events of a connecting socket to `handler`: the first is that it is writable or closed.
    ///
    /// The kernel can lose an attempt that begins while it still gives up another to the same peer (seen on Linux
    /// 6.12); it then reports no event at all, not even the timeout. `limit` ends such an attempt.
    func startConnecting(
        limit: Duration, on loop: EventLoop, _ handler: @escaping SocketHandler
    ) throws(KernelError) {
        isConnecting = true
        awaitsOutput = true
        try start(handler)
        attemptLimit = loop.makeTimer(of: self, after: limit) { $0.driver.endSoon($0) }
    }

    // MARK: Calls

    @inline(__always)
    func send(_ packet: RawSpan) -> SendOutcome {
        guard descriptor.isOpen else { return .failed(KernelError("send", .notConnected)) }
        do throws(KernelError) {
            try descriptor.send(packet)
            return .sent
        } catch {
            return sendFailed(error)
        }
    }

    private func sendFailed(_ error: KernelError) -> SendOutcome {
        switch error.number {
        case .wouldBlock: return .wouldBlock
        case .messageTooLong, .notConnected, .brokenPipe, .notPermitted, .networkDown, .invalidArgument: break
        // On a link that has ended, the call consumes the reason.
        default: if descriptor.isHungUp { takenError = KernelError("recv", error.number) }
        }
        return .failed(error)
    }

    @inline(__always)
    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        guard descriptor.isOpen else { return .failed(KernelError("recv", .notConnected)) }
        return driver.receiveBuffer.lend { buffer in
            do throws(KernelError) {
                let count = try descriptor.receive(into: buffer)
                // No bytes are an empty packet, unless the other end is closed.
                guard count > 0 || !descriptor.isHungUp else { return receiveFailed(endError()) }
                guard count <= buffer.count else { return receiveFailed(KernelError("recv", .messageTooLong)) }
                backlog.didReceive()
                body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
                return .packet
            } catch {
                return receiveFailed(error)
            }
        }
    }

    private func receiveFailed(_ error: KernelError) -> ReceiveOutcome {
        if hasEnded { return .failed(error.number == .wouldBlock ? KernelError("recv", .notConnected) : error) }
        guard error.number != .wouldBlock, !isConnecting else { return .wouldBlock }
        if !$takenError.exists {
            takenError = error
            driver.endSoon(self)
        }
        return .failed(error)
    }

    func notifyWhenWritable() {
        guard !awaitsOutput else { return }
        awaitsOutput = true
        update()
    }

    func setReading(_ isOn: Bool) {
        guard isReading != isOn else { return }
        isReading = isOn
        update()
    }

    func close() {
        deregister()
        descriptor.close()
        attemptLimit = nil
        handler = nil
    }

    /// Closes the socket after its last user has dropped it, on any thread.
    func closeUnused() {
        driver.closeUnused(self)
    }

    /// Ends the socket with an error of this library.
    func fail(with error: KernelError) {
        guard !hasEnded, !$takenError.exists else { return }
        takenError = error
        driver.endSoon(self)
    }

    // MARK: Events

    private var wants: Readiness {
        var wants: Readiness = []
        if isReading { wants.insert(.input) }
        if awaitsOutput { wants.insert(.output) }
        return wants
    }

    private func update() {
        guard let registration else { return }
        do throws(KernelError) {
            try driver.update(registration, descriptor, for: wants)
        } catch {
            fail(with: error)
        }
    }

    private func deregister() {
        guard let registration else { return }
        self.registration = nil
        driver.deregister(registration, descriptor)
    }

    func handle(_ readiness: Readiness) {
        guard readiness.isDisjoint(with: .ended) else { return end() }
        if readiness.contains(.output), awaitsOutput {
            awaitsOutput = false
            isConnecting = false
            attemptLimit = nil
            update()
            handler?(.writable)
        }
        guard readiness.contains(.input) else { return }
        backlog.begin(inWait: driver.waitCount)
        repeat {
            // The handler may have closed the socket or paused reading.
            guard isReading, registration != nil else { return }
            handler?(.readable)
        } while backlog.isWorthAnotherTry()
    }

    /// Ends the socket for a reason of this library if the reason still applies: queued events were delivered before,
    /// and an attempt that succeeded by one of them is not over.
    func endIfDue() {
        if !$takenError.exists, isConnecting { takenError = KernelError("connect", .timedOut) }
        if $takenError.exists { end() }
    }

    /// Reports the end once, while queued packets can still be received, and closes.
    func end() {
        guard let handler, !hasEnded else { return }
        let error = endError()
        hasEnded = true
        deregister()
        handler(.closed(error))
        close()
    }

    private func endError() -> KernelError {
        if let takenError { return takenError }
        if let number = descriptor.takeError() { return KernelError(isConnecting ? "connect" : "recv", number) }
        // The kernel gives no reason if the other side closed normally.
        return isConnecting ? KernelError("connect", .connectionRefused) : KernelError("recv", .connectionReset)
    }
}

/// A policy for trying to receive another packet without asking the kernel which sockets are ready.
///
/// While packets arrive faster than they are processed, this saves every other system call; while they arrive one at a
/// time, each try is one unsuccessful call. So it tries if a socket was ready in several consecutive waits, and pauses
/// for a while after an unsuccessful receive.
struct Backlog {
    /// The number of packets one socket may deliver before it is another's turn.
    private static let turn = 16
    /// The number of consecutive waits in which a socket must be ready before a try.
    private static let promising: UInt8 = 2
    /// The same number after an unsuccessful receive.
    private static let backoffThreshold: UInt8 = 16

    private var lastWait: UInt64 = 0
    private var readyInARow: UInt8 = 0
    private var needed = Self.promising
    private var received = 0
    private var attempts = 0

    /// Records that the socket is ready, as the wait with this number reported.
    mutating func begin(inWait number: UInt64) {
        readyInARow = number == lastWait &+ 1 ? min(readyInARow, .max - 1) + 1 : 0
        lastWait = number
        (received, attempts) = (0, 0)
    }

    /// Records that a packet was received.
    mutating func didReceive() {
        received &+= 1
    }

    /// Whether to call the handler again in this turn.
    mutating func isWorthAnotherTry() -> Bool {
        attempts &+= 1
        guard readyInARow >= needed else { return false }
        if received < attempts {
            // With one packet there was none behind it.
            needed = attempts > 2 ? Self.promising : Self.backoffThreshold
            readyInARow = 0
            return false
        }
        return attempts < Self.turn
    }
}

/// A socket with the common part; it adds what its protocol requires.
protocol DescriptorBacked: PacketSocket {
    var socket: DescriptorSocket { get }
}

extension DescriptorBacked {
    func send(_ packet: RawSpan) -> SendOutcome { socket.send(packet) }
    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome { socket.receive(body) }
    func notifyWhenWritable() { socket.notifyWhenWritable() }
    func setReading(_ isOn: Bool) { socket.setReading(isOn) }
    func close() { socket.close() }
}
