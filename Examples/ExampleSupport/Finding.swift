import BluetoothLE
import Synchronization

extension CommonOptions {
    /// Waits for the device that a query describes, as --pick demands, however long that takes.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage``, with the devices, if several match.
    func findPatiently(_ query: DeviceQuery, on radio: ChosenRadio) async throws -> DeviceSearch.Sighting {
        while true {
            let search = SharedSearch(pick: pick, isOnCoded: coded)
            let first = try await search.next(query, on: radio, within: nil)
            if let choice = first.choice { return choice }
            let second = try await search.next(
                query, on: radio, within: DeviceSearch.collectingTime, isCollecting: true)
            if let choice = try second.choice ?? search.state.withLock({ try $0.choose() }) { return choice }
        }
    }

    /// Scans for the device that a query describes, as --pick and --find-time demand. Shows its progress on a terminal.
    /// - Throws: ``ProgramError``: ``ExitStatus/notFound``, with what was seen instead; ``ExitStatus/usage``, with the
    ///   devices, if several match.
    func find(
        _ query: DeviceQuery, on radio: ChosenRadio, _ console: Console
    ) async throws -> DeviceSearch.Sighting {
        let search = SharedSearch(pick: pick, isOnCoded: coded)
        let limit = findTime
        return try await withProgress(of: search, query, console) {
            let start = ContinuousClock.now
            let first = try await search.next(query, on: radio, within: limit)
            if let choice = first.choice { return choice }
            guard first.isCollecting else { throw search.state.withLock { $0.notFound(query, within: limit) } }
            let rest = max(.zero, limit - (ContinuousClock.now - start))
            let second = try await search.next(
                query, on: radio, within: min(DeviceSearch.collectingTime, rest), isCollecting: true)
            if let choice = second.choice { return choice }
            guard let choice = try search.state.withLock({ try $0.choose() }) else {
                throw search.state.withLock { $0.notFound(query, within: limit) }
            }
            return choice
        }
    }

    /// Runs a search; while it takes longer, a line on the terminal for messages says how long already.
    private func withProgress<Value: Sendable>(
        of search: SharedSearch, _ query: DeviceQuery, _ console: Console,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard console.messageLine() != nil else { return try await body() }
        return try await firstResult(of: [
            body,
            {
                let line = StatusLine(on: STDERR_FILENO)
                var seconds = 0
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    seconds += 1
                    let count = search.state.withLock { $0.seenCount }
                    line.show(
                        "looking for a device \(query.description): \(seconds) s, "
                            + "\(quantity(count, "other device")) seen")
                }
                line.clear()
                return nil
            },
        ])
    }
}

/// A search, shared between the scan and the display of its progress.
private final class SharedSearch: Sendable {
    struct Outcome: Sendable {
        var choice: DeviceSearch.Sighting?
        var isCollecting = false
    }

    let state: Mutex<DeviceSearch>
    private let scan: ScanOptions

    init(pick: PickOption?, isOnCoded: Bool) {
        state = Mutex(DeviceSearch(pick: pick))
        scan = ScanOptions(coded: isOnCoded)
    }

    /// Scans until the search has found a device, or also, unless it is collecting already, a first one that matches.
    func next(
        _ query: DeviceQuery, on radio: ChosenRadio, within limit: Duration?, isCollecting: Bool = false
    ) async throws -> Outcome {
        let step = Mutex(DeviceSearch.Step.search)
        do throws(BluetoothError) {
            _ = try await radio.firstAdvertisement(timeout: limit, options: scan) { advertisement in
                guard let address = advertisement.address else { return false }
                let sighting = DeviceSearch.Sighting(
                    address: address, name: advertisement.localName, rssi: advertisement.rssi,
                    isConnectable: advertisement.isConnectable, match: query.match(advertisement),
                    advertisement: advertisement)
                let next = self.state.withLock { $0.record(sighting) }
                step.withLock { $0 = next }
                switch next {
                case .search: return false
                case .collect: return !isCollecting
                case .found: return true
                }
            }
            guard case .found(let sighting) = step.withLock({ $0 }) else { return Outcome(isCollecting: true) }
            return Outcome(choice: sighting)
        } catch {
            guard error.code == .notFound else { throw error }
            return Outcome()
        }
    }
}
