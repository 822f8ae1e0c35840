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

    init(on loop: EventLoop, before deadline: KernelInstant?, _ body: @escaping () -> Void) {
        timer = loop.makeLocalTimer { [weak self] in
            self?.timer?.set(after: Self.interval)
            body()
        }
        let time = deadline.map { loop.now.duration(to: $0) }
        timer?.set(after: time.map { min(max($0 / 2, $0 - Self.answerTime), Self.interval) } ?? Self.interval)
    }

    func end() { timer = nil }
}
