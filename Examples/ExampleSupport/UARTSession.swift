import ArgumentParser
import BluetoothLE
import LINBLE

/// The options of programs that use a UART.
public struct UARTProgramOptions: ParsableArguments, Sendable {
    /// The name of the device's UART profile.
    @Option(
        help: "The device's UART profile: \(Self.profileNames.joined(separator: ", ")), or auto for any of them.",
        completion: .list(Self.profileNames + ["auto"]))
    public var profile = "linble"

    /// The service of a UART of one's own.
    @Option(
        help: ArgumentHelp("The service of another UART, with --write and --notify.", valueName: "uuid"),
        transform: AttributeName.service)
    public var service: BluetoothUUID?

    /// The characteristic that is written.
    @Option(
        help: ArgumentHelp("The characteristic to write bytes to.", valueName: "uuid"),
        transform: AttributeName.characteristic)
    public var write: BluetoothUUID?

    /// The characteristic that notifies.
    @Option(
        help: ArgumentHelp("The characteristic that sends bytes in notifications.", valueName: "uuid"),
        transform: AttributeName.characteristic)
    public var notify: BluetoothUUID?

    /// The procedure that writes, instead of the profile's.
    @Flag(exclusivity: .exclusive)
    public var way: WriteWay?

    /// The ATT_MTU to request.
    @Option(help: "The ATT_MTU to request, 23 to 517, such as 185.")
    public var mtu = 517

    /// The maximum length of one write.
    @Option(
        help: ArgumentHelp(
            "The maximum number of bytes in one write, such as 20 (default: ATT_MTU − 3).", valueName: "bytes"))
    public var chunk: Int?

    /// The maximum rate in bytes per second.
    @Option(help: ArgumentHelp("The maximum number of bytes to send per second, such as 2000.", valueName: "bytes/s"))
    public var pace: Int?

    /// The baud rate of the device's UART.
    @Option(help: ArgumentHelp("Send no faster than a UART of this baud rate, such as 9600.", valueName: "bits/s"))
    public var baud: Int?

    /// The defaults.
    public init() {}

    private static var profileNames: [String] {
        UARTProfile.known.map { profile in
            let first = profile.name.lowercased().prefix { $0 != " " }
            return String(first)
        }
    }

    /// The profiles that the device may have: that of the UUIDs, or those that --profile names.
    public var profiles: [UARTProfile] {
        var profiles = UARTProfile(named: profile).map { [$0] } ?? UARTProfile.known
        if let service, let write, let notify {
            profiles = [UARTProfile(name: "\(service)", service: service, toDevice: write, fromDevice: notify)]
        }
        for index in profiles.indices where way != nil {
            profiles[index].writeType = way == .request ? .request : .command
        }
        return profiles
    }

    /// Rejects invalid values.
    public mutating func validate() throws {
        let given = [service, write, notify].count(where: { $0 != nil })
        guard given == 0 || given == 3 else { throw ValidationError("--service, --write and --notify go together.") }
        guard given == 0 || profile == "linble" else { throw ValidationError("Give either --profile or --service.") }
        guard profile == "auto" || UARTProfile(named: profile) != nil else {
            let names = Self.profileNames.joined(separator: ", ")
            let question = Suggestion.question(for: profile, among: Self.profileNames + ["auto"])
            throw ValidationError("--profile takes auto, \(names), not '\(profile)'.\(question)")
        }
        try checkRange(mtu, 23...517, "--mtu", " bytes")
        for (name, value) in [("--chunk", chunk), ("--pace", pace), ("--baud", baud)] {
            if let value, value < 1 { throw ValidationError("\(name) takes a number above 0, not \(value).") }
        }
        if pace != nil, baud != nil { throw ValidationError("Give either --pace or --baud, not both.") }
    }

    /// The pacing given on the command line, if any.
    public var pacing: UARTPacing? {
        if let pace { return .bytesPerSecond(pace) }
        return baud.map { .baudRate($0) }
    }

    /// The library's options.
    public func options(_ common: CommonOptions) -> UARTOptions {
        var options = UARTOptions()
        options.profiles = profiles
        options.maximumTransmissionUnit = mtu
        options.maximumChunkLength = chunk
        options.security.level = common.requiredLevel
        options.security.policy = .ask
        options.security.minimumKeySize = common.minimumKeySize
        options.scanTimeout = common.findTime
        options.phys = common.coded ? .leCoded : nil
        if let pacing { options.pacing = pacing }
        if let timeout = common.timeout {
            options.connectTimeout = .seconds(timeout)
            options.stepTimeout = .seconds(timeout)
        }
        return options
    }
}

extension CommonOptions {
    /// The name of a LINBLE as delivered, and of the simulated one.
    public static var simulatedUART: String { "LINBLE-Z1" }

    /// The device that -n, -a or --irk selects; without them, any that advertises the service, or for a LINBLE the one
    /// named `name`.
    public func uartDevice(
        _ options: UARTProgramOptions, orNamed name: String = Self.simulatedUART
    ) async throws -> UARTDevice {
        if let identity = try await identity() { return .identity(identity) }
        switch (self.name, address) {
        case (let name?, nil): return .name(name)
        case (nil, let text?):
            let kind = addressType.kind
            guard let address = BluetoothAddress(text, kind: kind ?? .random) else {
                throw ProgramError(.usage, "'\(text)' is not an address such as C0:98:E5:12:34:56.")
            }
            return kind == nil ? .addressOfAnyKind(address) : .address(address)
        case (nil, nil):
            let isLINBLE = options.profiles.contains { $0.service == UARTProfile.linble.service }
            return simulate ? .name(name) : isLINBLE ? .any([.name(name), .advertisedService]) : .advertisedService
        default: throw ProgramError(.usage, "Give either a name (-n) or an address (-a), not both.")
        }
    }

    /// Opens the adapter, or several, connects to the device's UART, runs `body`, and disconnects in any case. A body that moves much,
    /// and does not block, runs on the adapter's event loop with `isOnLoop`.
    public func withUART<Value: Sendable>(
        _ device: UARTDevice, _ uartOptions: UARTProgramOptions, _ console: Console, isOnLoop: Bool = false,
        _ body: @Sendable (UARTConnection) async throws -> Value
    ) async throws -> Value {
        try await withRadio(console) { radio in
            try await preparePairing(on: radio, console)
            let uart = try await namingPairing {
                try await openUART(device, on: radio, uartOptions, console) { console.tell($0) }
            }
            await endAskingToPair(on: radio)
            return try await finishing {
                try await namingPairing(on: uart.connection) {
                    isOnLoop ? try await radio.run { try await body(uart) } : try await body(uart)
                }
            } then: {
                // Without waiting: the kernel ends the link, also after the program.
                await uart.disconnect(timeout: .zero)
            }
        }
    }

    /// Finds the device and connects to its UART; a timeout with a given address type suggests that the type may be
    /// wrong.
    public func openUART(
        _ device: UARTDevice, on radio: ChosenRadio, _ uartOptions: UARTProgramOptions, _ console: Console,
        progress: @escaping @Sendable (UARTProgress) -> Void
    ) async throws -> UARTConnection {
        let options = uartOptions.options(self)
        var found = device
        if let query = query(for: device, options.profiles.map(\.service)) {
            progress(.scanning(device))
            let sighting = try await find(query, on: radio, console)
            if let advertisement = sighting.advertisement { progress(.found(advertisement)) }
            // By its key again, since the address may have changed.
            if case .identity = device {} else { found = .address(sighting.address) }
        }
        do throws(BluetoothError) {
            return try await UARTConnection.open(found, on: radio, options: options, progress: progress)
        } catch {
            guard error.code == .timedOut, case .address(let address) = device else { throw error }
            var error = error
            error.remedy = Self.addressTypeHint(address)
            throw error
        }
    }

    /// The query that finds the device; nil if it is connected to without scanning.
    func query(for device: UARTDevice, _ services: [BluetoothUUID]) -> DeviceQuery? {
        switch device {
        case .name(let name): .name(name)
        case .address: nil
        case .identity(let identity): .identity(identity)
        case .addressOfAnyKind(let address): .address(address)
        case .advertisedService: .uart(named: nil, services: services)
        case .any(let devices):
            .uart(
                named: devices.lazy.compactMap { if case .name(let name) = $0 { name } else { nil } }.first,
                services: services)
        }
    }
}

extension Console {
    /// Prints the progress of opening a UART with -v; a restart is always printed.
    public func tell(_ progress: UARTProgress) {
        if progress.startingOver != nil { message(messages.yellow(progress.text)) } else { detail(progress.text) }
    }
}

extension UARTProgress {
    /// The progress in words.
    public var text: String {
        if let device = scanning { return "looking for \(device)" }
        if let advertisement = found { return "found \(advertisement.summary)" }
        if let (address, attempt) = connecting {
            return "connecting to \(address.digits)" + (attempt > 1 ? ", attempt \(attempt)" : "")
        }
        if let (address, mtu) = connected { return "connected to \(address.digits), ATT_MTU \(mtu)" }
        if let profile = discovered { return "found the \(profile.name) service" }
        if let length = online { return "online, chunks of up to \(length) bytes" }
        if let error = startingOver { return "starting over: \(error.message)" }
        return "\(self)"
    }
}

extension Advertisement {
    /// The name, address, address type and RSSI, for people.
    public var summary: String {
        let name = data.localName.map { printable($0) } ?? "(no name)"
        let address = address.map { "\($0.digits) (\($0.kind))" } ?? "(anonymous)"
        return "\(name)  \(address)" + (rssi.map { "  \($0) dBm" } ?? "")
    }
}
