import BluetoothAdvertising
import BluetoothJSON
import BluetoothLE
import BluetoothPrimitives
import LINBLE

extension BluetoothUUID {
    /// The assigned name, or that of a known UART profile's service or characteristic, such as `LINBLE`.
    public var knownName: String? {
        if let assignedName { return assignedName }
        for profile in UARTProfile.known {
            // Some profiles have no other name than their number.
            let name = profile.name == "\(profile.service)" ? "UART" : profile.name
            switch self {
            case profile.service: return name
            case profile.toDevice where profile.toDevice == profile.fromDevice: return "\(name) data"
            case profile.toDevice: return "\(name) data to device"
            case profile.fromDevice: return "\(name) data from device"
            default: break
            }
        }
        return nil
    }
}

extension AdvertisementData {
    /// The services and data of an advertiser for people, in pieces: names with their numbers, and decoded data.
    func contents(of address: BluetoothAddress? = nil, _ keys: SensorKeys = SensorKeys()) -> [String] {
        let decoded = decodedFields(of: address, keys)
        let shown = Set(decoded.compactMap { field, decoded in decoded == nil ? nil : field.service })
        var pieces = services.filter { !shown.contains($0) }.map(Self.title)
        for (field, decoded) in decoded { pieces += decoded?.text ?? [Self.raw(field)] }
        return pieces.map { printable($0) }
    }

    /// The manufacturer specific and service data in the order received, each decoded if its format is known.
    private func decodedFields(
        of address: BluetoothAddress?, _ keys: SensorKeys
    ) -> [(AdvertisedField, DecodedField?)] {
        let all = manufacturerData.map { AdvertisedField.manufacturer($0) } + serviceData.map { .service($0) }
        return all.map { ($0, AdvertisementDecoder.decode($0, of: address, keys)) }
    }

    /// `180D Heart Rate`; of a long UUID with a name the name alone.
    private static func title(_ service: BluetoothUUID) -> String {
        guard let name = service.knownName else { return "\(service)" }
        return service.shortestWidth == .bits128 ? name : "\(service) \(name)"
    }

    private static func raw(_ field: AdvertisedField) -> String {
        switch field {
        case .manufacturer(let data): "\(data)"
        case .service(let data): "\(title(data.service)): \(data.data.hexadecimal)"
        }
    }

    /// The JSON fields beside the content: the names of services and companies, and what is decoded of the data.
    public func nameFields(
        of address: BluetoothAddress? = nil, _ keys: SensorKeys = SensorKeys()
    ) -> [(String, JSONValue)] {
        let services = (services + serviceData.map(\.service)).map { ("\($0)", $0.knownName) }
        let companies = manufacturerData.map {
            ("0x" + hexadecimal($0.company.rawValue, digits: 4), $0.company.name)
        }
        let beacon = decodedFields(of: address, keys).lazy.compactMap(\.1).first
        return [("serviceNames", Self.names(services)), ("companyNames", Self.names(companies))]
            + (beacon.map { [("beacon", $0.json)] } ?? [])
    }

    /// An object with the known names, each once.
    private static func names(_ all: [(String, String?)]) -> JSONValue {
        .object(
            all.reduce(into: []) { named, entry in
                guard let name = entry.1, !named.contains(where: { $0.0 == entry.0 }) else { return }
                named.append((entry.0, .string(name)))
            })
    }
}

extension AdvertisedField {
    /// The service of service data.
    fileprivate var service: BluetoothUUID? {
        if case .service(let data) = self { data.service } else { nil }
    }
}

extension Console {
    /// Prints the name that is advertised if it is a shortened one.
    public func reportShortenedName(in payloads: AdvertisingPayloads?) {
        guard let data = payloads?.data, data.isLocalNameShortened, let name = data.localName else { return }
        message("The advertised name is shortened to '\(printable(name))'.")
    }
}
