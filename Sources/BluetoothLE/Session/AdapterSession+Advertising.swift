import Advertising
import BluetoothKernel
import Synchronization

extension AdapterSession {
    func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions
    ) async throws(BluetoothError) -> AdvertisingSet {
        try checkUsable()
        let (id, record) = try await advertising.begin(content, options, operation("advertise"))
        return AdvertisingSet(id, record, self)
    }

    func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try checkUsable()
        return try await advertising.removeForeign()
    }

    func updateAdvertising(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        try await advertising.update(id, content, record)
    }

    func stopAdvertising(_ id: UInt64) async { await advertising.stop(id) }
}
