import BluetoothATT

// Changes of the database while clients are connected, as of a device whose firmware is replaced.
extension SimulatedGATTServer {
    /// Removes services, adds others, and indicates Service Changed to its subscribers.
    ///
    /// Clients with robust caching are refused requests that rely on the old database until they are change-aware (Core
    /// Vol 3 Part G §2.5.2.1).
    /// - Parameters:
    ///   - removed: the handles of the services to remove; nil for none.
    ///   - services: the services to add.
    ///   - isReported: whether clients are notified at all, as they should be.
    /// - Returns: the handles of the added services; nil for none.
    @discardableResult
    public func change(
        removing removed: AttributeHandleRange? = nil, adding services: [GATTService] = [], isReported: Bool = true
    ) throws(AttributeDatabaseError) -> AttributeHandleRange? {
        let (added, links) = try state.withLock {
            state throws(AttributeDatabaseError) -> (AttributeHandleRange?, [SimulatedLink]) in
            if let removed { state.database.remove(removed) }
            let added = try state.database.append(services)?.handles
            let ranges = [removed, added].compactMap { $0 }
            guard let start = ranges.map(\.start).min(), let end = ranges.map(\.end).max() else { return (added, []) }
            state.reportChange(AttributeHandleRange(start: start, end: end), isReported: isReported)
            return (added, state.sessions.values.map(\.link))
        }
        for link in links { flush(link) }
        return added
    }
}

extension SimulatedGATTServer.State {
    fileprivate mutating func reportChange(_ range: AttributeHandleRange, isReported: Bool) {
        let serviceChanged = isReported ? database.valueHandle(of: .serviceChanged, in: .genericAttribute) : nil
        for identifier in sessions.keys {
            sessions[identifier]?.core.databaseChanged(in: range, database, serviceChanged: serviceChanged)
        }
    }
}
