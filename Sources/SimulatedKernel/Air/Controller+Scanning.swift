import BluetoothPrimitives
import HCI

extension Controller {
    func listen(to advertiser: Advertiser) {
        guard !isSilent else { return }
        let timing = advertiser.primaryPHY == .leCoded && !advertiser.isLegacy ? scan.coded : scan.timing
        // Outside its window the radio is elsewhere.
        if initiation == nil, let timing, timing.window < timing.interval {
            guard world.happens(Double(timing.window) / Double(max(1, timing.interval))) else { return }
        }
        if let target = advertiser.target, !uses(target) { return }
        let address = advertiser.address
        if scan.isEnabled, let timing, passesFilter(advertiser), advertiser.isLegacy || scan.isExtended {
            report(advertiser, isResponse: false)
            if timing.type == .active, advertiser.isScannable, !world.happens(world.conditions.scanResponseLoss) {
                report(advertiser, isResponse: true)
            }
        }
        guard let initiation, advertiser.isLegacy || initiation.isExtended,
            initiation.peer.map({ $0 == address }) ?? acceptList.contains(.device(address)),
            advertiser.node.accepts(initiation.ownAddress, by: advertiser)
        else { return }
        self.initiation = nil
        let parameters = LEActiveConnectionParameters(
            interval: initiation.parameters.intervalMinimum, latency: initiation.parameters.latency,
            supervisionTimeout: initiation.parameters.supervisionTimeout)
        let end = world.connect(
            central: self, handle: makeHandle(), address: initiation.ownAddress, to: advertiser,
            parameters: parameters)
        connectionMade(end)
    }

    private func passesFilter(_ advertiser: Advertiser) -> Bool {
        switch scan.filterPolicy {
        case .acceptList, .acceptListAndUnresolvedDirected:
            return acceptList.contains(
                advertiser.isAnonymous ? .anonymousAdvertisers : .device(advertiser.address))
        default: return true
        }
    }

    private func report(_ advertiser: Advertiser, isResponse: Bool) {
        if scan.duplicates != .disabled {
            let key = ReportKey(
                address: advertiser.address, isResponse: isResponse,
                set: advertiser.isLegacy ? 0xFF : advertiser.setIdentifier)
            guard scan.reported.insert(key).inserted else { return }
        }
        let variation = world.conditions.signalVariation.magnitude
        let strength =
            Int(advertiser.node.signalStrength)
            + (variation == 0 ? 0 : Int.random(in: -Int(variation)...Int(variation), using: &world.generator))
        let rssi = Int8(clamping: max(-127, min(20, strength)))
        let data = isResponse ? advertiser.scanResponse : advertiser.data
        var properties: AdvertisingReport.Properties = []
        if advertiser.isConnectable { properties.insert(.connectable) }
        if advertiser.isScannable { properties.insert(.scannable) }
        if advertiser.target != nil { properties.insert(.directed) }
        if isResponse { properties.insert(.scanResponse) }
        if advertiser.isLegacy { properties.insert(.legacy) }
        // An extended report holds 229 bytes of data; what is longer comes in several events.
        let heard = min(data.count, advertiser.isLegacy ? data.count : advertiser.heardByteCount ?? data.count)
        var start = 0
        repeat {
            let end = min(start + 229, heard)
            let part = Array(data[start..<end])
            let report = AdvertisingReport(
                address: advertiser.isAnonymous ? nil : advertiser.address, properties: properties,
                dataStatus: end < heard ? .moreToCome : heard < data.count ? .truncated : .complete,
                primaryPHY: advertiser.primaryPHY,
                secondaryPHY: advertiser.isLegacy ? nil : advertiser.secondaryPHY,
                advertisingSetID: advertiser.isLegacy ? nil : advertiser.setIdentifier,
                transmitPower: advertiser.isLegacy ? nil : advertiser.transmitPower, rssi: rssi,
                periodicAdvertisingInterval: advertiser.isLegacy ? nil : advertiser.periodicInterval,
                directAddress: advertiser.target, data: part.span.bytes)
            var event = AdvertisingReportEvent(layout: scan.isExtended ? .extended : .legacy)
            // A part of at most 229 bytes fits.
            try? event.append(report)
            emit(event.packet)
            start = end
        } while start < heard
        host?.heard(advertiser.address, advertiser, isResponse: isResponse, rssi: rssi)
    }
}
