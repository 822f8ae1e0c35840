import BluetoothKernel
import HCI
import Management

/// What the scanner does, who wants what of it, and the next step that brings the two together.
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
        /// To have the kernel forget that somebody was scanning actively, or to find out what is going on.
        ///
        /// Linux takes an active scan for a discovery and begins no connection by itself while it thinks one is going
        /// on; that the scan was ended by the same raw command does not change its mind.
        case endDiscovery(ManagementAddressTypes)
    }

    /// Why nothing is done for now.
    enum Hold: Equatable {
        /// Somebody has just changed something about the scanner, and may not be done.
        case settling
        /// The kernel makes a connection for somebody.
        case connecting
        /// The kernel is powering the adapter off, or puts the machine to sleep.
        case leaving

        /// After which it is over in any case. The kernel gives an attempt up after 20 s, and gives the controller two
        /// seconds for each command.
        var limit: Duration {
            switch self {
            case .settling: .milliseconds(100)
            case .connecting: .seconds(25)
            case .leaving: .seconds(5)
            }
        }
    }

    /// How an attempt to end a discovery came out.
    enum DiscoveryEnd: Equatable {
        /// There was one of these types, and it is over; so is the scan.
        case ended
        /// There was none.
        case none
        /// There is one of other types.
        case otherTypes
        /// That cannot be known.
        case unknown
    }

    private enum Scanner: Equatable {
        /// Perhaps somebody who was killed has left it on.
        case unknown
        case off
        /// On, by our command or by another's.
        case on(ours: Bool)
    }

    /// Who waits for the controller to do as it is told.
    var waiters = WaiterList<Void, BluetoothError>()
    /// What everybody of us together wants, as long as somebody listens.
    var request: ScanSettings?
    /// The commands the controller has for it.
    private(set) var family: HCICommandFamily?
    private(set) var hold: Hold?

    private var scanner = Scanner.unknown
    /// What the controller was told last, by whomever; nil when that is not known.
    private var settings: ScanSettings?
    private var areSettingsOurs = false
    /// Another's scan reports each device once only.
    private var filtersDuplicates = false
    /// What another program has asked for, whose scan was replaced.
    private var othersRequest: ScanSettings?
    /// Another's scan is listened to, whatever it is.
    private var isListening = false
    /// The kernel may have begun a scan of its own, to connect somebody, that was replaced by ours.
    private var hasReplaced = false
    /// A scan that was nobody's we know of is on: it is to be found out what it is.
    private var isProbing = false
    /// The kernel may think of a discovery that nobody means.
    private var mayThinkOfDiscovery = true
    /// Whether that is sure to be ours.
    private var isDiscoveryOurs = false
    /// The types of the discovery that is going on, as the kernel tells; nil when none is.
    private var discoveryTypes: ManagementAddressTypes?
    /// Types with which the discovery we caused could not be ended.
    private var triedTypes: [ManagementAddressTypes] = []
    private var stepInFlight: Step?
    private var refusals = 0
    private var nextID: UInt64 = 0

    mutating func makeID() -> UInt64 {
        nextID += 1
        return nextID
    }

    /// To be called when the socket was closed: what others do meanwhile is not seen.
    mutating func stoppedWatching() {
        (scanner, settings, areSettingsOurs, hold) = (.unknown, nil, false, nil)
        (othersRequest, isListening, hasReplaced, isProbing, refusals) = (nil, false, false, false, 0)
    }

    /// Takes note that the controller is another, or was off: nothing of what it was told is known to it any more.
    mutating func forgetController() {
        stoppedWatching()
        (family, stepInFlight, discoveryTypes, triedTypes) = (nil, nil, nil, [])
        (mayThinkOfDiscovery, isDiscoveryOurs) = (true, false)
    }

    private var wanted: ScanSettings? {
        guard let request else { return nil }
        return othersRequest.map { request.united(with: $0) } ?? request
    }

    /// Takes the next step, or nil when the controller does as it is told, is busy with a step, or is left to others.
    mutating func takeStep() -> Step? {
        guard stepInFlight == nil else { return nil }
        stepInFlight = nextStep()
        return stepInFlight
    }

    private mutating func nextStep() -> Step? {
        guard let wanted else { return nextStepToRest() }
        if family == nil { return .readSupportedCommands }
        guard hold == nil else { return nil }
        switch scanner {
        case .on(ours: true): return settings == wanted ? nil : .disable
        case .on(ours: false):
            if isProbing { return .endDiscovery([]) }
            if isListening { return nil }
            if let settings, !filtersDuplicates, settings.serves(wanted) { return nil }
            if let discoveryTypes, !discoveryTypes.isEmpty, settings?.isDiscovery != false {
                isListening = true
                return nil
            }
            hasReplaced = true
            if let settings { othersRequest = settings.united(with: othersRequest ?? settings) }
            return .disable
        case .unknown, .off: return areSettingsOurs && settings == wanted ? .enable : .setParameters(wanted)
        }
    }

    /// Nobody of us listens: leaves things as if nobody had.
    private func nextStepToRest() -> Step? {
        let isNudging = hasReplaced && !mayThinkOfDiscovery
        switch scanner {
        case .on(ours: true): return isNudge && mayThinkOfDiscovery ? .endDiscovery(typesToEnd) : .disable
        case .on(ours: false): return nil
        case .unknown, .off:
            if mayThinkOfDiscovery { return .endDiscovery(typesToEnd) }
            guard isNudging, family != nil else { return nil }
            // The kernel looks after its own scans when a discovery ends, so it is given one.
            return isNudge ? .enable : .setParameters(.leastActive)
        }
    }

    private var isNudge: Bool { areSettingsOurs && settings == .leastActive }

    /// The kernel keeps the types of the last discovery that was meant, and wants to hear them again.
    var typesToEnd: ManagementAddressTypes {
        guard isDiscoveryOurs else { return [] }
        if let discoveryTypes, !triedTypes.contains(discoveryTypes) { return discoveryTypes }
        let all: [ManagementAddressTypes] = [[], .lowEnergy, [.lowEnergy, .brEDR], .brEDR]
        return all.first { !triedTypes.contains($0) } ?? []
    }

    /// Whether the kernel thinks of a discovery because of us, be the scan on or not.
    var leavesDiscovery: Bool { mayThinkOfDiscovery && isDiscoveryOurs }

    /// Whether a scan of ours is on, or is about to be.
    var mayBeOn: Bool { scanner == .on(ours: true) || stepInFlight == .enable }

    /// Whether another's scan is listened to that is not what was asked for.
    var listensToOthers: Bool { isListening && scanner == .on(ours: false) }

    /// Whether the kernel has been asked to end a discovery and has not answered.
    var isEndingDiscovery: Bool {
        if case .endDiscovery = stepInFlight { true } else { false }
    }

    /// Whether a step is under way.
    var isBusy: Bool { stepInFlight != nil }

    /// Whether those who wait have what they wait for: the scanner does as it is told, or will by itself.
    var isInLine: Bool { !isBusy && (hold == nil || hold == .connecting || wanted == nil) }

    // MARK: Our steps

    /// Takes note that the step in flight succeeded; `family` is what reading the commands brought.
    mutating func succeed(_ family: HCICommandFamily? = nil) {
        defer { stepInFlight = nil }
        switch stepInFlight {
        case .readSupportedCommands: self.family = family ?? .legacy
        case .disable: scanner = .off
        case .setParameters(let settings):
            (self.settings, areSettingsOurs) = (settings, true)
            if scanner == .unknown { scanner = .off }
        case .enable:
            scanner = .on(ours: true)
            (refusals, isListening) = (0, false)
            if settings?.isDiscovery == true {
                (mayThinkOfDiscovery, isDiscoveryOurs, triedTypes) = (true, true, [])
            }
        default: break
        }
    }

    /// Takes note that the controller refused the step in flight; says whether that is a failure.
    ///
    /// Ending a scan that is off is refused by some and harmless. Parameters are refused while anybody's scan is on,
    /// and a scan perhaps while a connection is being made.
    mutating func refuse(_ status: HCIStatus) -> Bool {
        defer { stepInFlight = nil }
        guard status == .commandDisallowed else {
            fail()
            return true
        }
        if stepInFlight == .disable {
            scanner = .off
            return false
        }
        refusals += 1
        // Resting is not worth the trouble.
        guard wanted != nil else {
            hasReplaced = false
            return false
        }
        guard refusals < 6 else {
            fail()
            return true
        }
        switch stepInFlight {
        case .setParameters:
            // One that was seen to be switched on meanwhile is known; it may be all that is wanted.
            if scanner == .on(ours: false), settings != nil { break }
            (scanner, settings, isProbing) = (.on(ours: false), nil, true)
        default: hold = .settling
        }
        return false
    }

    /// Takes note that the step in flight failed for another reason.
    mutating func fail() {
        stepInFlight = nil
        (refusals, hasReplaced, isProbing) = (0, false, false)
        // A controller that does not answer is not asked again before somebody wants something of it.
        (scanner, settings, areSettingsOurs) = (.unknown, nil, false)
    }

    /// Takes note of how ending a discovery came out.
    mutating func discoveryEnded(_ end: DiscoveryEnd, isDaemonRunning: Bool) {
        guard case .endDiscovery(let types) = stepInFlight else { return }
        stepInFlight = nil
        if end == .ended || end == .none { discoveryTypes = nil }
        if isProbing { return probed(end, isDaemonRunning: isDaemonRunning) }
        if end == .otherTypes, isDiscoveryOurs, triedTypes.count < 4 {
            triedTypes.append(types)
            return
        }
        // The end of a discovery has the kernel look after its own scans; without the right to end one that is not to be.
        if end != .none || scanner == .on(ours: true) { hasReplaced = false }
        if end == .ended, scanner == .on(ours: true) { scanner = .off }
        (mayThinkOfDiscovery, isDiscoveryOurs, triedTypes) = (false, false, [])
    }

    private mutating func probed(_ end: DiscoveryEnd, isDaemonRunning: Bool) {
        isProbing = false
        switch end {
        case .ended:
            scanner = .off
            mayThinkOfDiscovery = false
        case .none: mayThinkOfDiscovery = false
        case .otherTypes: isListening = true
        case .unknown: isListening = isDaemonRunning
        }
    }

    // MARK: What others do

    /// Takes note that another's command was answered; says whether it was about the scanner.
    mutating func otherCommand(_ command: HCICommand, _ status: HCIStatus) -> Bool {
        switch command {
        case .leSetScanParameters, .leSetExtendedScanParameters:
            if status.isSuccess { (settings, areSettingsOurs) = (ScanSettings(command), false) }
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
            settings = nil
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
            guard status.isSuccess else { return }
            scanner = .on(ours: false)
            filtersDuplicates = duplicates != .disabled
            (isListening, isProbing) = (false, false)
        } else if status.isSuccess || status == .commandDisallowed {
            scannerWentOff()
        }
    }

    /// Takes note that the scan is off without anybody's command: its time was over.
    mutating func scannerWentOff() {
        scanner = .off
        (othersRequest, isListening, isProbing) = (nil, false, false)
    }

    /// Has a scan of ours that is on ended and begun anew.
    mutating func beginAnew() {
        if scanner == .on(ours: true) { (settings, areSettingsOurs) = (nil, false) }
    }

    /// Takes note that a connection was made, or not.
    mutating func connectionAttemptEnded() {
        if hold != .leaving { hold = .settling }
        // In case a command was missed: for a connection the kernel switches off whatever scan is on.
        if scanner == .on(ours: true), stepInFlight == nil { (settings, areSettingsOurs) = (nil, false) }
    }

    /// Takes note that the kernel began or ended a discovery, in its own mind or for a program.
    mutating func discoveryChanged(_ types: ManagementAddressTypes, isOn: Bool) {
        discoveryTypes = isOn ? types : nil
        guard !isOn else { return }
        (isListening, mayThinkOfDiscovery, isDiscoveryOurs) = (false, false, false)
    }

    /// Takes note that the others have had their time.
    mutating func holdEnded() {
        hold = nil
    }
}
