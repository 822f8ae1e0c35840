import BluetoothAdvertising
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// The scans on a controller, and the device states they share: reports are joined once for all of them.
struct ScanSubscribers {
    private(set) var sessions: [ScanSession] = []
    private var joiner = AdvertisementJoiner(deviceLimit: 1)

    var isEmpty: Bool { sessions.isEmpty }

    /// The settings that serve all scans; nil without a scan.
    var request: ScanSettings? {
        sessions.first.map { first in
            sessions.dropFirst().reduce(first.settings) { $0.united(with: $1.settings) }
        }
    }

    mutating func add(_ session: ScanSession, deviceLimit: Int) {
        joiner.raiseDeviceLimit(to: deviceLimit)
        sessions.append(session)
    }

    /// Removes a scan, and with the last one the device states.
    mutating func remove(_ id: UInt64) {
        sessions.removeAll { $0.id == id }
        if sessions.isEmpty { self = ScanSubscribers() }
    }

    /// Ends a scan whose duration is over; its stream finishes.
    mutating func finish(_ id: UInt64) {
        guard var session = sessions.first(where: { $0.id == id }) else { return }
        session.releaseHeld(at: nil)
        session.channel.finish()
        remove(id)
    }

    /// Sets the timer that ends a scan, which lives as long as it.
    mutating func setTimer(_ timer: LoopTimer, of id: UInt64) {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return }
        sessions[index].timer = timer
    }

    /// Ends the streams of scans with an error; unless it is for good, those that resume later stay.
    mutating func finish(_ reason: BluetoothError, isForGood: Bool) {
        let ended = sessions.filter { isForGood || $0.whenAdapterLeaves == .end }
        for var session in ended {
            session.releaseHeld(at: nil)
            session.channel.finish(reason)
            remove(session.id)
        }
        joiner.removeFragments()
    }

    /// Drops incomplete chains of packets, which will not be completed when scanning has stopped.
    mutating func scanStopped() {
        joiner.removeFragments()
    }

    /// When the first held report is released; nil when none is held.
    var nextDeadline: KernelInstant? {
        var next: KernelInstant?
        for session in sessions {
            guard let deadline = session.nextDeadline else { continue }
            next = min(next ?? deadline, deadline)
        }
        return next
    }

    /// Hands out the reports whose scan response has not come in time.
    mutating func releaseHeld(at now: KernelInstant) {
        for index in sessions.indices { sessions[index].releaseHeld(at: now) }
    }

    /// Hands reports to the scans; returns when the first held report is released.
    mutating func receive(
        _ reports: AdvertisingReports, at time: KernelInstant, _ identities: DeviceIdentities,
        onMalformed: (HCIDecodingError) -> Void
    ) -> KernelInstant? {
        guard !isEmpty else { return nil }
        var reports = reports
        do {
            while let report = try reports.next() { receive(report, at: time, identities) }
        } catch {
            onMalformed(error)
        }
        return nextDeadline
    }

    private mutating func receive(
        _ report: borrowing AdvertisingReport, at time: KernelInstant, _ identities: DeviceIdentities
    ) {
        let identity = report.address.flatMap { identities.identity(of: $0) }
        let received = ReceivedReport(
            address: identity ?? report.address, properties: .init(rawValue: UInt16(report.properties.rawValue)),
            dataStatus: .init(report.dataStatus), advertisingSetID: report.advertisingSetID, data: report.data)
        guard let heard = joiner.process(received) else { return }
        if !heard.changes.isEmpty, let address = report.address {
            identities.recordName(joiner.advertisement(of: heard, received).data.localName, of: address)
        }
        // Most reports bring no scan anything new.
        var first = 0
        while first < sessions.count, !sessions[first].mayWant(heard, report) { first += 1 }
        guard first < sessions.count else { return }
        var advertisement = Advertisement(joiner.advertisement(of: heard, received), report, at: time)
        if identity != nil { advertisement.privateAddress = report.address }
        for index in first..<sessions.count where index == first || sessions[index].mayWant(heard, report) {
            sessions[index].receive(heard, advertisement, report)
        }
    }
}
