import BluetoothHost
import BluetoothPrimitives

/// The adaptation of a link to a use for a time, after which the link has its earlier connection parameters and PHYs.
///
/// Does not keep the link up, which ends with its last ``Connection`` as otherwise.
package struct TemporaryUse: Sendable {
    private let link: SessionReference<Link>

    /// Creates an adaptation of a connection's link, which begins with ``run(_:until:)``.
    package init(of connection: Connection) {
        link = connection.core
    }

    /// Adapts the link to a use until `end` returns, and puts back what that has changed, unless another component has
    /// changed it since. Returns whether the link can be adapted; it returns at the link's end as well.
    ///
    /// Its task must not be cancelled, or the link may stay as it is.
    package nonisolated(nonsending) func run(
        _ use: ConnectionUse, until end: @escaping @Sendable () async -> Void
    ) async -> Bool {
        await link { await $0.adapt(to: use, until: end) }
    }
}

/// The settings of a link that a temporary use changes.
private struct TemporarySettings: Hashable {
    var parameters: ConnectionParameters
    /// Nil if the controller does not tell.
    var phys: LinkPHYs?
}

extension Link {
    fileprivate nonisolated(nonsending) func adapt(
        to use: ConnectionUse, until end: @Sendable () async -> Void
    ) async -> Bool {
        // Without CAP_NET_RAW they are not known, and cannot be changed.
        _ = try? await whenSettingsAreRequested(timeout: nil)
        guard let before = await temporarySettings() else { return false }
        var isAdapted = true
        do throws(BluetoothError) {
            try await request(LinkSettings(use), timeout: .seconds(30))
        } catch {
            log.debug("not adapted to a use: \(error)")
            isAdapted = false
        }
        guard let during = await temporarySettings() else { return false }
        if isAdapted { await end() }
        await putBack(before, changedTo: during)
        return isAdapted
    }

    private nonisolated(nonsending) func temporarySettings() async -> TemporarySettings? {
        guard isConnected, let parameters else { return nil }
        return TemporarySettings(parameters: parameters, phys: try? await phys())
    }

    private nonisolated(nonsending) func putBack(
        _ before: TemporarySettings, changedTo during: TemporarySettings
    ) async {
        do throws(BluetoothError) {
            if let phys = before.phys, let changed = during.phys, phys != changed, try await self.phys() == changed {
                _ = try await setPHYs(transmit: LEPHYSet(phys.transmit), receive: LEPHYSet(phys.receive))
            }
        } catch {
            log.debug("the PHYs are unchanged: \(error)")
        }
        let former = before.parameters
        guard former != during.parameters, parameters == during.parameters else { return }
        do throws(BluetoothError) {
            _ = try await requestParameters(
                ConnectionParameterRequest(
                    interval: former.interval...former.interval, latency: former.latency,
                    supervisionTimeout: former.supervisionTimeout))
        } catch {
            log.debug("the connection parameters are unchanged: \(error)")
        }
    }
}
