import BluetoothAdvertising
import BluetoothDeviceFile

// The devices of a file, on the air.
extension DeviceDescription {
    func put(on radio: SimulatedRadio) {
        // The reader has built the same database, so this succeeds.
        guard let server = try? SimulatedGATTServer(gattServices) else { return }
        server.behave(as: self, on: radio)
        SimulatedPeripheral(
            on: radio, address: address, advertisements: simulatedAdvertisements, signalStrength: rssi, gatt: server)
    }

    private var simulatedAdvertisements: [SimulatedAdvertisement] {
        guard advertisements.isEmpty else {
            return advertisements.enumerated().map { index, advertisement in
                SimulatedAdvertisement(
                    data: advertisement.data, scanResponse: advertisement.scanResponse,
                    isConnectable: advertisement.isConnectable, isScannable: advertisement.isScannable,
                    isLegacy: advertisement.isLegacy, interval: advertisement.interval ?? .milliseconds(100),
                    setIdentifier: UInt8(truncatingIfNeeded: index & 15))
            }
        }
        let advertised = advertisedServices ?? services.filter(\.isPrimary).map(\.uuid)
        let payloads = AdvertisingPayloads(
            [.flags([.leGeneralDiscoverable, .brEDRNotSupported])]
                + (advertised.isEmpty ? [] : [.services(advertised)]) + (name.map { [.localName($0)] } ?? [])
                + (appearance.map { [.appearance($0)] } ?? []))
        return [SimulatedAdvertisement(data: payloads.advertising, scanResponse: payloads.scanResponse)]
    }
}
