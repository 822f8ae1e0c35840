import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ParametersCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "params", abstract: "Show or change a link's connection interval, latency, PHYs and packet sizes.",
        discussion: """
            Connects with the settings, then prints the link's parameters and those that the device prefers. With \
            CAP_NET_ADMIN, a connection interval applies from the first packet; otherwise it is requested once the \
            link is up. Needs CAP_NET_RAW; without it only the ATT_MTU is known. The data length is known once it has \
            changed. \(AdapterOptions.several)

            With --defaults, shows the adapter's defaults for parameters that programs leave unset, or changes them \
            with CAP_NET_ADMIN, for all programs until the adapter is removed. --phy chooses the PHYs on which the \
            adapter finds and connects to devices, until it is powered on again; selecting LE Coded costs scan time on \
            LE 1M.

            EXAMPLES:
              ble params -n Pulse-Z1
              ble params -n Pulse-Z1 --use throughput
              ble params -n Pulse-Z1 --interval 15-30 --latency 2 --phy 2m
              ble params --defaults --interval 15-30 --connect-timeout 5000
              ble params --defaults --phy 1m,2m
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions
    @OptionGroup var own: DefaultsOptions

    func validate() throws {
        try own.validate(with: link)
        if own.defaults { try common.validateWithoutDevice("--defaults") }
    }

    func run() async throws {
        guard own.defaults else { return try await runOnDevice() }
        let (common, link, own) = (common, link, own)
        try await common.run("ble params") { console in
            try await common.withAdapter(console) { adapter in
                if let changes = own.changes(link, of: try await adapter.defaults()) {
                    try await adapter.setDefaults(changes)
                }
                console.show(try await adapter.defaults())
            }
        }
    }

    /// Rejects the command as a step, if it does not work on the link.
    func checkStep() throws {
        guard own.defaults else { return }
        throw ValidationError("--defaults concerns the adapter, not the link of the steps: ble params --defaults")
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        if let use = link.use { try await connection.adapt(to: use.value) }
        try await connection.request(link)
        console.show(try await LinkState(of: connection))
        console.show(preferred: try await connection.statedPreference())
    }
}

extension Connection {
    /// Requests the settings that the command line names, as far as the link does not have them. A refusal is an error,
    /// unlike one of what a use chooses.
    fileprivate func request(_ link: LinkOptions) async throws {
        if link.hasParameters {
            // Unspecified parameters keep their current values, if these are known.
            let now = await parameters
            let present = now.map {
                ConnectionParameterRequest(
                    interval: $0.interval...$0.interval, latency: $0.latency, supervisionTimeout: $0.supervisionTimeout)
            }
            let request = link.parameters(or: present ?? .balanced)
            let isMet =
                now.map {
                    request.interval.contains($0.interval) && request.latency == $0.latency
                        && request.supervisionTimeout == $0.supervisionTimeout
                } ?? false
            if !isMet { _ = try await requestParameters(request) }
        }
        if let phy = link.phy?.set {
            let now = try await setPHYs(transmit: phy, receive: phy)
            guard LEPHYSet([now.transmit, now.receive]).isSubset(of: phy) else {
                throw ProgramError(
                    .protocolError, "The device does not support this PHY; the PHYs are unchanged: \(now).")
            }
        }
        if let octets = link.dataLength, await dataLength?.transmitOctets != octets {
            let changes = try await linkChanges()
            try await requestDataLength(octets)
            // Reported only if the negotiation changes the length, and then soon.
            _ = try await upTo(.seconds(1)) {
                for try await change in changes { if change.dataLength != nil { return } }
            }
        }
    }

    /// The parameters that the device prefers; nil if it states none, or refuses to tell.
    fileprivate func statedPreference() async throws(BluetoothError) -> ConnectionParameterRequest? {
        do throws(BluetoothError) {
            return try await preferredParameters()
        } catch {
            guard [.attributeProtocol, .protocolViolation].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension Console {
    /// Prints the connection parameters that a device prefers, if it states any.
    fileprivate func show(preferred: ConnectionParameterRequest?) {
        guard let preferred else { return }
        result("preferred", "preferred    \(preferred)", fields(of: preferred))
    }
}

/// The fields of connection parameters in a line of JSON.
func fields(of request: ConnectionParameterRequest?) -> [(String, JSONValue)] {
    [
        ("shortestInterval", milliseconds(request?.interval.lowerBound)),
        ("longestInterval", milliseconds(request?.interval.upperBound)), ("latency", JSONValue(request?.latency)),
        ("supervisionTimeout", milliseconds(request?.supervisionTimeout)),
    ]
}

extension LEPHYSet {
    fileprivate init(_ phys: [LEPHY]) {
        self = phys.reduce(into: []) { set, phy in
            switch phy {
            case .le1M: set.insert(.le1M)
            case .le2M: set.insert(.le2M)
            case .leCoded: set.insert(.leCoded)
            default: set.insert(LEPHYSet(rawValue: 0x80))
            }
        }
    }
}
