import BluetoothATT
import BluetoothHost
import BluetoothManagement
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

// The meanings of the kernel's error numbers on a link, in one place. The numbers are those of the kernel's translation
// of link-layer reasons (net/bluetooth/lib.c).
extension BluetoothError {
    /// The error for the end of a link that was up, according to its socket.
    package static func disconnected(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        disconnected(peer, error, status: nil, isFollowed: false) { nil }
    }

    /// The error for a link that could not be established.
    package static func connecting(
        _ operation: Operation, _ error: KernelError, _ environment: HostEnvironment = HostEnvironment()
    ) -> BluetoothError {
        let cause = Cause.kernel(error)
        switch error.number {
        case .addressFamilyNotSupported, .protocolNotSupported: return .noBluetoothSockets(operation, error)
        case .hostUnreachable, .networkDown:
            return BluetoothError(
                .adapterOff, operation, "No adapter is powered on.", remedy: powerRemedy(operation.adapter),
                cause: cause)
        case .noSuchDevice:
            return BluetoothError(
                .noAdapter, operation, "The adapter was powered off or unplugged.", cause: cause)
        case .busy:
            return BluetoothError(
                .busy, operation,
                "Another program, or another Adapter of this one, uses the attribute channel of this device.",
                remedy: otherProgramRemedy(environment), cause: cause, isRetryable: true)
        case .connectionReset, .connectionAborted: return .metTheEnd(operation, cause)
        // The kernel's translation of 0x09 (Connection Limit Exceeded).
        case .tooManyLinks: return .linkLimitReached(operation, cause)
        case .timedOut, .inProgress:
            return BluetoothError(
                .timedOut, operation, "The device did not respond.", remedy: outOfReachRemedy, cause: cause,
                isRetryable: true)
        case .connectionRefused:
            return BluetoothError(
                .connectionFailed, operation,
                "The kernel refused to connect: LE is disabled on the adapter, or the time limit was reached.",
                remedy: lowEnergyRemedy(operation.adapter), cause: cause, isRetryable: true)
        case .notImplemented:
            return BluetoothError(
                .connectionFailed, operation, "The link failed to be established.", remedy: outOfReachRemedy,
                cause: cause, isRetryable: true, disconnectReason: .failedToBeEstablished)
        case .accessDenied:
            return BluetoothError(
                .connectionFailed, operation, "The device refused to connect without pairing.", cause: cause)
        case .notPermitted: return .notPermitted(operation, cause: cause)
        default:
            return BluetoothError(
                .connectionFailed, operation, "The link could not be established.", cause: cause, isRetryable: true)
        }
    }

    /// The error for the end of an open connection-oriented channel.
    package static func channelEnded(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        var reason = disconnected(peer, error)
        reason.operation.name = "use the channel"
        if error.number == .connectionReset { reason.message = "The peer closed the channel, or ended the link." }
        return reason
    }

    /// The error for the end of an open enhanced bearer. The link may still be up.
    package static func bearerEnded(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        var reason = disconnected(peer, error)
        guard error.number == .connectionReset else { return reason }
        reason.message = "The peer closed this bearer, or ended the link."
        reason.disconnectReason = nil
        return reason
    }

    /// The error for a connection-oriented channel that could not be opened.
    package static func openingChannel(_ operation: Operation, _ psm: UInt16, _ error: KernelError) -> BluetoothError {
        let cause = Cause.kernel(error)
        switch error.number {
        case .connectionRefused:
            return BluetoothError(
                .connectionFailed, operation,
                "The channel was refused: the peer has no listener on PSM \(hexadecimal(psm)) or no free channel, or requires a higher security level.",
                remedy: "Check the PSM: services often publish theirs in a characteristic.", cause: cause)
        case .connectionReset:
            return BluetoothError(
                .connectionFailed, operation, "The link ended before the channel was open.", cause: cause,
                isRetryable: true)
        case .accessDenied:
            return BluetoothError(
                .connectionFailed, operation, "The link could not be encrypted as the channel requires.", cause: cause)
        case .invalidArgument:
            return .invalidArgument(operation, "On LE a PSM is 0x0001 to 0x00FF.")
        case .protocolOptionNotAvailable, .operationNotSupported: return .noEnhancedFlowControl(operation, cause)
        default: return connecting(operation, error)
        }
    }

    /// The error of a connect that joined a cancelled attempt or a link just closed; trying again suffices.
    package static func metTheEnd(_ operation: Operation, _ cause: Cause?) -> BluetoothError {
        BluetoothError(
            .connectionFailed, operation, "The attempt joined an earlier link that was ending.", cause: cause,
            isRetryable: true)
    }

    /// The error for connection-oriented channels that cannot be listened for.
    package static func listening(
        _ operation: Operation, _ error: KernelError, _ environment: HostEnvironment
    ) -> BluetoothError {
        let cause = Cause.kernel(error)
        switch error.number {
        case .accessDenied:
            return BluetoothError(
                .notPermitted, operation, "A PSM below 0x0080 needs CAP_NET_BIND_SERVICE.",
                remedy: "Use one from 0x0080 to 0x00FF, or: \(bindCapabilityRemedy(environment))", cause: cause)
        case .invalidArgument: return .invalidArgument(operation, "On LE a PSM is 0x0001 to 0x00FF.")
        case .addressInUse:
            return BluetoothError(.busy, operation, "Another listener uses this PSM.", cause: cause)
        case .protocolOptionNotAvailable, .operationNotSupported: return .noEnhancedFlowControl(operation, cause)
        default: return .controller(operation, error, environment)
        }
    }

    /// The error for an enhanced bearer that could not be opened.
    package static func openingEnhancedBearer(_ operation: Operation, _ error: KernelError) -> BluetoothError {
        var reason = openingChannel(operation, AttributeProtocol.enhancedProtocolServiceMultiplexer, error)
        guard error.number == .connectionRefused else { return reason }
        reason.message =
            "The bearer was refused: the peer has no free bearer, or requires a higher security level."
        reason.remedy = nil
        return reason
    }

    /// The error for enhanced bearers that cannot be accepted. Their PSM is fixed, so no other can be chosen.
    package static func listeningForEnhancedBearers(
        _ operation: Operation, _ error: KernelError, _ environment: HostEnvironment
    ) -> BluetoothError {
        var reason = listening(operation, error, environment)
        switch error.number {
        case .accessDenied:
            reason.message =
                "Enhanced bearers need CAP_NET_BIND_SERVICE, as their PSM is \(hexadecimal(AttributeProtocol.enhancedProtocolServiceMultiplexer))."
            reason.remedy =
                "\(bindCapabilityRemedy(environment))\nIn code, to do without enhanced bearers: IncomingConnectionOptions.enhancedBearers = 0."
        case .addressInUse:
            reason.message = "Another program accepts the enhanced bearers of this adapter."
            reason.remedy =
                "Stop it\(environment.isBluetoothDaemonRunning ? ", BlueZ's daemon with: sudo systemctl stop bluetooth" : ".")\nIn code, accept none: IncomingConnectionOptions.enhancedBearers = 0."
        default: break
        }
        return reason
    }

    /// The command that grants this program the capability to listen below PSM 0x0080. It revokes those not named.
    private static func bindCapabilityRemedy(_ environment: HostEnvironment) -> String {
        let program = environment.executablePath.map { "\"\($0)\"" } ?? "PROGRAM"
        return
            "sudo setcap 'cap_net_raw,cap_net_admin,cap_net_bind_service+eip' \(program)   (again after each build)"
    }

    private static func noEnhancedFlowControl(_ operation: Operation, _ cause: Cause) -> BluetoothError {
        BluetoothError(
            .unsupported, operation, "The enhanced credit based mode is disabled in this kernel.",
            remedy: "Try: echo Y | sudo tee /sys/module/bluetooth/parameters/enable_ecred", cause: cause)
    }

    /// A means without software, a call for a program that embeds the library, and the command of the package's own
    /// `ble`, each on a line of its own. ``forUsers(_:)`` leaves out what a user of a program cannot do.
    package static func remedy(_ means: String? = nil, inCode call: String, orRun command: String) -> String {
        (means.map { $0 + "\n" } ?? "") + """
            In code: \(call)
            Or run: sudo ble \(command)   (from this library's package: swift build -c release --product ble)
            """
    }

    /// How to power on an adapter, by its name if that is known: without one, `ble` takes the first.
    package static func powerRemedy(_ adapter: String?) -> String {
        remedy(
            inCode: "Adapter.open(power: .powerOn), or setPowered(true).",
            orRun: "power on\(adapter.map { " -i \($0)" } ?? "")")
    }

    /// How to switch LE on at an adapter, by its name if that is known.
    package static func lowEnergyRemedy(_ adapter: String?) -> String {
        remedy(
            inCode: "Adapter.open(power: .powerOn), or setPowered(true), which also enables LE.",
            orRun: "power on\(adapter.map { " -i \($0)" } ?? "")")
    }
    package static let daemonRemedy = remedy(
        "Stop BlueZ's daemon: sudo systemctl stop bluetooth",
        inCode: "end its links: setPowered(false), setPowered(true).",
        orRun: "power off; sudo ble power on")

    /// How to end the use of a resource by another program, which may be BlueZ's daemon only while that runs.
    package static func otherProgramRemedy(_ environment: HostEnvironment) -> String {
        environment.isBluetoothDaemonRunning ? daemonRemedy : "End the other program, or wait until it is done."
    }

    package static let outOfReachRemedy = """
        Is it switched on, in range, and not connected to another central?
        In code, a random address needs its type: BluetoothAddress(…, kind: .random).
        """

    package static func noBluetoothSockets(_ operation: Operation, _ error: KernelError) -> BluetoothError {
        BluetoothError(
            .noBluetooth, operation, "This kernel has no Bluetooth sockets (AF_BLUETOOTH).",
            remedy:
                "Load the adapter's driver, for example for USB: sudo modprobe btusb\nIn a container, Bluetooth works only in the host's network namespace (--network host).",
            cause: .kernel(error))
    }

    /// The error for a missing capability, with the command that grants it to this program.
    package static func notPermitted(
        _ operation: Operation, executable: String? = nil, cause: Cause? = nil
    ) -> BluetoothError {
        let program = executable.map { "\"\($0)\"" } ?? "PROGRAM"
        return BluetoothError(
            .notPermitted, operation, "This needs CAP_NET_RAW and CAP_NET_ADMIN.",
            remedy:
                "Grant them to this program once: sudo setcap 'cap_net_raw,cap_net_admin+eip' \(program)   (again after each build)\nOr run it with sudo.",
            cause: cause)
    }

    package static func noAdapter(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .noAdapter, operation, "No Bluetooth adapter found.",
            remedy: "Plug one in; look for what is missing with: ble doctor; sudo dmesg | grep -i bluetooth")
    }

    package static func adapterWentOff(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .adapterOff, operation, "\(operation.adapter ?? "The adapter") was powered off.",
            remedy: powerRemedy(operation.adapter))
    }

    /// The error for an adapter that is no longer up: powered off, or blocked by a radio switch.
    private static func adapterWentOff(
        _ operation: Operation, _ environment: HostEnvironment, _ cause: Cause
    ) -> BluetoothError {
        guard
            let blocking = environment.radioSwitches.first(where: {
                $0.name == operation.adapter && ($0.isSoftBlocked || $0.isHardBlocked)
            })
        else { return .adapterWentOff(operation) }
        return .blocked(operation, isHard: blocking.isHardBlocked, cause)
    }

    private static func blocked(_ operation: Operation, isHard: Bool = false, _ cause: Cause) -> BluetoothError {
        BluetoothError(
            .adapterBlocked, operation, "The adapter is blocked by rfkill.",
            remedy: isHard ? hardBlockRemedy : softBlockRemedy, cause: cause)
    }

    /// The error for an answer of the kernel that could not be parsed.
    package static func unreadable(_ operation: Operation) -> BluetoothError {
        BluetoothError(.failed, operation, "The kernel's answer cannot be read.")
    }

    /// The error for a failed call on an HCI or management socket.
    package static func controller(
        _ operation: Operation, _ error: KernelError, _ environment: HostEnvironment
    ) -> BluetoothError {
        let cause = Cause.kernel(error)
        switch error.number {
        case .addressFamilyNotSupported, .protocolNotSupported: return .noBluetoothSockets(operation, error)
        case .notPermitted, .accessDenied:
            return .notPermitted(operation, executable: environment.executablePath, cause: cause)
        case .networkDown: return .adapterWentOff(operation, environment, cause)
        case .radioBlocked: return .blocked(operation, cause)
        case .noSuchDevice, .brokenPipe, .connectionAborted, .badFileDescriptor:
            return BluetoothError(
                .noAdapter, operation,
                "\(operation.adapter ?? "The adapter") was removed: unplugged, or taken by another program.",
                cause: cause)
        case .busy, .alreadyInProgress:
            return BluetoothError(
                .busy, operation, "Another program holds the adapter.", remedy: otherProgramRemedy(environment),
                cause: cause, isRetryable: true)
        default:
            return BluetoothError(.failed, operation, "The kernel refused.", cause: cause)
        }
    }

    /// The error for a controller's refusal of a command.
    package static func refused(_ operation: Operation, _ status: HCIStatus) -> BluetoothError {
        BluetoothError(
            .failed, operation, "The controller refused: \(status).", cause: .controller(status),
            isRetryable: status == .commandDisallowed)
    }

    /// The error for the kernel's refusal of a management command.
    package static func management(
        _ operation: Operation, _ status: ManagementStatus, _ environment: HostEnvironment
    ) -> BluetoothError {
        let cause = Cause.management(status)
        switch status {
        case .permissionDenied:
            return .notPermitted(operation, executable: environment.executablePath, cause: cause)
        case .invalidIndex: return .noAdapter(operation)
        case .notPowered: return .adapterWentOff(operation, environment, cause)
        case .rfkilled: return .blocked(operation, cause)
        case .busy:
            return BluetoothError(
                .busy, operation, "Another program is performing the same operation.",
                remedy: otherProgramRemedy(environment), cause: cause, isRetryable: true)
        case .notSupported, .unknownCommand:
            return BluetoothError(
                .unsupported, operation, "The adapter or the kernel does not support this.", cause: cause)
        default:
            return BluetoothError(.failed, operation, "The kernel refused: \(status).", cause: cause)
        }
    }
}

extension BluetoothError.Cause {
    /// The kernel's management interface refused.
    package static func management(_ status: ManagementStatus) -> BluetoothError.Cause {
        .host(.init(Int(status.rawValue), "mgmt \(status)"))
    }
}
