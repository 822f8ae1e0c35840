import BluetoothAdvertising
import BluetoothSockets
import BluetoothHCI

/// Everybody who listens to a controller, and what all of them know of the devices: reports are joined once.
struct ScanAudience {
    private(set) var sessions: [ScanSession] = []
    private var joiner = AdvertisementJoiner(deviceLimit: 1)

    var isEmpty: Bool { sessions.isEmpty }

    /// What all of them together want; nil when there is nobody.
    var request: ScanSettings? {
        sessions.first.map { first in
            sessions.dropFirst().reduce(first.settings) { $0.united(with: $1.settings) }
        }
    }

    mutating func add(_ session: ScanSession, deviceLimit: Int) {
        joiner.raiseDeviceLimit(to: deviceLimit)
        sessions.append(session)
    }

    /// Lets a listener go, and after the last what was known of the devices.
    mutating func remove(_ id: UInt64) {
        sessions.removeAll { $0.id == id }
        if sessions.isEmpty { self = ScanAudience() }
    }

    /// Ends sessions' streams with an error; unless it is for good, those that are to be resumed stay.
    mutating func finish(_ reason: BluetoothError, isForGood: Bool) {
        let ended = sessions.filter { isForGood || $0.whenAdapterLeaves == .end }
        for var session in ended {
            session.releaseHeld(at: nil)
            session.channel.finish(reason)
            remove(session.id)
        }
        joiner.removeParts()
    }

    /// To be told when scanning stops: what has come of a chain of packets will not be completed.
    mutating func scanStopped() {
        joiner.removeParts()
    }

    /// When the next report has waited long enough for its scan response; nil when none waits.
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

    /// Takes reports; says when the next has waited long enough for its scan response.
    mutating func receive(
        _ reports: AdvertisingReports, at time: KernelInstant, from devices: HeardDevices,
        onMalformed: (HCIDecodingError) -> Void
    ) -> KernelInstant? {
        guard !isEmpty else { return nil }
        var reports = reports
        do {
            while let report = try reports.next() { receive(report, at: time, from: devices) }
        } catch {
            onMalformed(error)
        }
        return nextDeadline
    }

    private mutating func receive(
        _ report: borrowing AdvertisingReport, at time: KernelInstant, from devices: HeardDevices
    ) {
        let identity = report.address.flatMap { devices.identity(of: $0) }
        let received = ReceivedReport(
            address: identity ?? report.address, properties: .init(rawValue: UInt16(report.properties.rawValue)),
            dataStatus: .init(report.dataStatus), advertisingSetID: report.advertisingSetID, data: report.data)
        guard let heard = joiner.hear(received) else { return }
        if !heard.news.isEmpty, let address = report.address {
            devices.note(joiner.advertisement(of: heard, received).data.localName, of: address)
        }
        // Most reports say nothing that anybody waits for.
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
