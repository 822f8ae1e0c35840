import BluetoothPrimitives

/// Makes one advertisement of each device out of the reports that a controller gives.
///
/// Parts of an extended payload are put together; the payload and the scan response of the same device, or of the same
/// advertising set of it, are joined. Every report that ends a payload yields at once what is known of the device: the
/// newest payload of both kinds, and what was new. Only a report that announces more parts yields nothing.
///
/// The memory is bounded: beyond ``deviceLimit`` the device that was silent the longest is forgotten, and its next
/// report is news again.
public struct AdvertisementJoiner: Sendable {
    /// The most devices, or advertising sets of them, that are remembered.
    public private(set) var deviceLimit: Int
    /// How many were forgotten for want of room.
    public private(set) var forgottenCount = 0

    private var devices: RecentlyUsed<Device>
    /// How many states of devices there have been.
    private var lastState: UInt64 = 0
    /// Parts of an earlier one than this are void.
    private var generation: UInt8 = 0

    /// Remembers nothing yet, and later at most `deviceLimit` devices, at least one.
    public init(deviceLimit: Int = 1024) {
        self.deviceLimit = max(1, deviceLimit)
        devices = RecentlyUsed(limit: self.deviceLimit)
    }

    /// How many devices, or advertising sets of them, are remembered.
    public var count: Int { devices.count }

    /// Takes in one report and returns what is known of its device now, or nil while parts are missing.
    public mutating func receive(_ report: ReceivedReport) -> JoinedAdvertisement? {
        hear(report).map { advertisement(of: $0, report) }
    }

    /// Takes in one report and says of which device, or nil while parts are missing.
    package mutating func hear(_ report: ReceivedReport) -> HeardDevice? {
        let key = Self.key(report.address, report.advertisingSetID)
        let (index, hadToForget) = devices.use(key, orInsert: Device())
        if hadToForget { forgottenCount &+= 1 }
        // Anonymous reports of one set may come from several devices: they are put together but not remembered.
        if report.address == nil, devices[index].isKnown { devices[index] = Device() }
        guard let news = devices[index].receive(report, in: generation, numberedAfter: &lastState) else { return nil }
        let device = devices[index]
        return HeardDevice(
            index: index, state: device.state, birth: device.birth, hasScanResponse: device.scanResponse.isKnown,
            news: news)
    }

    /// What is known of the device that was just heard.
    package func advertisement(of heard: HeardDevice, _ report: ReceivedReport) -> JoinedAdvertisement {
        devices[heard.index].advertisement(report, heard.news)
    }

    /// Remembers at most so many devices from now on, if that is more than before.
    public mutating func raiseDeviceLimit(to limit: Int) {
        guard limit > deviceLimit else { return }
        deviceLimit = limit
        devices.raiseLimit(to: limit)
    }

    /// Forgets the parts of what is not whole, as when scanning stops: the missing ones will not come.
    public mutating func removeParts() {
        generation &+= 1
    }

    /// Forgets everything.
    public mutating func removeAll() {
        devices = RecentlyUsed(limit: deviceLimit)
    }

    /// Address with its kind in the low 49 bits, above them the set; a device cannot give itself another's key.
    package static func key(_ address: BluetoothAddress?, _ advertisingSetID: UInt8?) -> UInt64 {
        let set = advertisingSetID.map { UInt64($0) } ?? 0x100
        guard let address else { return 1 << 63 | set << 49 }
        return address.value | UInt64(address.kind.rawValue) << 48 | set << 49
    }
}

/// A device that was just heard, as scans tell it from others and from what it was before.
package struct HeardDevice: Sendable {
    /// Where it is remembered: below ``AdvertisementJoiner/deviceLimit``, the device's own until it is forgotten.
    package let index: Int
    /// The number of the state it is in; every change of any device has a higher one than all before.
    package let state: UInt64
    /// The number of its first state.
    package let birth: UInt64
    /// Whether a scan response was received of it.
    package let hasScanResponse: Bool
    /// What was not known before.
    package let news: JoinedAdvertisement.News
}

extension AdvertisementJoiner {
    /// What is remembered of one device.
    private struct Device: Sendable {
        var advertising = Payload()
        var scanResponse = Payload()
        var properties: ReceivedReport.Properties?
        var state: UInt64 = 0
        var birth: UInt64 = 0

        /// Whether anything it said is known.
        var isKnown: Bool { advertising.isKnown || scanResponse.isKnown }

        /// Takes in a report; says what was new, or nil while parts are missing. A new state has the number after `last`,
        /// which is the number of the last state of any device.
        mutating func receive(
            _ report: ReceivedReport, in generation: UInt8, numberedAfter last: inout UInt64
        ) -> JoinedAdvertisement.News? {
            var news: JoinedAdvertisement.News = isKnown ? [] : .device
            if report.properties.contains(.scanResponse) {
                guard let changed = scanResponse.receive(report.data, report.dataStatus, in: generation) else {
                    return nil
                }
                if changed { news.insert(.scanResponse) }
            } else if report.properties.isSuperset(of: [.directed, .legacy]), advertising.isKnown {
                // Such a packet has no room for data: it does not take back what others said.
            } else {
                guard let changed = advertising.receive(report.data, report.dataStatus, in: generation) else {
                    return nil
                }
                if changed { news.insert(.advertising) }
            }
            if !report.properties.contains(.scanResponse), report.properties != properties {
                if properties != nil { news.insert(.properties) }
                properties = report.properties
            }
            guard !news.isEmpty else { return news }
            last &+= 1
            state = last
            if news.contains(.device) { birth = last }
            return news
        }

        func advertisement(_ report: ReceivedReport, _ news: JoinedAdvertisement.News) -> JoinedAdvertisement {
            JoinedAdvertisement(
                address: report.address, advertisingSetID: report.advertisingSetID,
                properties: properties ?? report.properties,
                data: AdvertisementData(advertising: advertising.bytes, scanResponse: scanResponse.bytes),
                hasAdvertising: advertising.isKnown, hasScanResponse: scanResponse.isKnown,
                isTruncated: advertising.isTruncated || scanResponse.isTruncated, news: news)
        }
    }

    /// The newest payload of one kind, and the parts of the next.
    private struct Payload: Sendable {
        var bytes: [UInt8] = []
        var isKnown = false
        var isTruncated = false
        private var parts: [UInt8] = []
        /// When the first part came.
        private var generation: UInt8 = 0
        private var isWaiting = false
        private var isOverlong = false

        /// Takes in a whole payload or a part; returns whether it ended one that differs from the last, nil if it did
        /// not end one.
        mutating func receive(
            _ data: RawSpan, _ status: ReceivedReport.DataStatus, in generation: UInt8
        ) -> Bool? {
            if isWaiting, generation != self.generation {
                parts = []
                (isWaiting, isOverlong) = (false, false)
            }
            let limit = AdvertisementDataBuilder.extendedCapacity
            guard isWaiting || status == .more || data.byteCount > limit else {
                return replace(with: data, isTruncated: status == .truncated)
            }
            let fitting = min(data.byteCount, limit - parts.count)
            if fitting < data.byteCount { isOverlong = true }
            parts.append(contentsOf: [UInt8](data.extracting(first: fitting)))
            isWaiting = status == .more
            self.generation = generation
            guard !isWaiting else { return nil }
            let whole = parts
            let isTruncated = isOverlong || status == .truncated
            parts = []
            isOverlong = false
            return replace(with: whole.span.bytes, isTruncated: isTruncated)
        }

        /// Keeps the memory of a payload that is repeated, which most are.
        ///
        /// One whose end was lost says nothing new when all of it is known.
        private mutating func replace(with data: RawSpan, isTruncated: Bool) -> Bool {
            if isKnown {
                let known = bytes.span.bytes
                let isSame = isTruncated == self.isTruncated && data.isEqual(to: known)
                let isBeginning =
                    isTruncated && data.byteCount <= known.byteCount
                    && data.isEqual(to: known.extracting(first: data.byteCount))
                if isSame || isBeginning { return false }
            }
            bytes = [UInt8](data)
            self.isTruncated = isTruncated
            isKnown = true
            return true
        }
    }
}

extension RawSpan {
    /// Whether both have the same bytes.
    fileprivate func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return withUnsafeBytes { own in other.withUnsafeBytes { own.elementsEqual($0) } }
    }
}
