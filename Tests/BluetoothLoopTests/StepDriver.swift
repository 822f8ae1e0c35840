import BluetoothLoop
import Dispatch
import Glibc
import Synchronization

/// Numbers recorded by any thread.
final class Log: Sendable {
    private let state = Mutex<[Int]>([])

    var numbers: [Int] { state.withLock { $0 } }

    func add(_ number: Int) {
        state.withLock { $0.append(number) }
    }
}

/// A driver whose clock jumps to the awaited deadline, and which counts its uses.
final class StepDriver: EventLoopDriver {
    private let time = Mutex<Int64>(0)
    private let thread = Atomic<UInt>(0)
    private let signal = DispatchSemaphore(value: 0)
    let waits = Atomic<Int>(0)
    let wakes = Atomic<Int>(0)
    let hasEnded = DispatchSemaphore(value: 0)

    var now: KernelInstant { KernelInstant(nanoseconds: time.withLock { $0 }) }

    var isOnLoopThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    func start(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "loop").async { [self] in
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            body()
            thread.store(0, ordering: .relaxed)
            hasEnded.signal()
        }
    }

    func wait(until deadline: KernelInstant?) {
        waits.add(1, ordering: .relaxed)
        guard let deadline else { return signal.wait() }
        time.withLock { $0 = max($0, deadline.nanoseconds) }
    }

    func wake() {
        wakes.add(1, ordering: .relaxed)
        signal.signal()
    }
}
