import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets
import Synchronization

/// The epoll events of a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static var input: Readiness { Readiness(rawValue: kernel_input_event) }
    static var output: Readiness { Readiness(rawValue: kernel_output_event) }
    /// Reported whether requested or not.
    static var ended: Readiness { Readiness(rawValue: kernel_end_events) }
}

/// A handler of a descriptor's epoll events. Called on the loop's thread.
protocol ReadinessHandler: AnyObject, Sendable {
    func handle(_ readiness: Readiness)
}

/// A descriptor's slot in a driver's table. A removed registration is never mistaken for its successor.
struct Registration {
    fileprivate let index: Int
    fileprivate let generation: UInt32

    fileprivate var token: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}

extension Registration {
    fileprivate init(token: UInt64) {
        self.init(index: Int(token & 0xFFFF_FFFF), generation: UInt32(truncatingIfNeeded: token >> 32))
    }
}

/// An event loop driver that waits with epoll on one thread.
///
/// The kernel stores tokens, not pointers, and every event of a batch looks its descriptor up again: one that an
/// earlier event of the same batch has removed is not found.
//
// Unchecked because of the table, the buffers and the endings, which only the loop's thread uses: `wait` runs on it,
// and sockets are used on it. State shared with other threads is immutable, atomic or under a mutex.
// Holds more than ten variables: one thread's descriptors and buffers, and what other threads leave for it.
final class EpollDriver: EventLoopDriver, @unchecked Sendable {
    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private static let wakeToken = UInt64.max

    private var epoll: FileDescriptor
    private let wakeEvent: FileDescriptor
    private let thread: WaitingThread
    private let loopThread = Atomic<UInt>(0)
    /// Sockets whose last user dropped them on another thread; nil once the loop's thread has ended.
    private let dropped = Mutex<[DescriptorSocket]?>([])

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var endings: [DescriptorSocket] = []
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 64)
    private var hasPreciseWait = true
    /// The number of completed waits.
    private(set) var waitCount: UInt64 = 0

    /// The buffer that packets are received into.
    let receiveBuffer = PacketBuffer()

    init() throws(KernelError) {
        wakeEvent = try .event()
        epoll = try Self.makeEpoll(wakeEvent)
        thread = try WaitingThread(named: "bluetooth-loop")
        events.initialize(repeating: epoll_event())
    }

    private static func makeEpoll(_ wakeEvent: borrowing FileDescriptor) throws(KernelError) -> FileDescriptor {
        let epoll = try FileDescriptor.epoll()
        try epoll.epollControl(EPOLL_CTL_ADD, wakeEvent, wakeInterest)
        return epoll
    }

    // Edge-triggered, so that a wake needs no read: each write reports once.
    private static var wakeInterest: epoll_event {
        epoll_event(events: kernel_input_event | kernel_edge_triggered, data: epoll_data_t(u64: wakeToken))
    }

    deinit {
        events.deallocate()
    }

    // MARK: EventLoopDriver

    var now: KernelInstant { KernelInstant(nanoseconds: monotonicNanoseconds()) }

    var isOnLoopThread: Bool { loopThread.load(ordering: .relaxed) == currentThread() }

    func start(_ body: @escaping @Sendable () -> Void) {
        thread.start { [self] in run(body) }
    }

    /// Makes the calling thread the loop's while it runs `body`; the thread that would have been started ends.
    func runOnCallingThread(_ body: () -> Void) {
        thread.start {}
        run(body)
    }

    private func run(_ body: () -> Void) {
        loopThread.store(currentThread(), ordering: .relaxed)
        body()
        closeDropped(isLast: true)
        loopThread.store(0, ordering: .relaxed)
    }

    func wake() {
        wakeEvent.signal()
    }

    func wait(until deadline: KernelInstant?) {
        closeDropped(isLast: false)
        let count = waitForEvents(until: endings.isEmpty ? deadline : .distantPast)
        waitCount &+= 1
        for index in 0..<count {
            let event = events[index]
            guard event.data.u64 != Self.wakeToken else { continue }
            let registration = Registration(token: event.data.u64)
            guard isCurrent(registration) else { continue }
            slots[registration.index].handler?.handle(Readiness(rawValue: event.events))
        }
        while !endings.isEmpty {
            let ending = endings
            endings.removeAll()
            for socket in ending { socket.endIfDue() }
        }
    }

    private func waitForEvents(until deadline: KernelInstant?) -> Int {
        let timeout = deadline.map { max(0, now.duration(to: $0).clampedNanoseconds) }
        do throws(KernelError) {
            if hasPreciseWait {
                do throws(KernelError) {
                    return try epoll.epollPreciseWait(events, nanoseconds: timeout)
                } catch  where error.number == .notImplemented || error.number == .notPermitted {
                    // Before Linux 5.11, or denied by a sandbox that does not know the call.
                    hasPreciseWait = false
                }
            }
            return try epoll.epollWait(events, nanoseconds: timeout)
        } catch {
            recover(timeout)
            return 0
        }
    }

    /// Recovers from a failed wait, which happens when code in this process has closed our descriptor.
    ///
    /// The registrations are lost with the descriptor, so every socket ends and reports that to its user. Without a
    /// wake-up descriptor the loop polls for work ten times a second: slow, but waiting callers are resumed.
    func recover(_ timeout: Int64?) {
        // If the number is still ours, it has our event registered; another owner's descriptor must not be closed.
        if (try? epoll.epollControl(EPOLL_CTL_MOD, wakeEvent, Self.wakeInterest)) == nil { epoll.relinquish() }
        epoll.close()
        do throws(KernelError) {
            epoll = try Self.makeEpoll(wakeEvent)
        } catch {
            var pause = timespec(tv_sec: 0, tv_nsec: Int(min(timeout ?? .max, 100_000_000)))
            nanosleep(&pause, nil)
        }
        for handler in slots.compactMap(\.handler) { handler.handle(.ended) }
    }

    /// The epoll descriptor, for a test that closes it.
    var epollNumber: CInt { epoll.number }

    // MARK: Descriptors

    /// Registers `handler` for the events `wants` of `descriptor`.
    func register(
        _ descriptor: borrowing FileDescriptor, for wants: Readiness, handler: any ReadinessHandler
    ) throws(KernelError) -> Registration {
        let index = freeSlots.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        let registration = Registration(index: index, generation: slots[index].generation)
        do throws(KernelError) {
            try control(EPOLL_CTL_ADD, registration, descriptor, wants)
        } catch {
            freeSlots.append(index)
            throw error
        }
        slots[index].handler = handler
        return registration
    }

    /// Registers a descriptor again after the epoll descriptor was lost.
    func restore(
        _ registration: Registration, _ descriptor: borrowing FileDescriptor, for wants: Readiness
    ) throws(KernelError) {
        try control(EPOLL_CTL_ADD, registration, descriptor, wants)
    }

    /// Changes the events requested for a registered descriptor.
    func update(
        _ registration: Registration, _ descriptor: borrowing FileDescriptor, for wants: Readiness
    ) throws(KernelError) {
        try control(EPOLL_CTL_MOD, registration, descriptor, wants)
    }

    /// Unregisters a descriptor, including its events in the current batch.
    func deregister(_ registration: Registration, _ descriptor: borrowing FileDescriptor) {
        guard isCurrent(registration) else { return }
        // It fails only for a descriptor that is not registered, which is the goal.
        try? control(EPOLL_CTL_DEL, registration, descriptor, [])
        slots[registration.index].generation &+= 1
        slots[registration.index].handler = nil
        freeSlots.append(registration.index)
    }

    private func isCurrent(_ registration: Registration) -> Bool {
        slots.indices.contains(registration.index) && slots[registration.index].generation == registration.generation
    }

    private func control(
        _ operation: CInt, _ registration: Registration, _ descriptor: borrowing FileDescriptor, _ wants: Readiness
    ) throws(KernelError) {
        try epoll.epollControl(
            operation, descriptor, epoll_event(events: wants.rawValue, data: epoll_data_t(u64: registration.token)))
    }

    // MARK: Endings

    /// Ends `socket` after the queued events, since the call that noticed the end must not call back.
    func endSoon(_ socket: DescriptorSocket) {
        endings.append(socket)
    }

    /// Closes an unused socket, from any thread.
    func closeUnused(_ socket: DescriptorSocket) {
        guard !isOnLoopThread else { return socket.close() }
        let isQueued = dropped.withLock { dropped -> Bool in
            dropped?.append(socket)
            return dropped != nil
        }
        if isQueued {
            wake()
        } else {
            socket.close()
        }
    }

    private func closeDropped(isLast: Bool) {
        let sockets = dropped.withLock { dropped -> [DescriptorSocket]? in
            guard isLast || dropped?.isEmpty == false else { return nil }
            let sockets = dropped
            dropped = isLast ? nil : []
            return sockets
        }
        for socket in sockets ?? [] { socket.close() }
    }
}

/// The buffer that packets are received into.
///
/// Lent for the duration of a call; a nested call gets memory of its own.
final class PacketBuffer {
    /// The capacity, sufficient for the longest L2CAP or HCI packet with its headers.
    static let capacity = 65536

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private var isLent = false

    deinit {
        memory.deallocate()
    }

    @inline(__always)
    func lend<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        guard !isLent else {
            let own = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.capacity, alignment: 16)
            defer { own.deallocate() }
            return body(own)
        }
        isLent = true
        defer { isLent = false }
        return body(memory)
    }
}
