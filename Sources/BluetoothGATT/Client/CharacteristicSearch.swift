import BluetoothATT
import BluetoothPrimitives

/// The search for the first characteristic with a UUID in a service with another, which ends where it is found
/// (Core Vol 3 Part G §4.4.2, §4.6.2).
///
/// Services without the characteristic are passed over, as in a discovered database. Secondary services follow the
/// primary ones. The result is nil when the server has no such characteristic.
package struct CharacteristicSearch: ClientProcedure {
    private let uuid: BluetoothUUID
    private let service: BluetoothUUID
    private var services: ServiceDiscovery
    private var isSecondary = false
    /// Whether ``services`` has found all.
    private var hasServices = false
    private var searchedCount = 0
    /// The search of the last of the searched services.
    private var characteristics: CharacteristicDiscovery?

    /// A search for the characteristic `uuid` in a service `service`.
    package init(_ uuid: BluetoothUUID, in service: BluetoothUUID) {
        (self.uuid, self.service) = (uuid, service)
        services = ServiceDiscovery(uuid: service)
    }

    /// The invalid declarations in the searched services.
    package private(set) var problems: [DatabaseProblem] = []

    /// Writes a request for the next services, or for the characteristics of one.
    package mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        if characteristics != nil {
            try characteristics?.writeRequest(into: &writer)
        } else {
            try services.writeRequest(into: &writer)
        }
    }

    /// Processes the response; the result is the characteristic without its descriptors.
    package mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<RemoteCharacteristic?> {
        if let step = try characteristics?.receive(answer) {
            guard case .done(let found) = step else { return .next }
            problems += characteristics?.problems ?? []
            if let first = found.first { return .done(first) }
        } else if case .done = try services.receive(answer) {
            hasServices = true
        }
        return searchNext() ? .next : .done(nil)
    }

    /// Advances to the next service; returns whether there is a request to make.
    private mutating func searchNext() -> Bool {
        characteristics = nil
        if searchedCount < services.services.count {
            characteristics = CharacteristicDiscovery(in: services.services[searchedCount].handles, first: uuid)
            searchedCount += 1
        } else if hasServices {
            if isSecondary { return false }
            (isSecondary, hasServices, searchedCount) = (true, false, 0)
            services = ServiceDiscovery(uuid: service, type: .secondaryService)
        }
        return true
    }
}
