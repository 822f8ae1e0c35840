import BluetoothAdvertising
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// The scans on a controller and their shared device states: reports are joined once for all scans.
struct ScanSubscribers {
    private(set) var sessions: [ScanSession] = []
    private var joiner = AdvertisementJoiner(deviceLimit: 1)

    var isEmpty: Bool { sessions.isEmpty }

    /// The combined settings of all scans; nil without a scan.
    var request: ScanSettings? {
        sessions.first.map { first in
            sessions.dropFirst().reduce(first.settings) { $0.united(with: $1.settings) }
        }
    }

    mutating func add(_ session: ScanSession, deviceLimit: Int) {
        joiner.raiseDeviceLimit(to: deviceLimit)
        sessions.append(session)
    }

    /// Removes a scan; with the last one, also the device states.
    mutating func remove(_ id: UInt64) {
        sessions.removeAll { $0.id == id }
        if sessions.isEmpty { self = ScanSubscribers() }
    }

    /// Ends a scan after its duration; its stream finishes.
    mutating func finish(_ id: UInt64) {
        guard var session = sessions.first(where: { $0.id == id }) else { return }
        session.releaseHeld(at: nil)
        session.channel.finish()
        remove(id)
    }

    /// Sets the timer that ends a scan; it is released with the scan.
    mutating func setTimer(_ timer: LoopTimer, of id: UInt64) {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return }
        sessions[index].timer = timer
    }

    /// Ends the streams of scans with an error. Unless `isForGood`, scans that resume later remain.
    mutating func finish(_ reason: BluetoothError, isForGood: Bool) {
        let ended = sessions.filter { isForGood || $0.whenAdapterUnavailable == .end }
        for var session in ended {
            session.releaseHeld(at: nil)
            session.channel.finish(reason)
            remove(session.id)
        }
        joiner.removeFragments()
    }

    /// Drops incomplete fragment chains: the rest does not arrive after scanning has stopped.
    mutating func scanStopped() {
        joiner.removeFragments()
    }

    /// The deadline of the first held report; nil when none is held.
    var nextDeadline: KernelInstant? {
        var next: KernelInstant?
        for session in sessions {
            guard let deadline = session.nextDeadline else { continue }
            next = min(next ?? deadline, deadline)
        }
        return next
    }

    /// Delivers the held reports whose scan response has not arrived in time.
    mutating func releaseHeld(at now: KernelInstant) {
        for index in sessions.indices { sessions[index].releaseHeld(at: now) }
    }

    /// Delivers reports to the scans; returns the deadline of the first held report.
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
        let received = ReceivedReport(report, identity: identity)
        guard let heard = joiner.process(received) else { return }
        if !heard.changes.isEmpty, let address = report.address {
            identities.recordName(joiner.advertisement(of: heard, received).data.localName, of: address)
        }
        // Most reports are new to none of the scans.
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
