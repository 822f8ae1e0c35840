@_spi(ExperimentalCustomExecutors) import _Concurrency
import BluetoothHost
import BluetoothLinux
import BluetoothLoop
import BluetoothSystem
import CBluetoothMainLoop
import Dispatch

/// A program whose main actor runs on the event loop of this machine's adapters: it calls `body`, and ends with it.
///
/// The exit status is 0. An error is printed to standard error, and the status is then its `exitStatus` if it is a
/// `BluetoothError`, and 1 if it is another.
///
/// It is called on the main thread, by a `main` that is not `async`, before anything of the library; otherwise the program
/// traps.
public func runOnMainLoop(_ body: @escaping @MainActor () async throws -> Void) -> Never {
    dispatchPrecondition(condition: .onQueue(.main))
    precondition(withUnsafeCurrentTask { $0 == nil }, "runOnMainLoop is called by a main function that is not async")
    do {
        let kernel = try LinuxKernel.shared
        kernel.runMainActor {
            _createExecutors(factory: MainLoopExecutors.self)
            Task { @MainActor in
                do {
                    try kernel.watch(event: _dispatch_get_main_queue_handle_4CF()) {
                        _dispatch_main_queue_callback_4CF(nil)
                    }
                    try await body()
                    exit(0)
                } catch {
                    exit(error)
                }
            }
        }
        preconditionFailure("the event loop was stopped")
    } catch {
        exit(error)
    }
}

private func exit(_ error: any Error) -> Never {
    let message = Array("\(error)\n".utf8)
    try? OutputFile("/dev/stderr", replacingExisting: false).write(message.span.bytes)
    exit((error as? BluetoothError)?.exitStatus ?? 1)
}

/// The loop of the process for the main actor, and Swift's thread pool for other tasks.
private enum MainLoopExecutors: ExecutorFactory {
    static var mainExecutor: any MainExecutor {
        guard let kernel = try? LinuxKernel.shared else { preconditionFailure("executors are created on the loop") }
        return kernel.loop
    }

    static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
}

// The loop itself, and not an executor in front of it, so that a call from the main actor to an adapter's actor stays on
// its executor.
@_spi(ExperimentalCustomExecutors) extension EventLoop: MainExecutor {
    /// Returns at once, since ``runOnMainLoop(_:)`` runs the loop.
    public func run() throws {}

    /// Has no effect: the loop runs until the process ends.
    public func stop() {}
}
