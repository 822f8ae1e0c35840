#if compiler(>=6.3)
    import BluetoothLE
    import BluetoothLinux
    import BluetoothLoop
    import CoreBluetooth
    import LINBLE

    /// An actor on a loop.
    private actor Resident: LoopActor {
        nonisolated let loop: EventLoop

        init(_ loop: EventLoop) { self.loop = loop }

        func isThere() -> Bool { loop.isCurrent }
    }

    extension SmallPrograms {
        /// Programs of the tests alone, for a main actor on the event loop.
        static let stories: [String: @MainActor () async throws -> Void] = [
            "Threads": { try await threads() }, "UART": { try await uart() }, "Monitor": { await monitor() },
        ]

        /// What runs where. Ends with an error.
        @MainActor private static func threads() async throws {
            let loop = try LinuxKernel.shared.loop
            print("main actor", loop.isCurrent)
            // An executor in front of the loop would enqueue the second call behind the first.
            loop.execute { print("queued call") }
            print("call of an actor on the loop", await Resident(loop).isThere())
            try await Task.sleep(for: .milliseconds(10))
            print("after a sleep", loop.isCurrent)
            print("task", await Task { loop.isCurrent }.value)
            print("detached task", await Task.detached { loop.isCurrent }.value)
            print("after a detached task", loop.isCurrent)
            let isOnMain = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    DispatchQueue.main.async {
                        MainActor.assumeIsolated { continuation.resume(returning: loop.isCurrent) }
                    }
                }
            }
            print("block of the main queue", isOnMain)
            struct Ended: Error {}
            throw Ended()
        }

        /// Bytes to a LINBLE that returns them. Its name may be an argument.
        @MainActor private static func uart() async throws {
            let name = CommandLine.arguments.dropFirst().first ?? "LINBLE-Z1"
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let uart = try await UARTConnection.open(.name(name), on: adapter)
            for length in 1...3 {
                try await uart.send([UInt8](repeating: 0x61, count: length))
                var received: [UInt8] = []
                while received.count < length, let more = try await uart.read() { received += more }
                print(received)
            }
            await uart.disconnect()
        }

        /// The callbacks are blocks of the main queue.
        @MainActor private static func monitor() async {
            let (lines, log) = AsyncStream.makeStream(of: String.self)
            let monitor = HeartRateMonitor { log.yield($0) }
            for await line in lines {
                print(line)
                if line.hasPrefix("75") { monitor.stop() }
                if line == "disconnected" { return }
            }
        }
    }
#else
    extension SmallPrograms {
        static let stories: [String: @MainActor () async throws -> Void] = [:]
    }
#endif
