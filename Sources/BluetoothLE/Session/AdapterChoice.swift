import BluetoothHost
import BluetoothLoop

/// The errors that end when an adapter is plugged in, powered on or released by its radio switch.
private let curable: Set<BluetoothError.Code> = [.noAdapter, .adapterOff, .adapterBlocked]

/// The wait for a change of the adapters.
private final class ChangeWait: DirectoryReceiver {
    private var change = Promise<Void, BluetoothError>()
    private var end: BluetoothError?

    /// The promise of a change from now on.
    func next() -> Promise<Void, BluetoothError> {
        change = Promise()
        if let end { change.fail(end) }
        return change
    }

    func receive(_ event: DirectoryEvent) {
        if case .ended(let reason) = event {
            end = reason
            change.fail(reason)
        } else {
            change.succeed()
        }
    }
}

// The selection of the adapter to open.
extension HostDirectory {
    /// Returns the adapter that `selector` matches, ready for use; of several the first that works.
    ///
    /// - Parameter timeout: the longest time to wait for a usable adapter; nil for no limit.
    nonisolated(nonsending) func choose(
        _ selector: AdapterSelector, _ requirements: AdapterRequirements, timeout: Duration?,
        store: any AdapterStore
    ) async throws(BluetoothError) -> AdapterInformation {
        let operation = BluetoothError.Operation("open \(selector)")
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        let changes = ChangeWait()
        receiver = changes
        defer { receiver = nil }
        while true {
            let change = changes.next()
            let reason: BluetoothError
            do throws(BluetoothError) {
                return try await firstThatWorks(selector, requirements, store, operation)
            } catch {
                guard curable.contains(error.code), deadline.map({ loop.now < $0 }) ?? true else { throw error }
                reason = error
            }
            do throws(BluetoothError) {
                let remaining = deadline.map { loop.now.duration(to: $0) }
                try await change.value(operation, timeout: remaining, on: loop)
            } catch {
                throw error.code == .timedOut ? reason : error
            }
        }
    }

    private nonisolated(nonsending) func firstThatWorks(
        _ selector: AdapterSelector, _ requirements: AdapterRequirements, _ store: any AdapterStore,
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdapterInformation {
        let matching = await adapters(store: store).filter(selector.matches)
        var errors: [BluetoothError] = []
        for information in matching.filter(\.isPowered) + matching.filter({ !$0.isPowered }) {
            do throws(BluetoothError) {
                return try await bring(information, to: .ready(requirements), store: store)
            } catch {
                if error.code == .cancelled { throw error }
                errors.append(error)
            }
        }
        throw combined(errors, selector, operation)
    }

    /// Combines the errors of all adapters that were tried.
    private func combined(
        _ errors: [BluetoothError], _ selector: AdapterSelector, _ operation: BluetoothError.Operation
    ) -> BluetoothError {
        guard let first = errors.first else {
            guard !adapters.isEmpty else { return .noAdapter(operation) }
            let names = adapters.map { "\($0.name) (\($0.address.digits))" }.joined(separator: ", ")
            let problem = selector == .first ? "No adapter supports LE" : "There is no such adapter: \(selector)"
            return BluetoothError(.noAdapter, operation, "\(problem); available are: \(names).")
        }
        guard errors.count > 1 else { return first }
        var combined = errors.first { curable.contains($0.code) } ?? first
        combined.operation = operation
        let parts = errors.map { error in
            // Most messages begin with the adapter's name.
            let name = error.operation.adapter ?? ""
            return error.message.hasPrefix(name) ? error.message : "\(name): \(error.message)"
        }
        combined.message = "No adapter can be used. " + parts.joined(separator: " ")
        var remedies: [String] = []
        for remedy in errors.compactMap(\.remedy) where !remedies.contains(remedy) { remedies.append(remedy) }
        combined.remedy = remedies.isEmpty ? nil : remedies.joined(separator: "\n")
        return combined
    }
}
