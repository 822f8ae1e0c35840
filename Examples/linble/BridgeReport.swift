import BluetoothLE
import ExampleSupport
import LINBLE
import Synchronization

/// The byte counts of a bridge, over all links.
struct BridgeCounts {
    private var uart: KeptUART.Statistics
    private let unread: Int

    /// The counts of the UART, with those of the bytes taken from programs and of the bytes that they have not read.
    init(_ uart: KeptUART.Statistics, taken: Int, unread: Int) {
        (self.uart, self.unread) = (uart, unread)
        // With those that wait for room in the buffer.
        self.uart.bufferedByteCount = max(
            uart.bufferedByteCount, taken - uart.sentByteCount - uart.droppedByteCount)
    }

    private var all: [(name: String, count: Int)] {
        [
            ("sent", uart.sentByteCount), ("confirmed", uart.confirmedByteCount),
            ("unconfirmed", uart.unconfirmedByteCount), ("buffered", uart.bufferedByteCount),
            ("dropped", uart.droppedByteCount), ("received", uart.receivedByteCount), ("unread", unread),
        ]
    }

    /// The fields of a JSON object.
    var fields: [(String, JSONValue)] { all.map { ($0.name, .integer($0.count)) } }

    /// `5 bytes sent, 7 received`: those that are not zero, in words; the confirmed ones are those that miss nothing.
    var text: String {
        let shown = all.filter { $0.count > 0 && $0.name != "confirmed" || $0.name == "sent" || $0.name == "received" }
        return "bytes: " + shown.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
    }
}

/// The lines that `linble bridge` prints, and the status for the service manager.
final class BridgeReport: Sendable {
    /// What a client does.
    enum ClientEvent: String {
        case connected, closed, refused
    }

    private let device: UARTDevice
    private let console: Console
    private let manager: ServiceManager
    /// The number of unread bytes at which the next line is printed, by the reader.
    private let unread = Mutex<[String: (total: Int, next: Int)]>([:])

    init(_ device: UARTDevice, _ console: Console, _ manager: ServiceManager) {
        (self.device, self.console, self.manager) = (device, console, manager)
    }

    /// The ports are open.
    func opened(_ ports: BridgePorts, on adapters: [AdapterInformation]) {
        let link = ports.terminal.map { $0.link ?? $0.path }
        if let tcp = ports.tcp, !tcp.isLocal {
            console.message(
                console.messages.yellow(
                    "Anyone who can reach \(tcp.name) can use the device: the connection is neither authenticated nor "
                        + "encrypted."))
        }
        let places = [
            ports.terminal.map { "\(printable(link ?? "")) (\($0.path))" },
            ports.unix.map { "the socket \(printable($0.name))" }, ports.tcp.map { "TCP \($0.name)" },
        ].compactMap(\.self).joined(separator: " and ")
        let names = adapters.map { "\($0.name) \($0.address.digits)" }.joined(separator: ", ")
        let (verb, address) = adapters.count == 1 ? ("bridges", adapters[0].address.digits) : ("bridge", nil)
        console.result(
            "bridging", "\(names) \(verb) \(printable("\(device)")) to \(places)",
            [
                ("adapter", .string(adapters.map(\.name).joined(separator: ","))), ("address", JSONValue(address)),
                ("device", .string("\(device)")), ("pty", JSONValue(link)),
                ("unix", JSONValue(ports.unix?.name)), ("tcp", JSONValue(ports.tcp?.name)),
            ])
    }

    /// An event of the UART.
    func tell(_ event: KeptUART.Event, _ counts: BridgeCounts) async {
        if let attempt = event.connecting {
            manager.setStatus("waiting for \(device)")
            // A later attempt follows a line that announces it.
            guard console.isJSON || attempt == 1 else { return }
            line("waiting", "\(device)", [("for", .string("device")), ("attempt", .integer(attempt))])
        } else if let error = event.waitingForAdapter {
            absent(error)
        } else if let uart = event.online {
            let adapter = await uart.connection.adapterName
            manager.setStatus("online with \(uart.peer.digits)")
            line(
                "online", "\(uart.peer.digits)  \(uart.profile.name)  \(adapter)",
                [
                    ("address", .string(uart.peer.digits)), ("profile", .string(uart.profile.name)),
                    ("adapter", .string(adapter)),
                ])
        } else if let (error, count) = event.offline {
            let reason = error.disconnectReason.map { "\($0)" } ?? error.message
            let words = error.disconnectReason?.words ?? error.message
            manager.setStatus("offline: \(words)")
            line(
                "offline", "\(words)  \(counts.text)",
                [("reason", .string(reason)), ("lost", .integer(count))] + counts.fields)
        } else if let (error, delay) = event.failed {
            manager.setStatus("failed: \(error.message)")
            let seconds = delay / .seconds(1)
            line(
                "failed", "\(error.message)  next attempt in \(formatDecimal(seconds, digits: 1)) s",
                [("reason", .string(error.message)), ("retryAfter", .number(seconds))])
        }
    }

    /// The adapter is absent, off or blocked, and is waited for.
    func absent(_ error: BluetoothError) {
        manager.setStatus("waiting for the adapter: \(error.message)")
        line("waiting", error.message, [("for", .string("adapter")), ("reason", .string(error.message))])
    }

    /// A program has not read bytes, which were dropped. Printed for the first, and each time that their number has
    /// doubled.
    func unread(_ count: Int, by reader: String) {
        guard count > 0 else { return }
        let total = unread.withLock { unread -> Int? in
            var own = unread[reader] ?? (0, 1)
            own.total += count
            let isDue = own.total >= own.next
            if isDue { own.next = 2 * own.total }
            unread[reader] = own
            return isDue ? own.total : nil
        }
        guard let total else { return }
        line(
            "unread", "\(quantity(total, "byte")) dropped that \(reader) has not read",
            [("reader", .string(reader)), ("count", .integer(total))])
    }

    /// A client has connected, closed its side, or was refused for a reason.
    func client(_ peer: String, _ event: ClientEvent, _ reason: String? = nil) {
        if event != .refused { unread.withLock { $0[peer] = nil } }
        let note = reason.map { ": \($0)" } ?? ""
        var fields: [(String, JSONValue)] = [("client", .string(peer)), ("state", .string(event.rawValue))]
        if let reason { fields.append(("reason", .string(reason))) }
        line("client", "\(peer)  \(event.rawValue)\(note)", fields)
    }

    /// The bridge has ended.
    func ended(_ counts: BridgeCounts) {
        line("ended", counts.text, counts.fields)
    }

    private func line(_ event: String, _ text: String, _ fields: [(String, JSONValue)]) {
        console.result(event, "\(console.time())  \(event)  \(printable(text))", fields)
    }
}
