import BluetoothLE

/// The places of a connect in the adapters' queues for room.
///
/// It keeps them until it ends, so that a change of the group, or an attempt by another adapter, does not cost its turn.
struct GroupPlaces {
    private struct Place {
        var number: UInt64
        var slots: LinkSlots
    }

    private var places: [Int: Place] = [:]

    /// The place at an adapter that has refused the connect, taken unless there is one.
    mutating func enter(_ member: GroupMembers.Member) -> UInt64 {
        if let place = places[member.id] { return place.number }
        let place = Place(number: member.slots.enterRefused(), slots: member.slots)
        places[member.id] = place
        return place.number
    }

    /// Returns to the place at an adapter that was admitted to and has refused again.
    func refused(at id: Int) {
        guard let place = places[id] else { return }
        place.slots.refused(place.number)
    }

    /// Gives up the place at an adapter.
    mutating func leave(_ id: Int, hasLink: Bool = false) {
        guard let place = places.removeValue(forKey: id) else { return }
        place.slots.leave(place.number, hasLink: hasLink)
    }

    /// Gives up all places, except those at these adapters.
    mutating func leaveAll(except kept: [Int] = []) {
        for id in places.keys where !kept.contains(id) { leave(id) }
    }
}
