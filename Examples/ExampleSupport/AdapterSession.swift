import BluetoothLE
import Glibc
import Logging

extension CommonOptions {
    /// Opens the adapter that -i names on the simulated radio or on the real one, powers it on unless --no-power-on was
    /// given, runs `body` and closes it.
    public func withAdapter<Value: Sendable>(
        _ console: Console, _ body: @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        try await withAdapter(console, on: makeKernel(), body)
    }

    /// As ``withAdapter(_:_:)``, where with --simulate another machine is on the same radio, which does what `visit`
    /// says meanwhile; its failure is the program's.
    public func withAdapter<Value: Sendable>(
        _ console: Console, visitedBy visit: @escaping @Sendable (Adapter) async throws -> Void,
        _ body: @escaping @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        guard simulate else { return try await withAdapter(console, body) }
        let kernels = SimulatedWorld.makeKernels()
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await withAdapter(console, on: kernels.own, body) }
            group.addTask {
                let visitor = try await Adapter.open(on: kernels.visitor)
                try await visit(visitor)
                await visitor.close()
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    private func withAdapter<Value: Sendable>(
        _ console: Console, on kernel: (any BluetoothKernel)?, _ body: @Sendable (Adapter) async throws -> Value
    ) async throws -> Value {
        let selector = adapter.flatMap { AdapterSelector($0) } ?? .first
        let trace = try await openTrace(console, on: kernel)
        let result: Result<Value, any Error>
        do {
            let adapter = try await Adapter.open(
                selector, power: powerOn ? .powerOn : .leave, bonds: .store(try bondStore()), on: kernel, log: log,
                trace: trace)
            do { result = .success(try await body(adapter)) } catch { result = .failure(error) }
            await adapter.close()
        } catch {
            result = .failure(error)
        }
        // In a task of its own, which Ctrl-C does not cancel: the file is to be complete.
        if let trace { await Task { await trace.close() }.value }
        return try result.get()
    }

    /// The trace that --trace asks for. A file that cannot be made ends the program; one that cannot be written to its end
    /// is reported, and the program goes on.
    private func openTrace(_ console: Console, on kernel: (any BluetoothKernel)?) async throws -> PacketTrace? {
        guard let path = trace else { return nil }
        let writesToOutput = tracesToStandardOutput
        // Those of whoever has started the program are not closed on exec; its own are, and are none of the user's.
        if let number = ["/dev/fd/", "/proc/self/fd/"].first(where: path.hasPrefix)
            .flatMap({ CInt(path.dropFirst($0.count)) }), fcntl(number, F_GETFD) & FD_CLOEXEC != 0
        {
            throw ProgramError(.cannotCreate, "\(path) is not open: whoever starts the program has to open it.")
        }
        do throws(BluetoothError) {
            let trace = try await PacketTrace.open(
                path == "-" ? "/dev/stdout" : path, replacingExisting: force, on: kernel, log: log
            ) { error in
                // A reader that leaves ends the program, quietly, as it does with results.
                if writesToOutput, case .kernel(let cause)? = error.cause, cause.number == .brokenPipe {
                    return console.results.fail(EPIPE)
                }
                console.results.hasLostTrace = true
                console.message("\(error)")
            }
            switch trace.source {
            case .monitor: console.detail("recording all packets of all adapters in \(path)")
            case .synthesised:
                console.detail("recording this program's own packets in \(path); all need CAP_NET_RAW")
            }
            return trace
        } catch {
            guard error.code == .failed else { throw error }
            var error = error
            if case .kernel(let cause)? = error.cause, cause.number == .fileExists {
                error.remedy = "Choose another name; --force replaces it."
            }
            throw ProgramError(.cannotCreate, error.withoutRemedy, remedy: error.remedy)
        }
    }

    /// What the library tells on standard error: oddities with -v, every packet with -vv.
    private var log: Logger {
        var log = Logger(label: "bluetooth", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = verbose > 1 ? .trace : verbose > 0 ? .debug : .notice
        return log
    }

    /// Where bonds are kept: where --bonds says, with --simulate in memory with one to look at, else in the user's files.
    public func bondStore() throws -> any BondStore {
        if simulate, bonds == nil { return SimulatedWorld.bonds }
        return try FileBondStore(directory: bonds, log: log)
    }

    /// The simulated radio with --simulate; nil for the real one.
    public func makeKernel() -> (any BluetoothKernel)? {
        simulate ? SimulatedWorld.makeKernel() : nil
    }
}

/// Runs `body` and cancels it after `limit`; nil when that happened.
public func withTimeLimit<Value: Sendable>(
    _ limit: Duration?, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
    guard let limit else { return try await body() }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
