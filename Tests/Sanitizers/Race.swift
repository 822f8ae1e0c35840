// The thread sanitizer reports nothing of a mutex that two threads contend for; with an argument, which leaves it out, a race.
import Foundation
import Synchronization

/// Unchecked: what is shown is whether its variable is protected.
private final class Shared: @unchecked Sendable {
    var count = 0
    let mutex = Mutex(())
}

private let shared = Shared()
private let isRacing = CommandLine.arguments.count > 1
private let threads = (0..<2).map { _ in
    Thread {
        for _ in 0..<100_000 {
            if isRacing { shared.count += 1 } else { shared.mutex.withLock { _ in shared.count += 1 } }
        }
    }
}
for thread in threads { thread.start() }
for thread in threads { while !thread.isFinished { usleep(100) } }
