import BluetoothLE
import BluetoothSockets
import BluetoothSystem
import Dispatch
import Glibc

#if compiler(>=6.3)
    import BluetoothMainLoop
#endif

/// The programs of `Examples/Small` in one executable, so that the tests run them as processes and link one.
///
/// The environment chooses: `SMALL_PROGRAM=Scan`. The arguments, standard input and everything else are the program's. With
/// `SMALL_VISITOR=1` a central connects to it and prints a line when it has ended. With `SMALL_MAIN_LOOP=1` the main actor
/// runs on the event loop.
@main enum SmallPrograms {
    static func main() {
        #if compiler(>=6.3)
            if SystemFiles.environment("SMALL_MAIN_LOOP") != nil { runOnMainLoop { try await run() } }
        #endif
        // As an asynchronous `main` is run.
        Task { @MainActor in
            do {
                try await run()
                exit(0)
            } catch {
                print(error)
                exit(1)
            }
        }
        dispatchMain()
    }

    @MainActor private static func run() async throws {
        guard let name = SystemFiles.environment("SMALL_PROGRAM"), let program = all[name] ?? stories[name] else {
            print("SMALL_PROGRAM is none of", all.keys.sorted().joined(separator: ", "))
            exit(64)
        }
        if let visit = Visitors.all[name], SystemFiles.environment("SMALL_VISITOR") != nil {
            Task { await Visitors.run(visit) }
        }
        try await program()
    }
}

extension Adapter {
    /// Opens hci0, since the visitors use hci1. The compiler prefers it to the library's, which has more parameters.
    static func open(power: PowerPolicy, on kernel: (any AdapterSource)?) async throws(BluetoothError) -> Adapter {
        try await open(.index(0), power: power, on: kernel)
    }
}
