import ArgumentParser
import BluetoothLE

/// The device to choose if several match.
public enum PickOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The one with the strongest RSSI.
    case strongest
    /// The first seen.
    case first
    /// The only one; several are an error.
    case only
}

/// The devices that a program looks for.
public struct DeviceQuery: Sendable {
    /// How a device matches.
    public enum Match: Comparable, Sendable {
        /// By a part of its name, or by a service that other devices may have too.
        case partial
        /// By its full name or its address.
        case exact
    }

    enum Subject: Sendable {
        case name(String)
        case address(BluetoothAddress)
        case identity(DeviceIdentity, IdentityResolver)
        case uart(name: String?, services: [BluetoothUUID])
    }

    let subject: Subject

    /// Devices whose name contains a text, case-insensitive; exactly this name is an exact match.
    public static func name(_ name: String) -> DeviceQuery { DeviceQuery(subject: .name(name)) }

    /// The device with these 48 bits, of either address type.
    public static func address(_ address: BluetoothAddress) -> DeviceQuery { DeviceQuery(subject: .address(address)) }

    /// The device with an identity resolving key.
    public static func identity(_ identity: DeviceIdentity) -> DeviceQuery {
        DeviceQuery(subject: .identity(identity, IdentityResolver([identity])))
    }

    /// Devices that advertise one of these services; one with exactly this name is an exact match.
    public static func uart(named name: String?, services: [BluetoothUUID]) -> DeviceQuery {
        DeviceQuery(subject: .uart(name: name, services: services))
    }

    /// How the device of an advertisement matches; nil if it does not.
    public func match(_ advertisement: Advertisement) -> Match? {
        switch subject {
        case .name(let name): return advertisement.localName.flatMap { Self.match($0, name) }
        case .address(let address): return advertisement.address?.value == address.value ? .exact : nil
        case .identity(_, let resolver): return resolver.identity(of: advertisement) == nil ? nil : .exact
        case .uart(let name, let services):
            if let name, advertisement.localName == name { return .exact }
            return services.contains { advertisement.data.containsService($0) } ? .partial : nil
        }
    }

    /// How a device's name matches a text.
    static func match(_ name: String, _ text: String) -> Match? {
        if name == text { return .exact }
        return name.lowercased().contains(text.lowercased()) ? .partial : nil
    }

    /// The devices in words that fit after "device".
    public var description: String {
        switch subject {
        case .name(let name): "named '\(printable(name))'"
        case .address(let address): "with the address \(address.digits)"
        case .identity(let identity, _) where identity.name == IdentityOptions.keyAlone: "with the key of --irk"
        case .identity(let identity, _): "with the key of '\(printable("\(identity)"))'"
        case .uart(let name, _): (name.map { "named '\(printable($0))' or " } ?? "") + "with a UART service"
        }
    }
}

/// A search for a device: the advertisements seen, and the choice among the devices that match. It has no clock: its
/// driver calls ``choose()`` when the time to collect is over.
///
/// Without a --pick, a device that matches exactly is chosen when it is first seen; one that matches in part must be the
/// only one among those seen within ``collectingTime``. Nothing that matches ambiguously is ever connected to silently.
struct DeviceSearch: Sendable {
    /// An advertisement of a device.
    struct Sighting: Equatable, Sendable {
        var address: BluetoothAddress
        var name: String?
        var rssi: Int?
        var isConnectable = true
        var match: DeviceQuery.Match?
        var advertisement: Advertisement?

        /// The name, address, address type and RSSI, for people.
        var summary: String {
            "\(name.map { printable($0) } ?? "(no name)")  \(address.digits) (\(address.kind))"
                + (rssi.map { "  \($0) dBm" } ?? "")
        }
    }

    /// What to do after a sighting.
    enum Step: Equatable, Sendable {
        /// Nothing has matched yet.
        case search
        /// A device has matched; others may, until the collecting time is over.
        case collect
        case found(Sighting)
    }

    /// How long other devices are waited for after the first that matches.
    static let collectingTime = Duration.milliseconds(1500)

    private static let listLimit = 8

    private let pick: PickOption?
    /// The connectable devices that match, in the order seen.
    private var candidates: [Sighting] = []
    private var names: Set<String> = []
    /// The addresses of the devices without a name.
    private var addresses: Set<BluetoothAddress> = []
    private var hasUnconnectableMatch = false

    init(pick: PickOption?) {
        self.pick = pick
    }

    /// The number of devices seen so far, at least.
    var seenCount: Int { names.count + addresses.count }

    mutating func record(_ sighting: Sighting) -> Step {
        if let name = sighting.name {
            addresses.remove(sighting.address)
            names.insert(name)
        } else if addresses.count <= Self.listLimit {
            addresses.insert(sighting.address)
        }
        if sighting.match != nil {
            if let index = candidates.firstIndex(where: { $0.address == sighting.address }) {
                let known = candidates[index]
                candidates[index] = sighting
                candidates[index].name = sighting.name ?? known.name
                candidates[index].isConnectable = known.isConnectable || sighting.isConnectable
                candidates[index].match = max(known.match ?? .partial, sighting.match ?? .partial)
            } else if sighting.isConnectable {
                candidates.append(sighting)
            } else {
                hasUnconnectableMatch = true
            }
        }
        guard let first = candidates.first else { return .search }
        switch pick {
        case .first: return .found(first)
        case nil:
            if let exact = candidates.first(where: { $0.match == .exact }) { return .found(exact) }
            return .collect
        case .strongest, .only: return .collect
        }
    }

    /// The choice among the devices seen: those that match exactly, if any, before the others.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage`` if several match and none may be chosen.
    func choose() throws -> Sighting? {
        let best = candidates.compactMap(\.match).max()
        let matches = candidates.filter { $0.match == best }
        guard let first = matches.first else { return nil }
        guard matches.count > 1, pick != .first else { return first }
        if pick == .strongest {
            return matches.max { ($0.rssi ?? .min) < ($1.rssi ?? .min) }
        }
        let sorted = matches.sorted { ($0.rssi ?? .min) > ($1.rssi ?? .min) }
        let lines = sorted.prefix(Self.listLimit).map { "  \($0.summary)" }
        let rest = matches.count > Self.listLimit ? ["  … \(matches.count - Self.listLimit) more"] : []
        throw ProgramError(
            .usage, "\(matches.count) devices match:\n" + (lines + rest).joined(separator: "\n"),
            remedy: "Give the full name or the address (-a), or choose with --pick strongest or --pick first.")
    }

    /// The error of a search without result.
    func notFound(_ query: DeviceQuery, within limit: Duration) -> ProgramError {
        let device = query.description
        if hasUnconnectableMatch {
            return ProgramError(
                .notFound, "The device \(device) advertises, but does not accept connections.",
                remedy: "Beacons never do, and other devices may not while they are connected. See: ble scan")
        }
        var question = ""
        if case .name(let name) = query.subject { question = Suggestion.question(for: name, among: names.sorted()) }
        let all = names.sorted() + addresses.map(\.digits).sorted()
        let seen = all.prefix(Self.listLimit).map { printable($0) } + (all.count > Self.listLimit ? ["…"] : [])
        return ProgramError(
            .notFound, "No device \(device) advertised within \(formatShortly(limit / .seconds(1))) s.\(question)",
            remedy: seen.isEmpty
                ? "No device was seen. Is it on, in range, and not connected to another central?"
                : "Seen: \(seen.joined(separator: ", ")) (ble scan shows all)\n"
                    + "Is it on, in range, and not connected to another central? Many devices stop advertising then.")
    }
}
