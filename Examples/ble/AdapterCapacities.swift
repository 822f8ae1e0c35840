import BluetoothLE
import BluetoothSimulation
import ExampleSupport

extension AdapterCapacity {
    /// The capacities of the adapters that are on, by their index. Opening changes nothing on them.
    static func all(
        of adapters: [AdapterInformation], on kernel: (any AdapterSource)?
    ) async -> [AdapterID: AdapterCapacity] {
        var found: [AdapterID: AdapterCapacity] = [:]
        for information in adapters where information.state.isReady {
            guard
                let adapter = try? await Adapter.open(
                    .id(information.id), configuration: .init(bonds: .disabled, recovery: RecoveryOptions(mode: .off)),
                    on: kernel)
            else { continue }
            found[information.id] = await adapter.capacity
            await adapter.close()
        }
        return found
    }

    /// `1/3`, the advertising sets in use and all of them; `-` if they cannot be counted.
    var advertisingText: String {
        guard let advertisingSets, let advertisingSetsInUse else { return "-" }
        return "\(advertisingSetsInUse)/\(advertisingSets)"
    }
}

/// The capacity of an adapter as JSON; null where it cannot be counted.
func fields(of capacity: AdapterCapacity?) -> [(String, JSONValue)] {
    [
        ("links", JSONValue(capacity?.otherLinks)), ("advertisingSets", JSONValue(capacity?.advertisingSets)),
        ("advertisingSetsInUse", JSONValue(capacity?.advertisingSetsInUse)),
    ]
}
