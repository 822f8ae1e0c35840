import ArgumentParser
import BluetoothAdvertising
import BluetoothLE
import ExampleSupport

struct AdvertiseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise", abstract: "Advertise this machine.",
        discussion: """
            Runs until Ctrl-C, or for the time of --for. -n is the name to advertise. Content that does not fit in the \
            advertising data goes into the scan response; if it does not fit there either, the command fails. To \
            publish services as well, see ble serve. With --simulate, a second machine scans and prints what it \
            receives.

            EXAMPLES:
              ble advertise -n hello --service 180D
              ble advertise -n hello --power -10 --interval 1000
              ble advertise --ibeacon 00112233-4455-6677-8899-AABBCCDDEEFF,1,2,-59
              ble advertise --eddystone-url https://swift.org/
              ble advertise --clear
            """)

    @OptionGroup var scoped: ScopedOptions<PeripheralScope>

    @OptionGroup var runTime: RunTimeOptions

    @Option(
        help: ArgumentHelp("A service to advertise, such as 180D or heart-rate.", valueName: "uuid"),
        completion: .services, transform: AttributeName.service)
    var service: [BluetoothUUID] = []

    @Option(
        help: ArgumentHelp("A service to solicit, such as 180F or battery.", valueName: "uuid"),
        completion: .services, transform: AttributeName.service)
    var solicited: [BluetoothUUID] = []

    @Option(
        help: ArgumentHelp("Manufacturer data, such as 004C:0215 or apple:0215.", valueName: "company[:bytes]"),
        transform: ManufacturerData.parse)
    var manufacturer: [ManufacturerData] = []

    @Option(
        help: ArgumentHelp("Service data, such as 180F:61.", valueName: "uuid:bytes"), transform: Self.serviceData)
    var serviceData: [ServiceData] = []

    @Option(help: ArgumentHelp("The appearance value, such as 832 for a heart rate sensor.", valueName: "number"))
    var appearance: UInt16?

    @Option(
        name: .customLong("ibeacon"),
        help: ArgumentHelp("Advertise as an iBeacon; dBm is the RSSI at 1 m.", valueName: "uuid,major,minor,dBm"))
    var iBeacon: String?

    @Option(help: ArgumentHelp("Advertise as an Eddystone beacon with this URL.", valueName: "url"))
    var eddystoneURL: String?

    @Flag(help: "Advertise without accepting connections, as beacons always do.")
    var nonConnectable = false

    @Option(
        help: ArgumentHelp("Use extended advertising on this PHY: 1m, 2m or coded.", valueName: "phy"))
    var extended: PHYOption?

    @Option(help: ArgumentHelp("The advertising interval in milliseconds.", valueName: "ms or min-max"))
    var interval = "100-150"

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The transmit power, such as -10; the controller uses the nearest it supports.", valueName: "dBm"))
    var power: Int?

    @Flag(help: "Include the transmit power in the advertisement.")
    var showPower = false

    @Flag(help: "Omit data that does not fit, and print what was omitted.")
    var leaveOut = false

    @Flag(
        help: ArgumentHelp(
            "Remove the adapter's advertisements that belong to no running program of this library, and exit.",
            discussion:
                "A killed program's advertisement stays on the air, but nothing serves the centrals that connect to it. Advertisements of other software, such as bluetoothd, are removed too."
        ))
    var clear = false

    func validate() throws {
        _ = try options()
        guard try !clear || content() == AdvertisementContent() else {
            throw ValidationError("--clear removes advertisements and exits: give it no data to advertise.")
        }
    }

    func run() async throws {
        guard !clear else { return try await removeOthers() }
        let (common, content, options) = (scoped.common, try content(), try options())
        let limit = runTime.duration
        try await common.run("ble advertise", isServer: true) { console in
            try await common.withAdapter(console, visitedBy: { try await listen($0, console) }) { adapter in
                try await adapter.withAdvertising(content, options: options) { set in
                    console.show(set, of: adapter.information)
                    guard let end = try await upTo(limit, { await set.closed() }) else { return }
                    throw end
                }
            }
        }
    }

    private func removeOthers() async throws {
        let common = scoped.common
        try await common.run("ble advertise") { console in
            try await common.withAdapter(console) { adapter in
                let (name, count) = (adapter.information.name, try await adapter.removeForeignAdvertising())
                console.result(
                    "cleared", "\(name): \(quantity(count, "advertisement")) removed",
                    [("adapter", .string(name)), ("removed", .integer(count))])
            }
        }
    }

    // MARK: The command line

    private func content() throws -> AdvertisementContent {
        var content: AdvertisementContent
        if let iBeacon {
            content = .iBeacon(try Self.iBeacon(iBeacon))
        } else if let eddystoneURL {
            do {
                content = try .eddystone(.url(eddystoneURL, txPower: Int8(clamping: power ?? 0)))
            } catch {
                throw ValidationError("--eddystone-url: \(error).")
            }
        } else {
            content = AdvertisementContent(
                localName: scoped.common.name, services: service,
                manufacturerData: manufacturer,
                serviceData: serviceData,
                appearance: appearance.map { Appearance(rawValue: $0) },
                solicitedServices: solicited)
        }
        content.includesTransmitPower = showPower
        if leaveOut { content.overflow = .leaveOut }
        return content
    }

    private func options() throws -> AdvertisingOptions {
        let isBeacon = iBeacon != nil || eddystoneURL != nil
        var options = AdvertisingOptions(
            kind: nonConnectable || isBeacon ? .nonConnectable : .connectable, transmitPower: power,
            whenAdapterUnavailable: .resume)
        if let extended { options.format = .extended(extended.phy) }
        let bounds = interval.split(separator: "-", omittingEmptySubsequences: false).map { Double($0) }
        guard let first = bounds.first, let least = first, let last = bounds.last, let most = last, bounds.count <= 2,
            (20...10_485_000).contains(least), (least...10_485_000).contains(most)
        else { throw ValidationError("--interval takes milliseconds, 20 or more, such as 100-150, not '\(interval)'.") }
        options.interval = .seconds(least / 1000) ... .seconds(most / 1000)
        return options
    }

    private static func serviceData(_ text: String) throws -> ServiceData {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let bytes = [UInt8](hexadecimal: parts[1]) else {
            throw ValidationError("give a service and bytes, such as 180F:61.")
        }
        return ServiceData(service: try AttributeName.service(parts[0]), data: bytes)
    }

    private static func iBeacon(_ text: String) throws -> IBeacon {
        let parts = text.split(separator: ",").map(String.init)
        guard parts.count == 4, let uuid = BluetoothUUID(parts[0]), let major = UInt16(parts[1]),
            let minor = UInt16(parts[2]), let power = Int8(parts[3])
        else { throw ValidationError("--ibeacon takes UUID,MAJOR,MINOR,DBM, not '\(text)'.") }
        return IBeacon(proximityUUID: uuid, major: major, minor: minor, measuredPower: power)
    }
}

extension Console {
    fileprivate func show(_ set: AdvertisingSet, of adapter: AdapterInformation) {
        let payloads = set.payloads
        if isJSON {
            return result([
                ("event", .string("advertising")), ("adapter", .string(adapter.name)),
                ("address", .string(adapter.address.digits)), ("instance", JSONValue(set.instance.map(Int.init))),
                ("advertising", .string(payloads.advertising.hexadecimal)),
                ("scanResponse", .string(payloads.scanResponse.hexadecimal)),
                ("leftOut", .array(payloads.leftOver.map { .string("\($0.field)") })),
            ])
        }
        result("\(adapter.name) \(adapter.address.digits) advertises")
        for (name, data) in [("advertisement", payloads.advertising), ("scan response", payloads.scanResponse)]
        where !data.isEmpty {
            result(
                "  \(name), \(quantity(data.count, "byte")): \(printable("\(AdvertisementData(advertising: data))"))")
        }
        for rest in payloads.leftOver { message("omitted: \(rest.field) (\(rest.reason))") }
    }
}

/// The second machine of --simulate: prints the first advertisement it receives from a public address, which is ours.
private func listen(_ visitor: Adapter, _ console: Console) async throws {
    let heard = try await visitor.firstAdvertisement(timeout: nil) { advertisement in
        advertisement.address?.kind == .public
    }
    console.message("another machine received: \(heard.summary)")
}
