import Synchronization

/// The connections of incoming links, kept until their links end, in the order of their arrival.
final class KeptConnections: Sendable {
    private let connections = Mutex<[Connection]>([])

    var all: [Connection] { connections.withLock { $0 } }

    func add(_ connection: Connection) { connections.withLock { $0.append(connection) } }

    /// Removes a connection whose link has ended.
    func remove(_ connection: Connection) {
        // The caller retains the connection, so that it is not released under the lock.
        connections.withLock { all in all.removeAll { $0 === connection } }
    }

    /// Removes all connections, and returns them.
    func takeAll() -> [Connection] {
        connections.withLock { all in
            defer { all = [] }
            return all
        }
    }
}
