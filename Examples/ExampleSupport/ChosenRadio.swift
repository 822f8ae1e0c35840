import BluetoothGateway
import BluetoothLE

/// A device that a command has found.
enum FoundDevice {
    case address(BluetoothAddress)
    /// By its key, at the address it has now.
    case identity(DeviceIdentity)
}

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

    func connect(
        to device: FoundDevice, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        switch device {
        case .address(let peer): try await connect(to: peer, options: options)
        case .identity(let device): try await connect(to: device, options: options)
        }
    }

    func keepConnected(to device: FoundDevice, options: ConnectionOptions) -> KeptConnection {
        switch device {
        case .address(let peer): keepConnected(to: peer, options: options)
        case .identity(let device): keepConnected(to: device, options: options)
        }
    }
}

extension CommonOptions {
    /// Opens the adapter or the adapters that -i selects, runs `body`, and closes them.
    public func withRadio<Value: Sendable>(
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
