import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets
import Glibc
import Synchronization

/// What epoll says of a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let input = Readiness(rawValue: EPOLLIN.rawValue)
    static let output = Readiness(rawValue: EPOLLOUT.rawValue)
    /// Told whether asked for or not.
    static let ended = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// Takes what epoll says of a descriptor. Called on the loop's thread.
protocol ReadinessHandler: AnyObject, Sendable {
    func handle(_ readiness: Readiness)
}

/// A descriptor's place in a driver's table. One that has been removed is never mistaken for its successor.
struct Registration {
    fileprivate let index: Int
    fileprivate let generation: UInt32

    fileprivate init(index: Int, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    fileprivate init(token: UInt64) {
        index = Int(token & 0xFFFF_FFFF)
        generation = UInt32(truncatingIfNeeded: token >> 32)
    }

    fileprivate var token: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}

/// Waits with epoll on one thread.
///
/// The kernel is told tokens, not pointers, and every event of a batch looks its descriptor up again: one that an
/// earlier event of the same batch has removed is found missing.
//
// Unchecked because of the table, the buffers and the endings, which the loop's thread alone touches: `wait` runs on
// it, and sockets are used on it. What other threads reach is immutable, atomic or under a mutex.
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
    /// How many waits have ended so far.
    private(set) var waitCount: UInt64 = 0

    /// Where packets are received.
    let receiveBuffer = ReceiveBuffer()

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
        epoll_event(events: EPOLLIN.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: wakeToken))
    }

    deinit {
        events.deallocate()
    }

    // MARK: EventLoopDriver

    var now: KernelInstant { KernelInstant(nanoseconds: monotonicNanoseconds()) }

    var isOnLoopThread: Bool { loopThread.load(ordering: .relaxed) == currentThread() }

    func start(_ body: @escaping @Sendable () -> Void) {
        thread.start { [self] in
            loopThread.store(currentThread(), ordering: .relaxed)
            body()
            closeDropped(isLast: true)
            loopThread.store(0, ordering: .relaxed)
        }
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
                    // Before Linux 5.11, or kept from us by a sandbox that does not know it.
                    hasPreciseWait = false
                }
            }
            return try epoll.epollWait(events, nanoseconds: timeout)
        } catch {
            recover(timeout)
            return 0
        }
    }

    /// Goes on after waiting has failed, as it does when somebody in this process has closed our descriptor.
    ///
    /// What was registered is lost with the descriptor, so every socket is told to end, which it can tell its user. Without the means
    /// to be woken up, the loop looks for work ten times a second: poorly, but those who wait hear of it.
    func recover(_ timeout: Int64?) {
        // Where the number is still ours, it knows our event; another's descriptor is not ours to close.
        if (try? epoll.epollControl(EPOLL_CTL_MOD, wakeEvent, Self.wakeInterest)) == nil { epoll.forget() }
        epoll.close()
        do throws(KernelError) {
            epoll = try Self.makeEpoll(wakeEvent)
        } catch {
            var pause = timespec(tv_sec: 0, tv_nsec: Int(min(timeout ?? .max, 100_000_000)))
            nanosleep(&pause, nil)
        }
        for handler in slots.compactMap(\.handler) { handler.handle(.ended) }
    }

    /// The descriptor waited on, for a test that takes it away.
    var epollNumber: CInt { epoll.number }

    // MARK: Descriptors

    /// Tells `handler` from now on what it `wants` to know of `descriptor`.
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

    /// Changes what a registered descriptor wants to know.
    func update(
        _ registration: Registration, _ descriptor: borrowing FileDescriptor, for wants: Readiness
    ) throws(KernelError) {
        try control(EPOLL_CTL_MOD, registration, descriptor, wants)
    }

    /// Tells nothing more, not even what this batch of events still holds.
    func deregister(_ registration: Registration, _ descriptor: borrowing FileDescriptor) {
        guard isCurrent(registration) else { return }
        // It can fail only for a descriptor that is not there, which is what is wanted.
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

    /// Has `socket` told that it has ended after the events that are waiting, since the call that noticed must not.
    func endSoon(_ socket: DescriptorSocket) {
        endings.append(socket)
    }

    /// Closes a socket that nobody uses any more, from whichever thread dropped it.
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

/// The one buffer that packets are received into.
///
/// Lent for the duration of a call; a call from within another gets memory of its own.
final class ReceiveBuffer {
    /// The longest L2CAP or HCI packet with its headers fits.
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
