import BluetoothGateway
import BluetoothLE

/// What a command finds devices and connects to them with: an adapter, or several as one.
public typealias ChosenRadio = any Central

extension Central {
    /// The adapters of the central, of which an adapter is its only one.
    public var allAdapters: [Adapter] {
        get async {
            if let group = self as? AdapterGroup { return await group.adapters }
            return [self as? Adapter].compactMap(\.self)
        }
    }
}

extension CommonOptions {
    /// Opens the adapter or the adapters that -i selects, runs `body`, and closes them.
    func withRadio<Value: Sendable>(
        _ console: Console, _ body: @Sendable (ChosenRadio) async throws -> Value
    ) async throws -> Value {
        guard usesSeveralAdapters else {
            return try await withAdapter(console) { try await body($0) }
        }
        return try await withAdapterGroup(console) { try await body($0) }
    }

    /// As ``withRadio(_:_:)``, but waits for adapters that are absent, off or blocked: `absence` runs while there is none,
    /// with the reason, and is then cancelled. Of several, those that come later take part from then on.
    func withRadio<Value: Sendable>(
        _ console: Console, whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @escaping @Sendable (ChosenRadio) async throws -> Value
    ) async throws -> Value {
        guard usesSeveralAdapters else {
            return try await withAdapter(console, whileAbsent: absence) { try await body($0) }
        }
        return try await withAdapterGroup(console, whileAbsent: absence) { try await body($0) }
    }
}
