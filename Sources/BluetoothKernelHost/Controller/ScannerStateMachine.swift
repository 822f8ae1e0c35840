import BluetoothHost
import BluetoothHCI
import BluetoothManagement

/// The scanner of a controller, what is asked of it, and the next step that brings the two together.
///
/// The scanner is everybody's: the kernel's for connections and discoveries, and that of every program with a raw
/// socket. A raw socket is shown the commands of all others, so this knows who has switched it on or off, and how:
///
/// - A scan that another switches off comes back by itself, when the other is done.
/// - A scan of another that gives all that is wanted is listened to, and left alone. One that does not is replaced by
///   one that serves both, except a discovery through the management interface, which would never end: that is
///   listened to as it is, for the some 10 s it lasts. Two programs that do so come to rest, since each only adds.
/// - While the kernel makes a connection for another, the scanner is left to it.
///
/// The kernel scans with the extended commands when the controller has them and otherwise with the legacy ones; a
/// controller refuses whoever mixes the two, so this follows the kernel's choice.
package struct ScannerStateMachine: Hashable {
    package enum Action: Hashable {
        /// One at a time; answered by ``succeed(_:)``, ``refuse(_:)``, ``fail()`` or ``discoveryEnded(_:isDaemonRunning:)``.
        case perform(Step)
        /// Tells the user that another's discovery is listened to, which may not give all that was asked for.
        case announceListening
    }

    /// Something asked of the controller or the kernel.
    package enum Step: Hashable {
        /// To find out which commands the controller has.
        case readSupportedCommands
        /// To end a scan that is on.
        case disable
        /// To say how to scan, while it is off.
        case setParameters(ScanSettings)
        /// To begin.
        case enable
        /// To have the kernel forget that somebody was scanning actively, or to find out what is going on.
        ///
        /// Linux takes an active scan for a discovery and begins no connection by itself while it thinks one is going
        /// on; that the scan was ended by the same raw command does not change its mind.
        case endDiscovery(ManagementAddressTypes)
    }

    /// Why nothing is done for now.
    package enum Hold: Hashable {
        /// Somebody has just changed something about the scanner, and may not be done.
        case settling
        /// The kernel makes a connection for somebody.
        case connecting
        /// The kernel is powering the adapter off, or puts the machine to sleep.
        case leaving

        /// After which it is over in any case. The kernel gives an attempt up after 20 s, and gives the controller two
        /// seconds for each command.
        package var limit: Duration {
            switch self {
            case .settling: .milliseconds(100)
            case .connecting: .seconds(25)
            case .leaving: .seconds(5)
            }
        }
    }

    /// How an attempt to end a discovery came out.
    package enum DiscoveryEnd: Hashable {
        /// There was one of these types, and it is over; so is the scan.
        case ended
        /// There was none.
        case none
        /// There is one of other types.
        case otherTypes
        /// That cannot be known.
        case unknown
    }

    package enum State: Hashable {
        /// Perhaps somebody who was killed has left it on.
        case unknown
        case off
        /// On by our command.
        case ours
        /// On by another's command, which may have asked for each device once only.
        case others(Treatment, filtersDuplicates: Bool)
    }

    /// What becomes of another's scan.
    package enum Treatment: Hashable {
        case undecided
        /// It is nobody's we know of; the kernel is asked what it is.
        case probed
        /// It is listened to, whatever it is.
        case heard
    }

    /// The parameters the controller has.
    package enum Parameters: Hashable {
        case unknown
        case ours(ScanSettings)
        case others(ScanSettings)

        package var settings: ScanSettings? {
            switch self {
            case .unknown: nil
            case .ours(let settings), .others(let settings): settings
            }
        }
    }

    /// A discovery that the kernel believes in and nobody means.
    package enum Leftover: Hashable {
        case none
        /// Perhaps somebody who was killed has left one.
        case possible
        /// Our scan has made one, which could not be ended as one of the types that were tried.
        case ours(tried: [ManagementAddressTypes])
    }

    /// What all of us together want, as long as somebody listens.
    package var request: ScanSettings?
    package private(set) var state = State.unknown
    package private(set) var hold: Hold?
    /// The commands the controller has for it.
    package private(set) var family: HCICommandFamily?
    private var step: Step?
    /// How many steps in succession were refused.
    private var refusals = 0
    private var parameters = Parameters.unknown
    /// What other programs have asked for whose scans were replaced by ours.
    private var replaced: ScanSettings?
    /// Whether the kernel may have begun a scan of its own, to connect somebody, that was replaced by ours.
    private var hasReplacedKernelScan = false
    private var leftover = Leftover.possible
    /// The types of the discovery that is going on, as the kernel tells; nil when none is.
    private var discoveryTypes: ManagementAddressTypes?

    private static let refusalLimit = 6

    /// To be called when the socket was closed: what others do meanwhile is not seen.
    package mutating func stoppedWatching() {
        (state, parameters, hold) = (.unknown, .unknown, nil)
        (replaced, hasReplacedKernelScan, refusals) = (nil, false, 0)
    }

    /// Records that the controller is another, or was off: nothing of what it was told is known to it any more.
    package mutating func forgetController() {
        self = ScannerStateMachine(request: request)
    }

    private var wanted: ScanSettings? {
        guard let request else { return nil }
        return replaced.map { request.united(with: $0) } ?? request
    }

    /// What comes next; nil when the controller does as it is told, is busy with a step, or is left to others.
    package mutating func advance() -> Action? {
        guard step == nil else { return nil }
        if decideToListen() { return .announceListening }
        step = nextStep()
        return step.map { .perform($0) }
    }

    private mutating func decideToListen() -> Bool {
        guard let wanted, family != nil, hold == nil, case .others(.undecided, let filtersDuplicates) = state,
            !isServed(wanted, filtersDuplicates), let discoveryTypes, !discoveryTypes.isEmpty,
            parameters.settings?.isDiscovery != false
        else { return false }
        state = .others(.heard, filtersDuplicates: filtersDuplicates)
        return true
    }

    /// Whether another's scan gives all that is wanted.
    private func isServed(_ wanted: ScanSettings, _ filtersDuplicates: Bool) -> Bool {
        parameters.settings.map { !filtersDuplicates && $0.serves(wanted) } ?? false
    }

    private mutating func nextStep() -> Step? {
        guard let wanted else { return nextStepToRest }
        if family == nil { return .readSupportedCommands }
        guard hold == nil else { return nil }
        switch state {
        case .unknown, .off: return parameters == .ours(wanted) ? .enable : .setParameters(wanted)
        case .ours: return parameters.settings == wanted ? nil : .disable
        case .others(.probed, _): return .endDiscovery([])
        case .others(.heard, _): return nil
        case .others(.undecided, let filtersDuplicates):
            if isServed(wanted, filtersDuplicates) { return nil }
            hasReplacedKernelScan = true
            if let settings = parameters.settings { replaced = settings.united(with: replaced ?? settings) }
            return .disable
        }
    }

    /// Nobody of us listens: leaves things as if nobody had.
    private var nextStepToRest: Step? {
        // The kernel looks after its own scans when a discovery ends, so it is given one.
        let isNudge = parameters == .ours(.leastActive)
        switch state {
        case .ours: return isNudge && leftover != .none ? .endDiscovery(typesToEnd) : .disable
        case .others: return nil
        case .unknown, .off:
            if leftover != .none { return .endDiscovery(typesToEnd) }
            guard hasReplacedKernelScan, family != nil else { return nil }
            return isNudge ? .enable : .setParameters(.leastActive)
        }
    }

    /// The kernel keeps the types of the last discovery that was meant, and wants to hear them again.
    package var typesToEnd: ManagementAddressTypes {
        guard case .ours(let tried) = leftover else { return [] }
        if let discoveryTypes, !tried.contains(discoveryTypes) { return discoveryTypes }
        let all: [ManagementAddressTypes] = [[], .lowEnergy, [.lowEnergy, .brEDR], .brEDR]
        return all.first { !tried.contains($0) } ?? []
    }

    /// Whether the kernel believes in a discovery because of us, be the scan on or not.
    package var leavesDiscovery: Bool { if case .ours = leftover { true } else { false } }

    /// Whether a scan of ours is on, or is about to be.
    package var mayBeOn: Bool { state == .ours || step == .enable }

    /// Whether the kernel has been asked to end a discovery and has not answered.
    package var isEndingDiscovery: Bool {
        if case .endDiscovery = step { true } else { false }
    }

    /// Whether a step is under way.
    package var isBusy: Bool { step != nil }

    /// Whether those who wait have what they wait for: the scanner does as it is told, or will by itself.
    package var isReconciled: Bool { !isBusy && (hold == nil || hold == .connecting || wanted == nil) }

    // MARK: Our steps

    /// Records that the step in flight succeeded; `family` is what reading the commands brought.
    package mutating func succeed(_ family: HCICommandFamily? = nil) {
        defer { step = nil }
        switch step {
        case .readSupportedCommands: self.family = family ?? .legacy
        case .disable: state = .off
        case .setParameters(let settings):
            parameters = .ours(settings)
            if state == .unknown { state = .off }
        case .enable:
            (state, refusals) = (.ours, 0)
            if parameters.settings?.isDiscovery == true { leftover = .ours(tried: []) }
        case .endDiscovery, nil: break
        }
    }

    /// Records that the controller refused the step in flight; says whether that is a failure.
    ///
    /// Ending a scan that is off is refused by some and harmless. Parameters are refused while anybody's scan is on,
    /// and a scan perhaps while a connection is being made.
    package mutating func refuse(_ status: HCIStatus) -> Bool {
        guard status == .commandDisallowed else {
            fail()
            return true
        }
        defer { step = nil }
        if step == .disable {
            state = .off
            return false
        }
        refusals += 1
        guard wanted != nil else {
            // Resting is not worth the trouble.
            hasReplacedKernelScan = false
            return false
        }
        guard refusals < Self.refusalLimit else {
            fail()
            return true
        }
        switch (step, state) {
        // One that was seen to be switched on meanwhile is known; it may be all that is wanted.
        case (.setParameters, .others) where parameters != .unknown: break
        case (.setParameters, _): (state, parameters) = (.others(.probed, filtersDuplicates: false), .unknown)
        default: hold = .settling
        }
        return false
    }

    /// Records that the step in flight failed for another reason.
    package mutating func fail() {
        (step, refusals, hasReplacedKernelScan) = (nil, 0, false)
        // A controller that does not answer is not asked again before somebody wants something of it.
        (state, parameters) = (.unknown, .unknown)
    }

    /// Records how ending a discovery came out.
    package mutating func discoveryEnded(_ end: DiscoveryEnd, isDaemonRunning: Bool) {
        guard case .endDiscovery(let types) = step else { return }
        step = nil
        if end == .ended || end == .none { discoveryTypes = nil }
        if case .others(.probed, let filtersDuplicates) = state {
            return probed(end, filtersDuplicates, isDaemonRunning: isDaemonRunning)
        }
        if end == .otherTypes, case .ours(let tried) = leftover, tried.count < 4 {
            leftover = .ours(tried: tried + [types])
            return
        }
        // The end of a discovery has the kernel look after its own scans; without the right to end one that is not to be.
        if end != .none || state == .ours { hasReplacedKernelScan = false }
        if end == .ended, state == .ours { state = .off }
        leftover = .none
    }

    private mutating func probed(_ end: DiscoveryEnd, _ filtersDuplicates: Bool, isDaemonRunning: Bool) {
        switch end {
        case .ended: (state, leftover) = (.off, .none)
        case .none: (state, leftover) = (.others(.undecided, filtersDuplicates: filtersDuplicates), .none)
        case .otherTypes, .unknown:
            let isHeard = end == .otherTypes || isDaemonRunning
            state = .others(isHeard ? .heard : .undecided, filtersDuplicates: filtersDuplicates)
        }
    }

    // MARK: What others do

    /// Records that another's command was answered; says whether it was about the scanner.
    package mutating func otherCommand(_ command: HCICommand, _ status: HCIStatus) -> Bool {
        switch command {
        case .leSetScanParameters, .leSetExtendedScanParameters:
            if status.isSuccess { parameters = ScanSettings(command).map { .others($0) } ?? .unknown }
        case .leSetScanEnable(let isOn, let duplicates): otherEnable(isOn, duplicates, status)
        case .leSetExtendedScanEnable(let enable): otherEnable(enable.isEnabled, enable.duplicates, status)
        case .leCreateConnection, .leExtendedCreateConnection:
            if status.isSuccess, hold != .leaving { hold = .connecting }
            return true
        case .disconnect(_, reason: .remoteDevicePoweringOff):
            // So the kernel says good-bye.
            hold = .leaving
            return true
        case .reset:
            scannerWentOff()
            parameters = .unknown
        case .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leClearFilterAcceptList,
            .leSetRandomAddress:
            break
        default: return false
        }
        if hold == nil { hold = .settling }
        return true
    }

    private mutating func otherEnable(_ isOn: Bool, _ duplicates: LEDuplicateFilter, _ status: HCIStatus) {
        if isOn {
            if status.isSuccess { state = .others(.undecided, filtersDuplicates: duplicates != .disabled) }
        } else if status.isSuccess || status == .commandDisallowed {
            scannerWentOff()
        }
    }

    /// Records that the scan is off without anybody's command: its time was over.
    package mutating func scannerWentOff() {
        (state, replaced) = (.off, nil)
    }

    /// Has a scan of ours that is on ended and begun anew.
    package mutating func beginAnew() {
        if state == .ours { parameters = .unknown }
    }

    /// Records that a connection was made, or not.
    package mutating func connectionAttemptEnded() {
        if hold != .leaving { hold = .settling }
        // In case a command was missed: for a connection the kernel switches off whatever scan is on.
        if step == nil { beginAnew() }
    }

    /// Records that the kernel began or ended a discovery, in its own mind or for a program.
    package mutating func discoveryChanged(_ types: ManagementAddressTypes, isOn: Bool) {
        discoveryTypes = isOn ? types : nil
        guard !isOn else { return }
        leftover = .none
        if case .others(.heard, let filtersDuplicates) = state {
            state = .others(.undecided, filtersDuplicates: filtersDuplicates)
        }
    }

    /// Records that the others have had their time.
    package mutating func holdEnded() {
        hold = nil
    }
}
