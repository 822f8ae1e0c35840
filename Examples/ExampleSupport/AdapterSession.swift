import BluetoothGateway
import BluetoothLE
import BluetoothSimulation
import BluetoothSystem
import Logging

extension CommonOptions {
    /// Opens the adapter that -i selects, simulated or real, powers it on unless --no-power-on is given, runs `body`, and
    /// closes it.
    public func withAdapter<Value: Sendable>(
        _ console: Console, _ body: @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console, on: try makeKernel(), body)
    }

    /// As ``withAdapter(_:_:)``, but waits for an adapter that is absent, off or blocked; `absence` runs meanwhile with
    /// the reason, and is then cancelled.
    func withAdapter<Value: Sendable>(
        _ console: Console, whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console, on: try makeKernel(), whileAbsent: absence, body)
    }

    /// As ``withAdapter(_:_:)``; with --simulate, a second machine on the same radio runs `visit` meanwhile, and its
    /// failure is the program's.
    public func withAdapter<Value: Sendable>(
        _ console: Console, visitedBy visit: @escaping @Sendable (Adapter) async throws -> Void,
        _ body: @escaping @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        guard simulate else { return try await withAdapter(console, body) }
        let kernels = SimulatedWorld.makeKernels()
        return try await firstResult(of: [
            { try await withAdapter(console, on: kernels.own, body) },
            {
                let visitor = try await Adapter.open(on: kernels.visitor)
                try await visit(visitor)
                await visitor.close()
                return nil
            },
        ])
    }

    /// Calls `body` with the chosen adapters as one, and closes them afterwards. Of all adapters, those that cannot be
    /// opened are left out with a message.
    public func withAdapterGroup<Value: Sendable>(
        _ console: Console, _ body: @Sendable (AdapterGroup) async throws -> Value
    ) async throws -> Value {
        let kernel = try makeKernel()
        return try await withTrace(console, on: kernel) { trace in
            var adapters: [Adapter] = []
            return try await finishing {
                try await body(try await openAdapters(console, on: kernel, trace, &adapters))
            } then: {
                for adapter in adapters { await adapter.close() }
            }
        }
    }

    private func openAdapters(
        _ console: Console, on kernel: (any AdapterSource)?, _ trace: PacketTrace?, _ adapters: inout [Adapter]
    ) async throws -> AdapterGroup {
        let opening = AdapterOpening(self, bonds: BondStorage.store(try bondStore()), on: kernel, trace)
        let takesAll = adapter == "all"
        for selector in try await selectors(on: kernel) {
            do throws(BluetoothError) {
                adapters.append(try await opening.open(selector, timeout: .zero))
            } catch {
                guard takesAll, error.code != .cancelled else { throw error }
                console.message("skipping \(selector): \(error.message)")
            }
        }
        guard !adapters.isEmpty else {
            throw ProgramError(
                .noBluetooth, "No Bluetooth adapter can be used.", remedy: "Look for the reason with: ble doctor")
        }
        return try await AdapterGroup(adapters)
    }

    /// The adapters that -i names, each once, or all that are present.
    func selectors(on kernel: (any AdapterSource)?) async throws -> [AdapterSelector] {
        let present = try await Adapter.all(on: kernel)
        let selectors = try adapterOptions.selectors()
        guard !selectors.isEmpty else { return present.filter(\.isLowEnergySupported).map { .id($0.id) } }
        // Before one is powered on.
        for adapter in present {
            let names = selectors.filter { $0.matches(adapter) }
            guard names.count < 2 else {
                throw ProgramError(.usage, "--adapter names \(adapter.name) twice: \(names[0]) and \(names[1]).")
            }
        }
        return selectors
    }

    private func withAdapter<Value: Sendable>(
        _ console: Console, on kernel: (any AdapterSource)?,
        whileAbsent absence: (@Sendable (BluetoothError) async -> Void)? = nil,
        _ body: @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        try await withTrace(console, on: kernel) { trace in
            let former = privacy == nil ? [] : (try? await Adapter.all(on: kernel)) ?? []
            let adapter = try await openAdapter(on: kernel, trace, whileAbsent: absence)
            tellPrivacy(of: adapter.information, since: former, console)
            return try await finishing {
                try await body(adapter)
            } then: {
                await adapter.close()
            }
        }
    }

    /// Says what --privacy has changed, which outlives the program.
    private func tellPrivacy(of adapter: AdapterInformation, since former: [AdapterInformation], _ console: Console) {
        let before = former.first { $0.id == adapter.id }?.usesPrivateAddresses
        guard let before, before != adapter.usesPrivateAddresses else { return }
        console.message(
            before
                ? "\(adapter.name) uses its identity address from now on, for all programs."
                : "\(adapter.name) uses private addresses from now on, for all programs; --privacy off ends that.")
    }

    /// Runs `body` with the trace that --trace requests, nil without the option, and completes its file.
    public func withTrace<Value: Sendable>(
        _ console: Console, on kernel: (any AdapterSource)?, _ body: (PacketTrace?) async throws -> Value
    ) async throws -> Value {
        let trace = try await openTrace(console, on: kernel)
        return try await finishing {
            try await body(trace)
        } then: {
            // In a task of its own, which Ctrl-C does not cancel, so that the file is complete.
            if let trace { await Task { await trace.close() }.value }
        }
    }

    private func openAdapter(
        on kernel: (any AdapterSource)?, _ trace: PacketTrace?,
        whileAbsent absence: (@Sendable (BluetoothError) async -> Void)?
    ) async throws -> Adapter {
        if usesSeveralAdapters { throw ProgramError(.usage, Self.oneAdapter) }
        let opening = AdapterOpening(self, bonds: BondStorage.store(try bondStore()), on: kernel, trace)
        let selector = adapter.flatMap { AdapterSelector($0) } ?? .first
        do throws(BluetoothError) {
            return try await opening.open(selector, timeout: .zero)
        } catch {
            guard let absence, error.isAdapterAbsent else { throw error }
            return try await firstResult(of: [
                { try await opening.open(selector, timeout: nil) },
                { [error] in
                    await absence(error)
                    return nil
                },
            ])
        }
    }

    /// The trace that --trace requests. If its file cannot be created the program ends; if a later write fails, the
    /// failure is printed and the program continues.
    private func openTrace(_ console: Console, on kernel: (any AdapterSource)?) async throws -> PacketTrace? {
        guard let path = trace ?? EnvironmentTrace.path else { return nil }
        let writesToOutput = tracesToStandardOutput
        // Inherited descriptors lack FD_CLOEXEC; those with it are the program's own and not for the user.
        if let number = ["/dev/fd/", "/proc/self/fd/"].first(where: path.hasPrefix)
            .flatMap({ CInt(path.dropFirst($0.count)) }), fcntl(number, F_GETFD) & FD_CLOEXEC != 0
        {
            throw ProgramError(
                .cannotCreate, "\(path) is not open.", remedy: "Open it in the shell, for example with 3>file.")
        }
        let report = { @Sendable (error: BluetoothError) in
            // A closed pipe ends the program quietly, as it does for results.
            if writesToOutput, let cause = error.cause?.kernelError, cause.number == .brokenPipe {
                return console.results.fail(EPIPE)
            }
            console.results.hasLostTrace = true
            console.message("\(error)")
        }
        do throws(BluetoothError) {
            let trace =
                if let own = trace {
                    try await PacketTrace.open(
                        own == "-" ? "/dev/stdout" : own, replacingExisting: force, on: kernel, log: makeLog(),
                        onFailure: report)
                } else {
                    try await EnvironmentTrace.open(on: kernel, log: makeLog(), onFailure: report)
                }
            switch trace?.source {
            case .monitor: console.detail("recording the packets of all adapters in \(path)")
            default:
                console.detail(
                    "recording this program's packets in \(path); recording those of all adapters requires root")
            }
            return trace
        } catch {
            guard error.code == .failed else { throw error }
            if trace != nil, let cause = error.cause?.kernelError {
                throw cannotCreate(path, cause.number.rawValue, remedy: error.remedy)
            }
            throw ProgramError(.cannotCreate, error.withoutRemedy, remedy: error.remedy)
        }
    }

    /// The library's log on standard error: debug messages with -v, every packet with -vv.
    /// - Parameter quietly: whether notices are left out without -v, since the program prints them as results.
    public func makeLog(quietly: Bool = false) -> Logger {
        var log = Logger(label: "bluetooth", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = verbose > 1 ? .trace : verbose > 0 ? .debug : quietly ? .error : .notice
        return log
    }

    /// The bond store: the --bonds directory; with --simulate, one in memory with a sample bond; on another simulated
    /// radio, an empty one in memory; else the user's files.
    public func bondStore() throws -> any BondStore {
        if simulate, bonds == nil { return SimulatedWorld.bonds }
        if bonds == nil, try world != nil || makeKernel() != nil { return SimulatedWorld.noBonds }
        // Once, before each attempt to read it is logged.
        if let bonds { try SecretFile.checkFolders([bonds], .init("read the bonds")) }
        return try FileBondStore(directory: bonds, log: makeLog())
    }

    /// The simulated kernel with --simulate or --world, or the one that `BLUETOOTH_SIMULATION` chooses; nil for the
    /// machine's own.
    /// - Parameter adapterCount: the number of adapters of the machine with --simulate.
    public func makeKernel(adapterCount: Int = 1) throws -> (any AdapterSource)? {
        simulate ? SimulatedWorld.makeKernel(adapterCount: adapterCount) : try makeWorld() ?? .environment
    }
}

extension CommonOptions {
    /// Reports the variable of the radio if a program with file capabilities ignores it.
    func reportIgnored(
        _ variable: String = EnvironmentRadio.variable, isSecure: Bool = SystemFiles.isSecureExecution,
        _ report: (String) -> Void
    ) {
        guard !simulate, world == nil else { return }
        _ = SystemFiles.trustedEnvironment(variable, isSecure: isSecure) { report("\($0) Use --world FILE.") }
    }
}

/// Runs `body` until it ends or `limit` is over, which is no error: the result is nil then.
public func upTo<Value: Sendable>(
    _ limit: Duration?, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
    let result: Result<Value, any Error>
    do {
        result = try await withTimeLimit(limit) {
            // A time limit within `body` is an error.
            do { return .success(try await body()) } catch { return .failure(error) }
        }
    } catch {
        return nil
    }
    return try result.get()
}
