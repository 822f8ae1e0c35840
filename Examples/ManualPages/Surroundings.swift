/// What the help of the programs does not say: the variables and files they use, and how to permit them to scan.
enum Surroundings {
    struct Entry: Sendable {
        var name: String
        var meaning: String
    }

    /// The programs with manual pages.
    static let programs = ["ble", "linble"]

    static func environment(of program: String, _ command: String?) -> [Entry] {
        var entries = [
            Entry(name: "NO_COLOR", meaning: "If set and not empty, no colours are used."),
            Entry(name: "TERM", meaning: "If it is dumb, no colours are used."),
            Entry(
                name: "BLUETOOTH_SIMULATION",
                meaning:
                    "A file that describes a simulated radio with its devices; the program runs on that instead of the machine's adapters."
            ),
            Entry(
                name: "BLUETOOTH_TRACE",
                meaning: "The file of --trace; in its name %p is the process, %t the time in seconds since 1970."),
            Entry(
                name: "STATE_DIRECTORY, XDG_STATE_HOME, HOME",
                meaning: "Where the bonds are stored without --bonds: the first that is set, see FILES."),
        ]
        if program == "linble", command == "bridge" {
            entries.append(
                Entry(
                    name: "NOTIFY_SOCKET, WATCHDOG_USEC",
                    meaning: "Set by systemd: the program reports that it is ready and that it is running."))
        }
        return entries
    }

    static let files = [
        Entry(
            name: "/var/lib/swift-bluetooth-le/bonds",
            meaning: "The bonds of root: keys, subscriptions and cached attributes of paired devices."),
        Entry(
            name: "~/.local/state/swift-bluetooth-le/bonds",
            meaning: "The bonds of other users, or below $XDG_STATE_HOME; below $STATE_DIRECTORY in a systemd service."),
    ]

    static let capabilities =
        "Scanning, advertising and powering an adapter on need CAP_NET_RAW and CAP_NET_ADMIN; connecting to a given address needs neither. Without root, the program's file must have them, and then only a group should be able to run it. These commands set them, and must be repeated after the file is replaced:"

    static func grant(to program: String) -> [String] {
        let file = "\"$(command -v \(program))\""
        return [
            "sudo chown root:bluetooth \(file)", "sudo chmod 750 \(file)",
            "sudo setcap cap_net_raw,cap_net_admin+eip \(file)",
        ]
    }
}
