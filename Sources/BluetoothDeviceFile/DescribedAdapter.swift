import BluetoothJSON
import BluetoothPrimitives

/// An adapter of the machine on a simulated radio, and what happens to it.
package struct DescribedAdapter: Hashable, Sendable {
    /// What happens to an adapter.
    package enum Incident: String, CaseIterable, Hashable, Sendable {
        /// Its controller answers no command and sends no event.
        case hangs
        /// Its controller reports no advertisement.
        case hearsNothing
        /// Its controller reports Hardware Error.
        case hardwareError
        /// It is unplugged.
        case unplugged
        /// It is plugged in again.
        case plugged
        /// Another program powers it off.
        case poweredOff
        /// Another program powers it on.
        case poweredOn
    }

    /// What cures a controller that hangs or hears nothing, the mildest first.
    package enum Cure: String, CaseIterable, Hashable, Sendable {
        case restartScan, powerCycle, reset, restart, rebind
    }

    /// An incident with its time.
    package struct Event: Hashable, Sendable {
        /// The incident.
        package var incident: Incident
        /// The time since the program began.
        package var time: Duration
        /// What cures it; nil for nothing but a new controller.
        package var cure: Cure?
    }

    /// Whether the controller has the commands of Bluetooth 4 only.
    package var isLegacy: Bool
    /// Whether it is on.
    package var isPowered: Bool
    /// What happens to it, in the order of the times.
    package var events: [Event]

    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(value, at: place, keys: ["legacy", "powered", "events"])
        isLegacy = try object.bool("legacy") ?? false
        isPowered = try object.bool("powered") ?? false
        events =
            try object.elements("events", limit: 1000, Event.init(reading:at:)) ?? []
        for (before, after) in zip(events, events.dropFirst()) where after.time < before.time {
            throw object.problem("events", "their times do not ascend")
        }
    }
}

extension DescribedAdapter.Event {
    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(value, at: place, keys: ["event", "after", "until"])
        let incident = try object.required("event", object.choice("event", DescribedAdapter.Incident.self))
        let cure = try object.choice("until", DescribedAdapter.Cure.self)
        if cure != nil, ![.hangs, .hearsNothing].contains(incident) {
            throw object.problem("until", "only hangs and hearsNothing have it")
        }
        self.init(incident: incident, time: try object.seconds("after", from: 0) ?? .zero, cure: cure)
    }
}

extension DescribedObject {
    /// One of the values of a type by its name.
    fileprivate func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, _: Choice.Type
    ) throws(DeviceFile.Problem) -> Choice? {
        guard let text = try text(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw problem(key, "\"\(text)\" is not one of \(names)")
        }
        return choice
    }
}
