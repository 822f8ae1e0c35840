import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE

/// What happens to a program's bytes while there is no link.
enum OfflineOption: String, ExpressibleByArgument, CaseIterable {
    case buffer, drop

    var behavior: KeptUARTOptions.OfflineBehavior { self == .buffer ? .buffer : .drop }
}

/// The scope of `bridge`, which waits for the device, however long that takes.
enum BridgeScope: OptionScope {
    static let groups: OptionGroups = [
        .name, .address, .identity, .choosing, .timeout, .security, .keySize, .opening, .bonds, .trace,
    ]
    static let allowsSeveralAdapters = true
}

struct BridgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge", abstract: "Use the device's UART as a serial port that stays open when a link ends.",
        discussion: """
            --pty creates a link to a pseudo terminal, which programs open like a serial port; --unix and --tcp accept \
            one client at a time. With several, the device's bytes go to the terminal and the client, and the bytes of \
            both go to the device in the order of arrival. A web browser that connects over TCP is refused. Runs until \
            Ctrl-C, or for the time of --for. -n is any part of the device's name, as for the other commands. The \
            device is chosen when it is first found; the bridge then keeps to its address or, if that is private and \
            therefore changes, to its name.

            The port persists while links come and go; the bridge waits for the device and the adapter. A program that \
            writes blocks while the buffer of --buffer bytes is full, so nothing is lost on an intact link. Bytes in \
            transit when a link ends may be lost, and are counted as unconfirmed; none arrives twice. Up to --buffer \
            bytes from the device wait for a program that reads slowly; then the oldest are dropped, and counted as \
            unread.

            With several adapters (-i hci0,hci1 or -i all) each link is made by the most suitable one, so the device \
            stays connected when an adapter is unplugged.

            As a systemd service, it reports its state (Type=notify) and answers the watchdog.

            EXAMPLES:
              linble bridge -n LINBLE-Z1 --pty /tmp/ttyBLE
              linble bridge --pty /tmp/ttyBLE --mode 0660 --group dialout
              linble bridge --profile auto --tcp 4000 --log bridge.log
              linble bridge --unix /tmp/ble.sock --mode 0660 --group dialout
              linble bridge -i all -n LINBLE-Z1 --pty /tmp/ttyBLE
            """)

    @OptionGroup var scoped: ScopedOptions<BridgeScope>
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Option(
        help: ArgumentHelp("The link to create to a pseudo terminal, such as /tmp/ttyBLE.", valueName: "link"),
        completion: .file())
    var pty: String?

    @Option(
        help: ArgumentHelp("The UNIX socket to listen on, such as /tmp/ble.sock.", valueName: "path"),
        completion: .file())
    var unix: String?

    @Option(
        help: ArgumentHelp(
            "The TCP port to listen on, such as 4000 or [::1]:4000; without an address, on 127.0.0.1, which other machines cannot reach.",
            valueName: "address:port"))
    var tcp: String?

    @Option(help: ArgumentHelp("The permissions of the terminal and the socket, such as 0660.", valueName: "octal"))
    var mode: String?

    @Option(help: ArgumentHelp("The group of the terminal and the socket; it may read and write.", valueName: "group"))
    var group: String?

    @Option(
        help: ArgumentHelp("Append the bytes of both directions to this file, with their times.", valueName: "file"),
        completion: .file())
    var log: String?

    @Option(
        help: ArgumentHelp("The number of bytes that can wait in each direction, such as 4096.", valueName: "bytes"))
    var buffer = 65_536

    @Option(help: "What to do with programs' bytes while there is no link: buffer or drop.")
    var offline = OfflineOption.buffer

    @OptionGroup var runTime: RunTimeOptions

    func validate() throws {
        guard pty != nil || unix != nil || tcp != nil else {
            throw ValidationError("Name the port: --pty LINK, such as --pty /tmp/ttyBLE, --unix PATH or --tcp PORT.")
        }
        if let tcp, NetworkAddress(tcp) == nil {
            throw ValidationError(
                "--tcp takes a port or a numeric address with one, such as 4000, 127.0.0.1:4000 or [::1]:4000, not '\(tcp)'."
            )
        }
        for (name, value) in [("--mode", mode), ("--group", group)] where value != nil && pty == nil && unix == nil {
            throw ValidationError("\(name) applies to a pseudo terminal or a socket: add --pty or --unix.")
        }
        if let mode, PortAccess.mode(mode) == nil {
            throw ValidationError("--mode takes octal permissions, 0 to 0777, not '\(mode)'.")
        }
        if let group, PortAccess.group(group) == nil {
            throw ValidationError("There is no group '\(group)'. List the groups with: getent group")
        }
        try checkRange(buffer, 1...1 << 28, "--buffer", " bytes")
    }

    private var access: PortAccess {
        PortAccess(
            mode: mode.flatMap { PortAccess.mode($0) }, group: group.flatMap { PortAccess.group($0) })
    }

    func run() async throws {
        let (common, uartOptions, log) = (scoped.common, uart, log)
        let (pty, unix, tcp) = (pty, unix, tcp.flatMap { NetworkAddress($0) })
        let (access, buffer, offline, limit) = (access, buffer, offline.behavior, runTime.duration)
        try await common.run("linble bridge", isServer: true, writing: [log]) { console in
            let device = try await common.uartDevice(uartOptions)
            let manager = ServiceManager()
            defer { manager.isStopping() }
            let report = BridgeReport(device, console, manager)
            let log = try log.map { try TransferLog($0) }
            let ports = try BridgePorts(
                pty: pty, unix: unix, access: access, tcp: tcp, capacity: buffer, report)
            let options = KeptUARTOptions(
                uart: uartOptions.options(common), sendCapacity: buffer, whileOffline: offline)
            _ = try await upTo(limit) {
                try await common.withKeptUART(
                    device, options, console,
                    whileAbsent: { error in
                        report.absent(error)
                        // The ports are open.
                        manager.isReady()
                        await manager.stayAlive()
                    }
                ) { uart, radio in
                    report.opened(ports, on: await radio.allAdapters.map(\.information))
                    try await Bridge(uart, ports, log, report).run(on: radio, manager)
                }
            }
        }
    }
}
