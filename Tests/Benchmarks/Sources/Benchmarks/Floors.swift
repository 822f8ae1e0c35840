import CBenchmarkSupport
import Glibc

/// The failure of a system call of the benchmarks.
struct CallFailed: Error, CustomStringConvertible {
    var call: String
    var number = errno

    var description: String { "\(call): \(String(cString: strerror(number)))" }
}

/// A pair of connected sockets with packet boundaries, like L2CAP's.
private final class RawPair {
    let first: CInt
    let second: CInt

    init(isBlocking: Bool = false) throws {
        var pair: [CInt] = [0, 0]
        let type = CInt(SOCK_SEQPACKET.rawValue) | (isBlocking ? 0 : CInt(SOCK_NONBLOCK.rawValue))
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw CallFailed(call: "socketpair") }
        (first, second) = (pair[0], pair[1])
    }

    deinit {
        close(first)
        close(second)
    }
}

// The floors: the kernel's cost of the same work, without our code above its calls.
extension Floor {
    /// The shortest ATT_MTU; a value of 20 bytes fills it.
    static let packetLength = 23

    /// The floor of work without system calls: a measure of the processor.
    static let allocation = Floor(name: "malloc + free of 64 bytes") {
        { count in
            for _ in 0..<count {
                let block = malloc(64)
                consume(UInt(bitPattern: block))
                free(block)
            }
        }
    }

    /// One packet: sent, awaited and received.
    static let oneWay = oneWay()

    /// `count` packets of this length, each sent, awaited and received.
    static func oneWay(times count: Int = 1, packetsOf length: Int = packetLength) -> Floor {
        let calls = "send + epoll_wait + recv" + (length == packetLength ? "" : " of \(length) bytes")
        return Floor(
            name: count == 1 ? calls : "\(count) × \(calls)", factor: Double(count), isSystemCalls: true
        ) {
            let pair = try RawPair()
            let epoll = try Epoll([pair.second])
            return { count in
                withUnsafeTemporaryAllocation(byteCount: max(512, length), alignment: 16) { buffer in
                    for _ in 0..<count {
                        consume(send(pair.first, buffer.baseAddress, length, 0))
                        consume(epoll.wait())
                        consume(recv(pair.second, buffer.baseAddress, buffer.count, 0))
                    }
                }
            }
        }
    }

    /// One packet on each of `count` links in turn.
    static func oneWay(links count: Int) -> Floor {
        Floor(name: "send + epoll_wait + recv, \(count) links", isSystemCalls: true) {
            let pairs = try (0..<count).map { _ in try RawPair() }
            let epoll = try Epoll(pairs.map(\.second))
            return { count in
                withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
                    for index in 0..<count {
                        consume(send(pairs[index % pairs.count].first, buffer.baseAddress, packetLength, 0))
                        consume(recv(epoll.wait(), buffer.baseAddress, buffer.count, 0))
                    }
                }
            }
        }
    }

    /// A request and its response.
    static let roundTrip = Floor(name: "round trip, both ends in one epoll loop", isSystemCalls: true) {
        let pair = try RawPair()
        let epoll = try Epoll([pair.first, pair.second])
        return { count in
            withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
                for _ in 0..<count {
                    consume(send(pair.first, buffer.baseAddress, 3, 0))
                    for _ in 0..<2 {
                        let ready = epoll.wait()
                        consume(recv(ready, buffer.baseAddress, 512, 0))
                        if ready == pair.second { consume(send(pair.second, buffer.baseAddress, packetLength - 2, 0)) }
                    }
                }
            }
        }
    }
}

/// The floors themselves, and the cost of calls between threads.
func floorBenchmarks(_ harness: Harness) throws -> Report.Section {
    func measure(_ floor: Floor) throws -> Measurement {
        let body = try floor.prepare()
        return try harness.measure(floor.name) { body($0) }
    }
    return Report.Section(
        title: "Floors: bare system calls, packets of \(Floor.packetLength) bytes",
        measurements: [
            try sendReceive(harness), try measure(.oneWay), try measure(.roundTrip), try threadRoundTrip(harness),
            try oneWayToThread(harness), try measure(.allocation),
        ])
}

private func sendReceive(_ harness: Harness) throws -> Measurement {
    let pair = try RawPair()
    return try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
        try harness.measure("send + recv, one thread") { count in
            for _ in 0..<count {
                consume(send(pair.first, buffer.baseAddress, Floor.packetLength, 0))
                consume(recv(pair.second, buffer.baseAddress, 512, 0))
            }
        }
    }
}

/// Two threads that wait for each other: the cost of a call to another thread and back.
private func threadRoundTrip(_ harness: Harness) throws -> Measurement {
    let there = eventfd(0, 0)
    let back = eventfd(0, 0)
    guard there >= 0, back >= 0 else { throw CallFailed(call: "eventfd") }
    defer {
        close(there)
        close(back)
    }
    let thread = try Thread {
        var value: UInt64 = 0
        while true {
            consume(read(there, &value, 8))
            let isLast = value > 1
            value = 1
            consume(write(back, &value, 8))
            if isLast { return }
        }
    }
    let result = try harness.measure("eventfd round trip of two threads") { count in
        var value: UInt64 = 1
        for _ in 0..<count {
            value = 1
            consume(write(there, &value, 8))
            consume(read(back, &value, 8))
        }
    }
    var last: UInt64 = 2
    consume(write(there, &last, 8))
    thread.join()
    return result
}

private func oneWayToThread(_ harness: Harness) throws -> Measurement {
    let pair = try RawPair(isBlocking: true)
    let receiver = pair.second
    let thread = try Thread {
        withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
            while recv(receiver, buffer.baseAddress, 512, 0) > 1 {}
        }
    }
    let result = try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
        try harness.measure("one way, send and recv in two threads") { count in
            for _ in 0..<count { consume(send(pair.first, buffer.baseAddress, Floor.packetLength, 0)) }
        }
    }
    var last: UInt8 = 0
    consume(send(pair.first, &last, 1, 0))
    thread.join()
    return result
}

/// Waits until one of several descriptors is readable.
final class Epoll {
    private let epoll: CInt

    init(_ descriptors: [CInt]) throws {
        epoll = epoll_create1(0)
        guard epoll >= 0 else { throw CallFailed(call: "epoll_create1") }
        for descriptor in descriptors {
            var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: descriptor))
            guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { throw CallFailed(call: "epoll_ctl") }
        }
    }

    deinit { close(epoll) }

    /// The descriptor that is readable.
    func wait() -> CInt {
        var event = epoll_event()
        epoll_wait(epoll, &event, 1, -1)
        return event.data.fd
    }
}

/// A thread.
private struct Thread {
    private let thread: pthread_t

    private final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    init(_ body: @escaping () -> Void) throws {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        guard result == 0 else { throw CallFailed(call: "pthread_create", number: result) }
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }
}
