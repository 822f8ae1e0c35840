import BluetoothKernelHost
import BluetoothLoop
import BluetoothSystem
import Logging
import Synchronization

/// The trace that `BLUETOOTH_TRACE=FILE` requests of a process whose adapters the environment selects. All adapters share
/// it, and it records as long as the process runs.
package enum EnvironmentTrace {
    package static let variable = "BLUETOOTH_TRACE"

    /// The file; nil without the variable, and in secure execution.
    package static let path = SystemFiles.trustedEnvironment(variable) { message in
        Logger(label: "bluetooth.trace").warning("\(message)")
    }.map { expanded($0) }

    private static let opening = Mutex<Task<PacketTrace?, any Error>?>(nil)

    /// Opens the trace of the environment, as ``PacketTrace/open(_:replacingExisting:source:on:log:onFailure:)`` does, with
    /// errors that name the variable; nil without it.
    package static func open(
        on source: (any AdapterSource)?, log: Logger = Logger(label: "bluetooth.trace"),
        onFailure: (@Sendable (BluetoothError) -> Void)? = nil
    ) async throws(BluetoothError) -> PacketTrace? {
        guard let path else { return nil }
        let operation = BluetoothError.Operation("record packets")
        do throws(BluetoothError) {
            guard path != "-" else { throw .init(.failed, operation, "The file cannot be standard output.") }
            return try await PacketTrace.open(path, on: source, log: log, onFailure: onFailure)
        } catch {
            throw BluetoothError(
                error.code, operation, "\(variable): \(error.message)",
                remedy: "Name a new file; %p in the name is the process, %t the time.")
        }
    }

    /// A program's own trace; without one, that of the environment, unless the program has chosen the source.
    static func trace(
        _ own: PacketTrace?, on source: any AdapterSource
    ) async throws(BluetoothError) -> PacketTrace? {
        guard own == nil, path != nil, source.isEnvironments else { return own }
        let task = opening.withLock { opening in
            opening = opening ?? Task { try await open(on: source) }
            return opening
        }
        do {
            return try await task?.value ?? nil
        } catch {
            throw error as? BluetoothError ?? BluetoothError(.failed, .init("record packets"), "\(error)")
        }
    }

    /// A file's name with the process for `%p`, the seconds since 1970 for `%t`, and `%` for `%%`.
    package static func expanded(
        _ name: String, process: Int32 = getpid(), seconds: Int64 = SystemClock.microsecondsSince1970 / 1_000_000
    ) -> String {
        var text = ""
        var characters = name.makeIterator()
        while let character = characters.next() {
            switch character == "%" ? characters.next() : nil {
            case "p": text += "\(process)"
            case "t": text += "\(seconds)"
            case "%", nil: text.append(character)
            case let other?: text += "%\(other)"
            }
        }
        return text
    }
}
