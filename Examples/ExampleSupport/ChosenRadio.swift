import BluetoothLE

/// A device that a command has found.
enum FoundDevice {
    case address(BluetoothAddress)
    /// By its key, at the address it has now.
    case identity(DeviceIdentity)
}

/// What a command finds devices and connects to them with: an adapter, or several as one.
public enum ChosenRadio: Sendable {
    /// One adapter.
    case adapter(Adapter)
    /// Several adapters as one: the one that suits best has the link.
    case group(AdapterGroup)

    /// The adapters.
    public var adapters: [Adapter] {
        get async {
            switch self {
            case .adapter(let adapter): [adapter]
            case .group(let group): await group.adapters
            }
        }
    }

    private var loop: EventLoop {
        switch self {
        case .adapter(let adapter): adapter.loop
        case .group(let group): group.loop
        }
    }

    /// The first advertisement that fulfils a condition.
    func firstAdvertisement(
        timeout: Duration?, options: ScanOptions, where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement {
        switch self {
        case .adapter(let adapter):
            try await adapter.firstAdvertisement(timeout: timeout, options: options, where: condition)
        case .group(let group):
            try await group.firstAdvertisement(timeout: timeout, options: options, where: condition).advertisement
        }
    }

    func connect(
        to device: FoundDevice, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        switch (self, device) {
        case (.adapter(let adapter), .address(let peer)): try await adapter.connect(to: peer, options: options)
        case (.adapter(let adapter), .identity(let device)): try await adapter.connect(to: device, options: options)
        case (.group(let group), .address(let peer)): try await group.connect(to: peer, options: options)
        case (.group(let group), .identity(let device)): try await group.connect(to: device, options: options)
        }
    }

    func keepConnected(to device: FoundDevice, options: ConnectionOptions) -> KeptConnection {
        switch (self, device) {
        case (.adapter(let adapter), .address(let peer)): adapter.keepConnected(to: peer, options: options)
        case (.adapter(let adapter), .identity(let device)): adapter.keepConnected(to: device, options: options)
        case (.group(let group), .address(let peer)): group.keepConnected(to: peer, options: options)
        case (.group(let group), .identity(let device)): group.keepConnected(to: device, options: options)
        }
    }

    /// Waits for an adapter that is on.
    func ready() async throws(BluetoothError) {
        switch self {
        case .adapter(let adapter): try await adapter.ready(timeout: nil)
        case .group(let group): try await group.ready(timeout: nil)
        }
    }

    /// Runs `body` on the event loop, which all adapters of a machine share.
    public func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await withTaskExecutorPreference(loop) { try await body() }
    }
}

extension CommonOptions {
    /// Opens the adapter or the adapters that -i selects, runs `body`, and closes them.
    public func withRadio<Value: Sendable>(
        _ console: Console, _ body: @Sendable (ChosenRadio) async throws -> Value
    ) async throws -> Value {
        guard usesSeveralAdapters else {
            return try await withAdapter(console) { try await body(.adapter($0)) }
        }
        return try await withAdapterGroup(console) { try await body(.group($0)) }
    }

    /// As ``withRadio(_:_:)``, but waits for adapters that are absent, off or blocked: `absence` runs while there is none,
    /// with the reason, and is then cancelled. Of several, those that come later take part from then on.
    func withRadio<Value: Sendable>(
        _ console: Console, whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @escaping @Sendable (ChosenRadio) async throws -> Value
    ) async throws -> Value {
        guard usesSeveralAdapters else {
            return try await withAdapter(console, whileAbsent: absence) { try await body(.adapter($0)) }
        }
        return try await withAdapterGroup(console, whileAbsent: absence) { try await body(.group($0)) }
    }
}
