/// The peripherals on the air and their ends of links, by the numbers that programs outside know them by.
struct PeripheralRegistry {
    private var nodes: [Int: RadioNode] = [:]
    private(set) var ends: [Int: LinkEnd] = [:]

    /// The peripherals, oldest first.
    var all: [RadioNode] { nodes.sorted { $0.key < $1.key }.map(\.value) }

    func node(_ identifier: Int) -> RadioNode? { nodes[identifier] }

    mutating func add(_ node: RadioNode, identifier: Int) {
        nodes[identifier] = node
    }

    /// Forgets a peripheral; false when it had been forgotten.
    mutating func remove(_ identifier: Int) -> Bool {
        nodes.removeValue(forKey: identifier) != nil
    }

    mutating func add(_ end: LinkEnd) {
        ends[end.side.identifier] = end
    }

    /// Forgets an end of a link, which outlives the link until the program has been told.
    mutating func removeEnd(_ identifier: Int) -> LinkEnd? {
        ends.removeValue(forKey: identifier)
    }
}
