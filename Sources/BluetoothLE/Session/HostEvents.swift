import BluetoothHCI
import BluetoothHost

/// The receiver of the host's events, which passes each to the component of the session that it concerns.
//
// Lives on the loop, with the host, which retains it.
final class HostEvents: HostReceiver {
    private let scanner: Scanner
    private let health: RadioHealth
    private let scheduler: ConnectScheduler
    private let slots: LinkSlots
    /// Not retained, since its offers are made by the host's channels, which may retain the host.
    private weak var advertising: AdvertisingSets?

    init(
        to scanner: Scanner, _ health: RadioHealth, _ scheduler: ConnectScheduler, _ slots: LinkSlots,
        _ advertising: AdvertisingSets
    ) {
        (self.scanner, self.health, self.scheduler) = (scanner, health, scheduler)
        (self.slots, self.advertising) = (slots, advertising)
    }

    func receive(_ reports: AdvertisingReports) { scanner.receive(reports) }

    func receive(_ event: HostEvent) {
        switch event {
        case .ended(let reason, let isForGood):
            scheduler.adapterEnds(reason, isForGood: isForGood)
            slots.adapterEnds(reason)
        case .resumed: scheduler.adapterBecameAvailable()
        case .scanStopped: scanner.scanStopped()
        case .scanEnded(let reason, let isForGood): scanner.scanEnded(reason, isForGood: isForGood)
        case .advertising(let id, let event): advertising?.handle(event, of: id)
        case .linkEnded: slots.linkEnded()
        case .problem(let problem, let isCertain): health.noticed(problem, isCertain: isCertain)
        }
    }
}
