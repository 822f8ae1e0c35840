import BluetoothKernelHost
import BluetoothSockets
import BluetoothSystem
import Logging
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The trace that `BLUETOOTH_TRACE=FILE` requests of a process whose adapters the environment selects. All adapters share
/// it, and it records as long as the process runs.
package enum EnvironmentTrace {
    package static let variable = "BLUETOOTH_TRACE"

    /// The file; nil without the variable, and in secure execution.
    package static let path = SystemFiles.trustedEnvironment(variable) { message in
        Logger(label: "bluetooth.trace").warning("\(message)")
    }.map { expanded($0) }

    private static let opening = Mutex<Task<PacketTrace, any Error>?>(nil)

    /// A program's own trace; without one, that of the environment, unless the program has chosen the kernel.
    static func trace(
        _ own: PacketTrace?, on kernel: any BluetoothKernel
    ) async throws(BluetoothError) -> PacketTrace? {
        guard own == nil, let path, isEnvironments(kernel) else { return own }
        let task = opening.withLock { opening in
            opening = opening ?? Task { try await PacketTrace.open(path, on: kernel) }
            return opening
        }
        do {
            return try await task?.value
        } catch {
            throw BluetoothError(
                .failed, .init("record packets"), "\(variable): \((error as? BluetoothError)?.message ?? "\(error)")",
                remedy: "Name a new file; %p in the name is the process, %t the time.")
        }
    }

    /// A file's name with the process for `%p`, the seconds since 1970 for `%t`, and `%` for `%%`.
    package static func expanded(
        _ name: String, process: Int32 = getpid(), seconds: Int64 = SystemClock.microsecondsSince1970 / 1_000_000
    ) -> String {
        name.split(separator: "%%", omittingEmptySubsequences: false).map {
            $0.replacing("%p", with: "\(process)").replacing("%t", with: "\(seconds)")
        }.joined(separator: "%")
    }
}
