import BluetoothKernel
import HCI

/// What a scanner is asked to do.
struct ScanSettings: Equatable {
    var isActive: Bool
    var interval: UInt16
    var window: UInt16

    init(_ options: ScanOptions) {
        isActive = options.isActive
        interval = Self.units(options.interval)
        window = min(Self.units(options.window), interval)
    }

    /// In units of 0.625 ms, within what the specification allows: 4 to 0x4000 (Core Vol 4 Part E §7.8.10).
    private static func units(_ duration: Duration) -> UInt16 {
        UInt16(clamping: min(max(duration.clampedNanoseconds / 625_000, 4), 0x4000))
    }

    /// What serves both.
    func united(with other: ScanSettings) -> ScanSettings {
        var united = self
        united.isActive = isActive || other.isActive
        united.interval = min(interval, other.interval)
        united.window = min(max(window, other.window), united.interval)
        return united
    }
}

/// Who listens, what the controller has been told, and the next command that brings the two together.
///
/// The kernel scans with the extended commands when the controller has them and otherwise with the legacy ones; a
/// controller refuses whoever mixes the two, so this follows the kernel's choice.
struct Scanning {
    /// What has to be done next.
    enum Step: Equatable {
        /// To find out which commands the controller has.
        case readSupportedCommands
        /// To end a scan that is on.
        case disable
        /// To say how to scan, while it is off.
        case setParameters(ScanSettings)
        /// To begin.
        case enable
        /// To have the kernel forget that somebody was scanning actively.
        ///
        /// Linux 6.12 takes an active scan for a discovery and makes no connection while it thinks one is going on; that the scan was ended by the same raw command does not change its mind.
        case endDiscovery
    }

    private enum State: Equatable {
        case off
        /// Off, while the kernel may still think that a discovery is going on.
        case ended
        case configured(ScanSettings)
        /// Scanning as we told it, or, with nil, as somebody else did.
        case on(ScanSettings?)
    }

    var sessions: [ScanSession] = []
    /// Who waits for the controller to do as it is told.
    var waiters: [PendingCall<Void>] = []
    /// How many connections are being made; the kernel needs the scanner for them.
    var suspensions = 0
    /// The commands the controller has for it.
    private(set) var family: HCICommandFamily?
    /// At first somebody who was killed may have left the kernel thinking of a discovery.
    private var state = State.ended
    private var stepInFlight: Step?
    private var hasOverridden = false
    private var nextID: UInt64 = 0

    mutating func makeID() -> UInt64 {
        nextID += 1
        return nextID
    }

    /// What everybody together wants: nil for no scan.
    private var wanted: ScanSettings? {
        guard suspensions == 0, let first = sessions.first else { return nil }
        return sessions.dropFirst().reduce(first.settings) { $0.united(with: $1.settings) }
    }

    /// Takes the next step, or nil when the controller does as it is told or is busy with a step.
    mutating func takeStep() -> Step? {
        guard stepInFlight == nil else { return nil }
        let wanted = wanted
        let step: Step? =
            switch state {
            case .on(let settings): settings != nil && settings == wanted ? nil : .disable
            case .ended: .endDiscovery
            case .off where wanted != nil && family == nil: .readSupportedCommands
            case .off: wanted.map { .setParameters($0) }
            case .configured(let settings):
                if let wanted { settings == wanted ? .enable : .setParameters(wanted) } else { nil }
            }
        stepInFlight = step
        return step
    }

    /// Whether a scan of ours is on, or is about to be.
    var mayBeOn: Bool {
        if case .on(.some) = state { true } else { stepInFlight == .enable }
    }

    /// Whether the kernel has been asked to end a discovery and has not answered.
    var isEndingDiscovery: Bool { stepInFlight == .endDiscovery }

    /// Whether a step is under way.
    var isBusy: Bool { stepInFlight != nil }

    /// Takes note that somebody's connection has come about, for which the kernel switches off whatever scan is on and
    /// leaves it so; says whether there is something to do about it.
    mutating func scannerWasUsed() -> Bool {
        guard case .on(.some) = state, stepInFlight == nil else { return false }
        state = .on(nil)
        return true
    }

    /// Takes note that the step in flight succeeded; `family` is what reading the commands brought.
    mutating func succeed(_ family: HCICommandFamily? = nil) {
        defer { stepInFlight = nil }
        switch (stepInFlight, state) {
        case (.readSupportedCommands, _): self.family = family ?? .legacy
        case (.disable, _): state = .ended
        case (.endDiscovery, _): state = .off
        case (.setParameters(let settings), _): state = .configured(settings)
        case (.enable, .configured(let settings)):
            state = .on(settings)
            hasOverridden = false
        default: break
        }
    }

    /// Takes note that the controller refused the step in flight; says whether that is a failure.
    ///
    /// Ending a scan that is off is refused and harmless. Changing the parameters is refused while somebody's scan is
    /// on; unless `isForeign`, it is one that a program left behind, and is ended once.
    mutating func refuse(_ status: HCIStatus, isForeign: Bool) -> Bool {
        defer { stepInFlight = nil }
        switch stepInFlight {
        case .disable where status == .commandDisallowed:
            state = .ended
            return false
        case .setParameters where status == .commandDisallowed && !isForeign && !hasOverridden:
            hasOverridden = true
            state = .on(nil)
            return false
        default:
            state = .ended
            return true
        }
    }

    /// Takes note that the step in flight failed for another reason.
    mutating func fail() {
        stepInFlight = nil
        state = .ended
    }
}
