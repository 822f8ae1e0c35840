import Advertising
import BluetoothKernel
import BluetoothPrimitives
import HCI

/// One consumer of what a controller hears.
struct ScanSession {
    let id: UInt64
    let settings: ScanSettings
    let channel: StreamChannel<Advertisement>
    private let duplicates: ScanOptions.Duplicates
    private var joiner: AdvertisementJoiner

    init(id: UInt64, options: ScanOptions, channel: StreamChannel<Advertisement>) {
        self.id = id
        self.channel = channel
        settings = ScanSettings(options)
        duplicates = options.duplicates
        joiner = AdvertisementJoiner(deviceLimit: options.deviceLimit)
    }

    /// Takes a report and hands it out unless its device has said the same before and duplicates are merged.
    mutating func receive(_ report: AdvertisingReport, at time: KernelInstant) {
        let received = ReceivedReport(
            address: report.address, properties: .init(rawValue: UInt16(report.properties.rawValue)),
            dataStatus: .init(report.dataStatus), advertisingSetID: report.advertisingSetID, data: report.data)
        guard let joined = joiner.receive(received) else { return }
        if duplicates == .merge, joined.news.isEmpty { return }
        channel.send(
            Advertisement(
                address: joined.address, data: joined.data, rssi: report.rssi.map(Int.init),
                transmitPower: report.transmitPower.map(Int.init), isConnectable: joined.isConnectable,
                isScannable: joined.properties.contains(.scannable),
                isScanResponse: report.properties.contains(.scanResponse),
                isLegacy: report.properties.contains(.legacy), advertisingSetID: joined.advertisingSetID, time: time))
    }
}

extension ReceivedReport.DataStatus {
    init(_ status: AdvertisingReport.DataStatus) {
        switch status {
        case .complete: self = .complete
        case .moreToCome: self = .more
        case .truncated: self = .truncated
        }
    }
}
