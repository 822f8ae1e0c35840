import ATT
import BluetoothPrimitives
import GATT

// A database that changes while clients are connected, such as that of a device whose program is replaced.
extension SimulatedGATTServer {
    /// Removes the services in `removed`, adds others, and indicates Service Changed to those who have subscribed to it.
    ///
    /// Clients with robust caching are refused what relies on the old database until they know
    /// (Core Vol 3 Part G §2.5.2.1).
    /// - Parameter isTold: whether clients are told at all, as they should be.
    /// - Returns: the handles of what was added; nil for nothing.
    @discardableResult
    public func change(
        removing removed: AttributeHandleRange? = nil, adding services: [GATTService] = [], isTold: Bool = true
    ) throws(AttributeDatabaseError) -> AttributeHandleRange? {
        let result = state.withLock {
            state -> Result<(AttributeHandleRange?, [SimulatedLink]), AttributeDatabaseError> in
            do throws(AttributeDatabaseError) {
                if let removed { state.database.remove(removed) }
                let added = try state.database.append(services)
                let ranges = [removed, added].compactMap { $0 }
                guard let start = ranges.map(\.start).min(), let end = ranges.map(\.end).max() else {
                    return .success((added, []))
                }
                state.tellOfChange(AttributeHandleRange(start: start, end: end), isTold: isTold)
                return .success((added, state.sessions.values.map(\.link)))
            } catch {
                return .failure(error)
            }
        }
        let (added, links) = try result.get()
        for link in links { flush(link) }
        return added
    }

    /// Takes note of a confirmation if it is that of Service Changed.
    func confirmedServiceChanged(_ handle: AttributeHandle, on link: SimulatedLink) -> Bool {
        state.withLock { state in
            guard state.database.attribute(at: handle)?.type == .serviceChanged,
                let told = state.sessions[link.identifier]?.toldOfChanges
            else { return false }
            state.sessions[link.identifier]?.toldOfChanges = nil
            state.sessions[link.identifier]?.server.client.confirmedServiceChanged(told)
            return true
        }
    }
}

extension SimulatedGATTServer.State {
    fileprivate mutating func tellOfChange(_ range: AttributeHandleRange, isTold: Bool) {
        let serviceChanged = database.valueHandle(of: .serviceChanged, in: .genericAttribute)
        let value = [range.start.rawValue, range.end.rawValue].flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
        }
        for (identifier, var session) in sessions {
            session.server.databaseChanged(database)
            if isTold, let serviceChanged {
                do throws(GATTServerError) {
                    try session.server.encodeIndication(
                        of: serviceChanged, value: value.span.bytes, database: database, into: &writer)
                    session.server.didSendIndication(of: serviceChanged)
                    session.toldOfChanges = session.server.client.changeCount
                    session.waiting.append(writer.bytes)
                } catch {}
            }
            sessions[identifier] = session
        }
    }
}
