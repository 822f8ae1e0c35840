import BluetoothATT
import BluetoothPrimitives

/// The services found so far, in the order found and by handle.
struct FoundServices: Sendable {
    /// A service's handles and index; small, so that insertion is cheap.
    struct Place: Sendable {
        var start: AttributeHandle
        var end: AttributeHandle
        var index: Int32
    }

    enum Vacancy {
        /// A service begins at the same handle.
        case occupied
        /// No service has any of the handles.
        case free
        /// A service has some of them and begins elsewhere.
        case overlaps
    }

    var list: [RemoteService] = []
    /// The places of the services in ascending order.
    private(set) var order: [Place] = []

    var count: Int { list.count }

    var inOrder: [RemoteService] {
        // Primary services are found in order; only included services can precede them.
        if zip(order, list.indices).allSatisfy({ Int($0.index) == $1 }) { return list }
        return order.map { list[Int($0.index)] }
    }

    mutating func reserveCapacity(_ count: Int) {
        list.reserveCapacity(count)
        order.reserveCapacity(count)
    }

    /// Reserves room for the characteristics of a service, which are the first of `found`.
    mutating func reserve(_ found: ArraySlice<RemoteCharacteristic>, in service: Int) {
        guard list[service].characteristics.isEmpty else { return }
        let end = list[service].handles.end
        list[service].characteristics.reserveCapacity(found.prefix { $0.declarationHandle <= end }.count)
    }

    /// The index of the service that contains `handle`.
    func index(containing handle: AttributeHandle) -> Int? {
        let place = firstPlace(notBefore: handle)
        guard place < order.endIndex, order[place].start <= handle else { return nil }
        return Int(order[place].index)
    }

    func vacancy(of range: AttributeHandleRange) -> Vacancy {
        let place = firstPlace(notBefore: range.start)
        guard place < order.endIndex, order[place].start <= range.end else { return .free }
        return order[place].start == range.start ? .occupied : .overlaps
    }

    /// Adds a service whose handles are free; returns its index.
    mutating func insert(_ service: RemoteService) -> Int {
        let index = list.count
        list.append(service)
        let range = service.handles
        // There are at most as many services as handles.
        let place = Place(start: range.start, end: range.end, index: Int32(truncatingIfNeeded: index))
        order.insert(place, at: firstPlace(notBefore: range.start))
        return index
    }

    /// The first place that does not end before `handle`.
    private func firstPlace(notBefore handle: AttributeHandle) -> Int {
        partitionPoint(of: order) { $0.end < handle }
    }
}
