import BluetoothLoop
import BluetoothPrimitives

/// The links to a device that is kept connected, one after the other, and what is done on each.
package protocol KeptLinks {
    /// Whether no other link may follow after this error, besides those of the policy.
    static func isFinal(_ reason: BluetoothError) -> Bool

    /// Connects, uses the link, and returns the reason of its end and its duration.
    /// - Throws: the reason why there was no link.
    nonisolated(nonsending) func useLink(
        of central: some Central, attempt: Int, waitsForSlot: Bool
    ) async throws(BluetoothError) -> (reason: BluetoothError, duration: Duration)

    /// Reports the beginning or the failure of an attempt, or what it waits for.
    nonisolated(nonsending) func report(_ event: KeptConnection.Event) async
}

extension KeptLinks {
    /// Connects repeatedly until the task is cancelled, or the policy gives up.
    /// - Parameter number: a number that differs between devices, for the delays.
    /// - Returns: why there is no further attempt; nil if the task is cancelled.
    package nonisolated(nonsending) func keep(
        on central: some Central, _ policy: ReconnectionPolicy, number: UInt64
    ) async -> BluetoothError? {
        var progress = ReconnectionProgress(policy)
        var waitsForSlot = false
        while true {
            let attempt = progress.beginAttempt()
            if !progress.isSilent { await report(.init(.connecting(attempt: attempt))) }
            let reason: BluetoothError
            do throws(BluetoothError) {
                let link = try await useLink(of: central, attempt: attempt, waitsForSlot: waitsForSlot)
                reason = link.reason
                progress.linkEnded(after: link.duration)
                waitsForSlot = false
            } catch {
                reason = error
                progress.attemptFailed(reason)
                waitsForSlot = error.code == .linkLimitReached
            }
            if Task.isCancelled { return nil }
            guard !Self.isFinal(reason), progress.isWorthRetrying(reason) else { return reason }
            if waitsForSlot {
                // The next attempt waits for the end of a link, so that no delay is needed.
                await report(.init(.waitingForAdapter(reason)))
                continue
            }
            if reason.concernsAdapter {
                await report(.init(.waitingForAdapter(reason)))
                do throws(BluetoothError) {
                    try await central.ready(timeout: nil)
                } catch {
                    return Task.isCancelled ? nil : error
                }
            }
            let delay = progress.delay(at: central.loop.now, for: number)
            guard delay > .zero else { continue }
            if !reason.concernsAdapter, !progress.isRepeated { await report(.init(.failed(reason, retryAfter: delay))) }
            guard await central.loop.sleep(for: delay) else { return nil }
        }
    }
}
