import BluetoothHost
import BluetoothSimulation
import Testing

/// The error that `body` throws, which must be one of this library; nil when it throws none.
package func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> BluetoothError? {
    do {
        try await body()
        return nil
    } catch let error as BluetoothError {
        return error
    } catch {
        Issue.record("not an error of this library: \(error)", sourceLocation: sourceLocation)
        return nil
    }
}

/// The code of the error that `body` throws, which must be one of this library; nil when it throws none.
package func failureCode(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> BluetoothError.Code? {
    await failure(sourceLocation: sourceLocation, body)?.code
}

extension SimulatedRadio {
    /// Lets time pass, at most a minute, until `condition` holds, which is checked after each `step`.
    ///
    /// - Parameter comment: an addition to the failure's message.
    package func settle(
        step: Duration = .milliseconds(100), sourceLocation: SourceLocation = #_sourceLocation,
        comment: @autoclosure () -> String = "", _ condition: () async -> Bool
    ) async throws {
        let end = now.advanced(by: .seconds(60))
        while now < end {
            if await condition() { return }
            try await sleep(for: step)
        }
        Issue.record("what was waited for did not happen \(comment())", sourceLocation: sourceLocation)
    }

    /// The duration of `body` on the radio's clock.
    package func duration(of body: () async throws -> Void) async rethrows -> Duration {
        let start = now
        try await body()
        return start.duration(to: now)
    }
}
