import Advertising
import BluetoothKernel

extension AdapterSession {
    func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions
    ) async throws(BluetoothError) -> (id: UInt64, AdvertisingRecord) {
        try checkUsable()
        return try await advertising.begin(content, options, operation("advertise"))
    }

    func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try checkUsable()
        return try await advertising.removeForeign(operation("read the advertising features"))
    }

    func updateAdvertising(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        try await advertising.update(id, content, record)
    }

    func stopAdvertising(_ id: UInt64) async { await advertising.stop(id) }
}
