import BluetoothPrimitives

/// The reassembly of a device's advertisement from the reports of a controller.
///
/// Fragments of an extended payload are reassembled, and the payload and the scan response of a device, or of one of
/// its advertising sets, are joined. Every report that completes a payload returns the current state of the device: the
/// newest payload of both kinds, and the changes. Only a report with more fragments to come returns nil.
///
/// Memory is bounded: beyond ``deviceLimit`` the least recently received device is removed, and its next report counts
/// as new.
public struct AdvertisementJoiner: Sendable {
    /// The maximum number of stored devices, or advertising sets of them.
    public private(set) var deviceLimit: Int
    /// The number of devices removed because of the limit.
    public private(set) var evictedCount = 0

    private var devices: RecentlyUsed<Device>
    /// The number of device states so far.
    private var lastState: UInt64 = 0
    /// Fragments from an earlier generation are void.
    private var generation: UInt32 = 0

    /// An empty joiner that stores at most `deviceLimit` devices, at least one.
    public init(deviceLimit: Int = 1024) {
        self.deviceLimit = max(1, deviceLimit)
        devices = RecentlyUsed(limit: self.deviceLimit)
    }

    /// The number of stored devices, or advertising sets of them.
    public var count: Int { devices.count }

    /// Processes a report and returns the current state of its device, or nil while fragments are missing.
    public mutating func receive(_ report: ReceivedReport) -> JoinedAdvertisement? {
        process(report).map { advertisement(of: $0, report) }
    }

    /// Processes a report and returns the state of its device without the payloads, or nil while fragments are missing.
    package mutating func process(_ report: ReceivedReport) -> DeviceState? {
        let key = Self.key(report.address, report.advertisingSetID)
        let (index, didEvict) = devices.use(key, orInsert: Device())
        if didEvict { evictedCount &+= 1 }
        // Anonymous reports of one set may come from several devices: their fragments are joined, but their state is
        // not stored.
        if report.address == nil, devices[index].isKnown { devices[index] = Device() }
        guard let changes = devices[index].receive(report, in: generation, numberedAfter: &lastState) else {
            return nil
        }
        let device = devices[index]
        return DeviceState(
            index: index, state: device.state, birth: device.birth, hasScanResponse: device.scanResponse.isKnown,
            changes: changes)
    }

    /// The current advertisement of the device whose report was just processed.
    package func advertisement(of state: DeviceState, _ report: ReceivedReport) -> JoinedAdvertisement {
        devices[state.index].advertisement(report, state.changes)
    }

    /// Raises the maximum number of stored devices; a lower limit has no effect.
    public mutating func raiseDeviceLimit(to limit: Int) {
        guard limit > deviceLimit else { return }
        deviceLimit = limit
        devices.raiseLimit(to: limit)
    }

    /// Drops fragments of incomplete payloads, as when scanning stops: the missing ones will not arrive.
    public mutating func removeFragments() {
        generation &+= 1
    }

    /// Removes all devices.
    public mutating func removeAll() {
        devices = RecentlyUsed(limit: deviceLimit)
    }

    /// The address and its kind in the low 49 bits, the set above them; a device cannot choose the key of another.
    package static func key(_ address: BluetoothAddress?, _ advertisingSetID: UInt8?) -> UInt64 {
        let set = advertisingSetID.map { UInt64($0) } ?? 0x100
        guard let address else { return 1 << 63 | set << 49 }
        return address.value | UInt64(address.kind.rawValue) << 48 | set << 49
    }
}

/// The state of a device after a report, with which scans distinguish devices and their changes.
package struct DeviceState: Sendable {
    /// The index of the device, below ``AdvertisementJoiner/deviceLimit``; constant until the device is removed.
    package let index: Int
    /// The number of the state; every change of any device gets a higher one than all before.
    package let state: UInt64
    /// The number of the device's first state.
    package let birth: UInt64
    /// Whether a scan response of the device was received.
    package let hasScanResponse: Bool
    /// The changes.
    package let changes: JoinedAdvertisement.Changes
}

extension AdvertisementJoiner {
    /// The stored state of one device.
    private struct Device: Sendable {
        var data = AdvertisementData.empty
        var advertising = Payload()
        var scanResponse = Payload()
        var properties: ReceivedReport.Properties?
        /// The fragments of payloads that are not yet complete, at most one chain of each kind.
        private var chains: [FragmentChain] = []
        var state: UInt64 = 0
        var birth: UInt64 = 0

        /// Whether any payload was received.
        var isKnown: Bool { advertising.isKnown || scanResponse.isKnown }

        /// Processes a report; returns the changes, or nil while fragments are missing. A new state gets the number
        /// after `last`, the number of the most recent state of all devices.
        mutating func receive(
            _ report: ReceivedReport, in generation: UInt32, numberedAfter last: inout UInt64
        ) -> JoinedAdvertisement.Changes? {
            var changes: JoinedAdvertisement.Changes = isKnown ? [] : .device
            if report.properties.contains(.scanResponse) {
                guard let changed = receivePayload(report, isScanResponse: true, in: generation) else { return nil }
                if changed { changes.insert(.scanResponse) }
            } else if report.properties.isSuperset(of: [.directed, .legacy]), advertising.isKnown {
                // Directed legacy packets have no data and do not replace the payload of others.
            } else {
                guard let changed = receivePayload(report, isScanResponse: false, in: generation) else { return nil }
                if changed { changes.insert(.advertising) }
            }
            if !report.properties.contains(.scanResponse), report.properties != properties {
                if properties != nil { changes.insert(.properties) }
                properties = report.properties
            }
            guard !changes.isEmpty else { return changes }
            last &+= 1
            state = last
            if changes.contains(.device) { birth = last }
            return changes
        }

        func advertisement(_ report: ReceivedReport, _ changes: JoinedAdvertisement.Changes) -> JoinedAdvertisement {
            JoinedAdvertisement(
                address: report.address, advertisingSetID: report.advertisingSetID,
                properties: properties ?? report.properties, data: data, hasAdvertising: advertising.isKnown,
                hasScanResponse: scanResponse.isKnown,
                isTruncated: advertising.isTruncated || scanResponse.isTruncated, changes: changes)
        }

        /// Processes a payload or a fragment; returns whether it completed a payload that differs from the last one, or
        /// nil if it completed none.
        private mutating func receivePayload(
            _ report: ReceivedReport, isScanResponse: Bool, in generation: UInt32
        ) -> Bool? {
            if !chains.isEmpty { chains.removeAll { $0.generation != generation } }
            let (data, status) = (report.data, report.dataStatus)
            let limit = AdvertisementDataBuilder.extendedCapacity
            let begun = chains.firstIndex { $0.isScanResponse == isScanResponse }
            guard begun != nil || status == .more || data.byteCount > limit else {
                return replace(with: data, isTruncated: status == .truncated, isScanResponse: isScanResponse)
            }
            var chain =
                begun.map { chains.remove(at: $0) }
                ?? FragmentChain(isScanResponse: isScanResponse, generation: generation)
            let fitting = min(data.byteCount, limit - chain.bytes.count)
            if fitting < data.byteCount { chain.isOverlong = true }
            chain.bytes.append(contentsOf: [UInt8](data.extracting(first: fitting)))
            if status == .more {
                chains.append(chain)
                return nil
            }
            return replace(
                with: chain.bytes.span.bytes, isTruncated: chain.isOverlong || status == .truncated,
                isScanResponse: isScanResponse)
        }

        /// Keeps the memory of a repeated payload, the common case.
        private mutating func replace(with payload: RawSpan, isTruncated: Bool, isScanResponse: Bool) -> Bool {
            if isScanResponse {
                if scanResponse.isRepeated(data.scanResponseBytes, by: payload, isTruncated: isTruncated) {
                    return false
                }
                data = AdvertisementData(data.advertisingBytes, scanResponse: [UInt8](payload))
                scanResponse = Payload(isKnown: true, isTruncated: isTruncated)
            } else {
                if advertising.isRepeated(data.advertisingBytes, by: payload, isTruncated: isTruncated) { return false }
                data = AdvertisementData(payload, scanResponse: data.scanResponse)
                advertising = Payload(isKnown: true, isTruncated: isTruncated)
            }
            return true
        }
    }

    /// What is known of the newest payload of one kind, besides its bytes.
    private struct Payload: Sendable {
        var isKnown = false
        var isTruncated = false

        /// Whether a payload is no change. A truncated one is none when it is the beginning of the stored one.
        func isRepeated(_ known: RawSpan, by payload: RawSpan, isTruncated: Bool) -> Bool {
            guard isKnown else { return false }
            if isTruncated == self.isTruncated, payload.isEqual(to: known) { return true }
            return isTruncated && payload.byteCount <= known.byteCount
                && payload.isEqual(to: known.extracting(first: payload.byteCount))
        }
    }

    /// The first fragments of a payload, received in one generation.
    private struct FragmentChain: Sendable {
        let isScanResponse: Bool
        let generation: UInt32
        var bytes: [UInt8] = []
        var isOverlong = false
    }
}

extension RawSpan {
    /// Whether both contain the same bytes.
    fileprivate func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        // Not elementsEqual, whose iterators cost three times as much.
        return byteOffsets.allSatisfy {
            unsafeLoad(fromUncheckedByteOffset: $0, as: UInt8.self)
                == other.unsafeLoad(fromUncheckedByteOffset: $0, as: UInt8.self)
        }
    }
}
