import BluetoothHost
import BluetoothHCI
import BluetoothManagement

/// The state of a controller's scanner, the declared scan, and the next step that reconciles the two.
///
/// The scanner is shared: by the kernel for connections and discoveries, and by every program with a raw socket. A raw
/// socket receives the commands of all others, so this state machine knows who has switched it on or off, and how:
///
/// - A scan that another program switches off is restarted when that program is done.
/// - Another program's scan that reports everything declared here is used and left alone. One that does not is replaced
///   by one that serves both, except a discovery through the management interface, which would never end: that is used
///   as it is, for the some 10 s it lasts. Two programs that do so converge, since each only adds.
/// - While the kernel creates a connection for another program, the scanner is left to it.
///
/// The kernel scans with the extended commands when the controller has them and otherwise with the legacy ones; a
/// controller refuses a mixture of both, so this follows the kernel's choice.
package struct ScannerStateMachine: Hashable {
    package enum Action: Hashable {
        /// One at a time; answered by ``succeed(_:)``, ``refuse(_:)``, ``fail()`` or
        /// ``discoveryEnded(_:isDaemonRunning:)``.
        case perform(Step)
        /// Reports that another program's discovery is used, which may not report everything requested.
        case announceListening
    }

    /// A request to the controller or the kernel.
    package enum Step: Hashable {
        /// Reads which commands the controller supports.
        case readSupportedCommands
        /// Ends a scan that is on.
        case disable
        /// Sets the scan parameters while scanning is off.
        case setParameters(ScanSettings)
        /// Starts scanning.
        case enable
        /// Makes the kernel forget an active scan, or finds out which discovery is running.
        ///
        /// Linux takes an active scan for a discovery and starts no connection automatically while it believes that one
        /// is running; ending the scan by the same raw command does not correct that.
        case endDiscovery(ManagementAddressTypes)
    }

    /// A reason to wait.
    package enum Hold: Hashable {
        /// Another program has just changed the scanner, and may not be done.
        case settling
        /// The kernel creates a connection for another program.
        case connecting
        /// The kernel is powering the adapter off or suspending the machine.
        case leaving

        /// The time limit of the wait. The kernel cancels an attempt after 20 s, and gives the controller two seconds
        /// for each command.
        package var limit: Duration {
            switch self {
            case .settling: .milliseconds(100)
            case .connecting: .seconds(25)
            case .leaving: .seconds(5)
            }
        }
    }

    /// The result of ending a discovery.
    package enum DiscoveryEnd: Hashable {
        /// A discovery of these types has ended, and the scan with it.
        case ended
        /// There was none.
        case none
        /// There is one of other types.
        case otherTypes
        /// The result cannot be known.
        case unknown
    }

    package enum State: Hashable {
        /// A killed program may have left it on.
        case unknown
        case off
        /// On by our command.
        case ours
        /// On by another program's command, which may have enabled duplicate filtering.
        case others(Treatment, filtersDuplicates: Bool)
    }

    /// The handling of another program's scan.
    package enum Treatment: Hashable {
        case undecided
        /// Its origin is unknown; a query to the kernel is pending.
        case probed
        /// Its reports are used, whatever it is.
        case heard
    }

    /// The scan parameters set in the controller.
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

    /// A discovery that the kernel believes in but no program runs.
    package enum Leftover: Hashable {
        case none
        /// A killed program may have left one.
        case possible
        /// Our scan has caused one, which could not be ended with the types that were tried.
        case ours(tried: [ManagementAddressTypes])
    }

    /// The scan that this program declares; nil for none.
    package var request: ScanSettings? {
        didSet { isUnanswered = false }
    }
    /// Whether the controller has not answered: it is not asked again before the next request, or a restart.
    private var isUnanswered = false
    package private(set) var state = State.unknown
    package private(set) var hold: Hold?
    /// The scan commands that the controller supports.
    package private(set) var family: HCICommandFamily?
    private var step: Step?
    /// The number of steps refused in succession.
    private var refusals = 0
    private var parameters = Parameters.unknown
    /// The settings of other programs' scans that ours replaced.
    private var replaced: ScanSettings?
    /// Whether ours may have replaced a scan that the kernel started to connect a device.
    private var hasReplacedKernelScan = false
    private var leftover = Leftover.possible
    /// The types of the discovery that the kernel reports; nil when there is none.
    private var discoveryTypes: ManagementAddressTypes?

    private static let refusalLimit = 6

    /// Records that the socket was closed: other programs' commands are not seen meanwhile.
    package mutating func stoppedWatching() {
        (state, parameters, hold) = (.unknown, .unknown, nil)
        (replaced, hasReplacedKernelScan, refusals) = (nil, false, 0)
    }

    /// Records that the controller was reset or is another: it has none of the earlier settings.
    package mutating func forgetController() {
        self = ScannerStateMachine(request: request)
    }

    private var wanted: ScanSettings? {
        guard var request else { return nil }
        // Not a setting of the controller.
        request.batching = .zero
        return replaced.map { request.united(with: $0) } ?? request
    }

    /// The next action; nil when the scanner is reconciled, a step is outstanding, or the scanner is left to others.
    package mutating func advance() -> Action? {
        guard step == nil, !isUnanswered else { return nil }
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

    /// Whether another program's scan reports everything declared here.
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

    /// The next step when nothing is declared any longer: restores the state without us.
    private var nextStepToRest: Step? {
        // When a discovery ends, the kernel restores its own scans, so one is started and ended.
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

    /// The kernel remembers the types of the last real discovery and expects them again.
    package var typesToEnd: ManagementAddressTypes {
        guard case .ours(let tried) = leftover else { return [] }
        if let discoveryTypes, !tried.contains(discoveryTypes) { return discoveryTypes }
        let all: [ManagementAddressTypes] = [[], .lowEnergy, [.lowEnergy, .brEDR], .brEDR]
        return all.first { !tried.contains($0) } ?? []
    }

    /// Whether the kernel believes in a discovery because of our scan, whether it is on or not.
    package var leavesDiscovery: Bool { if case .ours = leftover { true } else { false } }

    /// Whether our scan is on, or is being started.
    package var mayBeOn: Bool { state == .ours || step == .enable }

    /// Whether the end of a discovery was requested and not answered.
    package var isEndingDiscovery: Bool {
        if case .endDiscovery = step { true } else { false }
    }

    /// Whether a step is outstanding.
    package var isBusy: Bool { step != nil }

    /// Whether waiting callers can resume: the scanner is reconciled, or will be automatically.
    package var isReconciled: Bool { !isBusy && (hold == nil || hold == .connecting || wanted == nil) }

    // MARK: Our steps

    /// Records that the outstanding step succeeded; `family` is the result of reading the commands.
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

    /// Records that the controller refused the outstanding step; returns whether that is a failure.
    ///
    /// Some controllers refuse to end a scan that is off, which is harmless. Parameters are refused while any scan is
    /// on, and a scan may be while a connection is being created.
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
            // Restoring the kernel's scan is not worth a retry.
            hasReplacedKernelScan = false
            return false
        }
        guard refusals < Self.refusalLimit else {
            fail()
            return true
        }
        switch (step, state) {
        // A scan that was observed to start meanwhile is known; it may be sufficient.
        case (.setParameters, .others) where parameters != .unknown: break
        case (.setParameters, _): (state, parameters) = (.others(.probed, filtersDuplicates: false), .unknown)
        default: hold = .settling
        }
        return false
    }

    /// Records that the outstanding step failed for another reason.
    package mutating func fail() {
        (step, refusals, hasReplacedKernelScan) = (nil, 0, false)
        (state, parameters) = (.unknown, .unknown)
        isUnanswered = request != nil
    }

    /// Records the result of ending a discovery.
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
        // At the end of a discovery the kernel restores its own scans; without the privilege to end one that is not
        // possible.
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

    // MARK: Other programs

    /// Records another program's completed command; returns whether it was about the scanner.
    package mutating func otherCommand(_ command: AnyHCICommand, _ status: HCIStatus) -> Bool {
        switch command.opcode {
        case LESetScanParameters.opcode, LESetExtendedScanParameters.opcode:
            if status.isSuccess { parameters = ScanSettings(command).map { .others($0) } ?? .unknown }
        case LESetScanEnable.opcode, LESetExtendedScanEnable.opcode:
            if let enable = command.as(LESetScanEnable.self) {
                otherEnable(enable.isEnabled, enable.duplicates, status)
            }
            if let enable = command.as(LESetExtendedScanEnable.self) {
                otherEnable(enable.isEnabled, enable.duplicates, status)
            }
        case LECreateConnection.opcode, LEExtendedCreateConnection.opcode:
            if status.isSuccess, hold != .leaving { hold = .connecting }
            return true
        case HCIDisconnect.opcode:
            guard command.as(HCIDisconnect.self)?.reason == .remoteDevicePoweringOff else { return false }
            // The kernel does so before it powers off or suspends.
            hold = .leaving
            return true
        case HCIReset.opcode:
            scannerWentOff()
            parameters = .unknown
        case LEAddDeviceToFilterAcceptList.opcode, LERemoveDeviceFromFilterAcceptList.opcode,
            LEClearFilterAcceptList.opcode, LESetRandomAddress.opcode:
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

    /// Records that scanning ended without a command: its duration was over.
    package mutating func scannerWentOff() {
        (state, replaced) = (.off, nil)
    }

    /// Restarts our scan if it is on.
    package mutating func beginAnew() {
        isUnanswered = false
        if state == .ours { parameters = .unknown }
    }

    /// Records that a connection attempt succeeded or failed.
    package mutating func connectionAttemptEnded() {
        if hold != .leaving { hold = .settling }
        // In case a command was missed: for a connection the kernel switches any scan off.
        if step == nil { beginAnew() }
    }

    /// Records that the kernel reports the beginning or end of a discovery, real or believed.
    package mutating func discoveryChanged(_ types: ManagementAddressTypes, isOn: Bool) {
        discoveryTypes = isOn ? types : nil
        guard !isOn else { return }
        leftover = .none
        if case .others(.heard, let filtersDuplicates) = state {
            state = .others(.undecided, filtersDuplicates: filtersDuplicates)
        }
    }

    /// Records that the wait for other programs is over.
    package mutating func holdEnded() {
        hold = nil
    }
}
