import BluetoothLoop
import BluetoothSockets

/// The doubt, while an attempt waits for a device, whether the controller still looks for it: one that hangs does so without
/// a sign.
///
/// It comes early enough for an answer within the attempt's time limit, and every ten minutes.
final class Doubt {
    private var timer: LoopTimer?

    private static let interval = Duration.seconds(600)
    /// The time that a controller has to answer a command, and a second.
    private static let answerTime = Duration.seconds(6)
    /// The time in which most devices answer.
    private static let shortestWait = Duration.seconds(1)

    init(on loop: EventLoop, before deadline: KernelInstant?, _ body: @escaping () -> Void) {
        timer = loop.makeTimer(of: self) { doubt in
            doubt.timer?.set(after: Self.interval)
            body()
        }
        let time = deadline.map { loop.now.duration(to: $0) }
        let wait = time.map { max(min($0 / 2, Self.shortestWait), $0 - Self.answerTime) } ?? Self.interval
        timer?.set(after: min(wait, Self.interval))
    }

    func end() { timer = nil }
}
