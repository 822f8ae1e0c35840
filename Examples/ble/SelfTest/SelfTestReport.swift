import BluetoothLE
import ExampleSupport

/// The report of a self-test for a list of hardware: without addresses and names. Docs/schemas/selftest.json describes
/// it.
struct SelfTestReport: Sendable {
    private let value: JSONValue

    /// - Parameter isSimulated: whether the adapters are simulated ones.
    init(_ adapters: [TestedAdapter], _ results: [SelfTestResult], isSimulated: Bool) {
        let secrets = adapters.flatMap { [$0.before.localName, $0.adapter.information.localName] }
        value = .object([
            ("format", .string("swift-bluetooth-le selftest")), ("formatVersion", .integer(1)),
            ("version", .string(packageVersion)), ("date", .string(String(timestamp().prefix(10)))),
            ("kernel", isSimulated ? .string("simulated") : JSONValue(Self.system?.release)),
            ("machine", JSONValue(Self.system?.machine)),
            ("controllers", .array(adapters.map { Self.controller($0, isSimulated: isSimulated) })),
            (
                "tests",
                .array(
                    results.map { result in
                        var clean = result
                        clean.reason = result.reason.map { Self.withoutIdentity($0, secrets) }
                        clean.figure?.text = Self.withoutIdentity(result.figure?.text ?? "", secrets)
                        return .object(clean.fields)
                    })
            ),
        ])
    }

    /// The text of the file.
    var bytes: [UInt8] { Array("\(value)\n".utf8) }

    private static func controller(_ tested: TestedAdapter, isSimulated: Bool) -> JSONValue {
        let information = tested.before
        let properties = tested.properties
        let device = isSimulated ? nil : SystemDevice(of: information.name)
        func number(_ value: Int?) -> JSONValue { JSONValue(value) }
        return .object([
            ("bluetooth", .string(information.versionName)), ("dualMode", .bool(information.isDualMode)),
            ("manufacturer", .string("\(information.manufacturer)")),
            ("manufacturerID", .integer(Int(information.manufacturer.rawValue))),
            ("driver", JSONValue(device?.driver)), ("product", JSONValue(device?.product)),
            ("hciVersion", number(properties.map { Int($0.hciVersion) })),
            ("hciSubversion", number(properties.map { Int($0.hciSubversion) })),
            ("linkLayerVersion", number(properties.map { Int($0.linkLayerVersion) })),
            ("linkLayerSubversion", number(properties.map { Int($0.linkLayerSubversion) })),
            ("commands", JSONValue(properties?.supportedCommands.hexadecimal)),
            ("features", .array((properties?.featureNames ?? []).map { .string($0) })),
            ("featureMask", JSONValue(properties.map { hexadecimalMask($0.lowEnergyFeatures) })),
            ("stateMask", JSONValue(properties?.supportedStates.map(hexadecimalMask))),
            ("bufferCount", number(properties?.buffers?.count)),
            ("bufferLength", number(properties?.buffers?.packetLength)),
            ("dataLength", number(properties?.maximumDataLength)),
            ("filterAcceptList", number(properties?.filterAcceptListSize)),
            ("resolvingList", number(properties?.resolvingListSize)),
            ("advertisingSets", number(properties?.advertisingSetCount)),
            ("advertisingDataLength", number(properties?.maximumAdvertisingDataLength)),
            ("leastPower", number(properties?.transmitPowers?.lowerBound)),
            ("greatestPower", number(properties?.transmitPowers?.upperBound)),
        ])
    }

    private static func hexadecimalMask(_ mask: UInt64) -> String {
        let digits = String(mask, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A text in which addresses and names are replaced.
    static func withoutIdentity(_ text: String, _ names: [String]) -> String {
        var text = text.replacing(/[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}/, with: "(address)")
        for name in names where name.count > 1 { text = text.replacing(name, with: "(name)") }
        return text
    }

    /// The kernel's release and the machine's architecture; not its name.
    private static var system: (release: String, machine: String)? {
        var names = utsname()
        guard uname(&names) == 0 else { return nil }
        return (text(&names.release), text(&names.machine))
    }

    private static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// The device of an adapter, as the kernel describes it: its driver, and the numbers of its product, not of the piece.
private struct SystemDevice {
    var driver: String?
    var product: String?

    init?(of adapter: String) {
        guard let file = fopen("/sys/class/bluetooth/\(adapter)/device/uevent", "re") else { return nil }
        defer { fclose(file) }
        var block = [UInt8](repeating: 0, count: 4096)
        let count = fread(&block, 1, block.count, file)
        for line in String(decoding: block[..<count], as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            switch parts.first {
            case "DRIVER": driver = parts.last.map(String.init)
            case "PRODUCT": product = parts.last.map(String.init)
            default: break
            }
        }
    }
}
