import CoreBluetooth
import Foundation
import Testing

// What the guide has in place of DispatchSerialQueue's executor.

// Begin
private final class QueueExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "bluetooth")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private actor Bluetooth {
    static let executor = QueueExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }
}
// End

extension Bluetooth {
    fileprivate func expectQueue() { dispatchPrecondition(condition: .onQueue(Self.executor.queue)) }
}

@Suite struct QueueExecutorTests {
    @Test func theActorRunsOnTheQueue() async {
        await Bluetooth().expectQueue()
    }

    @Test func itIsThatOfTheGuide() throws {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Docs/Guide/PortingCoreBluetooth.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let code = source.components(separatedBy: "// Begin\n")[1].components(separatedBy: "// End\n")[0]
        #expect(page.contains("```swift\n\(code.replacing("private ", with: ""))```"))
    }
}
