import BluetoothAdvertising
import BluetoothJSON
import BluetoothPrimitives

/// An advertisement of a described device.
package struct DescribedAdvertisement: Hashable, Sendable {
    /// The advertising data.
    package var data: [UInt8]
    /// The scan response.
    package var scanResponse: [UInt8]
    /// Whether a central may connect.
    package var isConnectable: Bool
    /// Whether scanners may request the scan response.
    package var isScannable: Bool
    /// Whether legacy PDUs are sent.
    package var isLegacy: Bool
    /// The advertising interval; nil for the usual one.
    package var interval: Duration?
    /// The RSSI of its reception, in dBm.
    package var rssi: Int?

    /// An advertisement with these parts.
    package init(
        data: [UInt8], scanResponse: [UInt8] = [], isConnectable: Bool = true, isScannable: Bool = true,
        isLegacy: Bool = true, interval: Duration? = nil, rssi: Int? = nil
    ) {
        self.data = data
        self.scanResponse = scanResponse
        self.isConnectable = isConnectable
        self.isScannable = isScannable
        self.isLegacy = isLegacy
        self.interval = interval
        self.rssi = rssi
    }

    /// The maximum number of bytes of extended advertising through the kernel.
    private static let extendedCapacity = 251
    /// The maximum number of bytes of extended advertising (Core Vol 4 Part E §7.8.54).
    private static let mostExtendedBytes = 1650

    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(
            value, at: place,
            keys: [
                "connectable", "scannable", "legacy", "rssi", "tx", "name", "services", "mfr", "serviceData", "raw",
                "rawScanResponse", "every",
            ])
        let isLegacy = try object.bool("legacy") ?? true
        let capacity = isLegacy ? AdvertisementDataBuilder.legacyCapacity : Self.extendedCapacity
        let limit = isLegacy ? capacity : Self.mostExtendedBytes
        let raw = try object.bytes("raw", limit: limit)
        let rawScanResponse = try object.bytes("rawScanResponse", limit: limit)
        if raw == nil, rawScanResponse != nil { throw object.problem("raw", "it is missing") }
        let isConnectable = try object.bool("connectable") ?? true
        self.init(
            data: raw ?? [], scanResponse: rawScanResponse ?? [], isConnectable: isConnectable,
            isScannable: try object.bool("scannable") ?? (isLegacy && isConnectable), isLegacy: isLegacy,
            interval: try object.seconds("every", from: 0.02), rssi: try object.integer("rssi", in: -127...20))
        if !isLegacy, isConnectable, isScannable {
            throw object.problem("scannable", "extended advertising is not connectable as well")
        }
        if isLegacy, isConnectable, !isScannable {
            throw object.problem("scannable", "legacy advertising that is connectable is also scannable")
        }
        let fields = try Self.fields(of: object)
        if raw == nil {
            let payloads = AdvertisingPayloads(
                [.flags([.leGeneralDiscoverable, .brEDRNotSupported])] + fields, capacity: capacity,
                scanResponseCapacity: isScannable ? capacity : 0)
            if let rest = payloads.leftOver.first {
                throw DeviceFile.Problem(place: place, reason: "\(rest.field) has no room: \(rest.reason)")
            }
            (data, scanResponse) = (payloads.advertising, payloads.scanResponse)
        } else {
            // A recording has both; a caller that changes one must change the other.
            let sent = AdvertisementData(advertising: data, scanResponse: scanResponse).jsonFields
            for (key, value) in sent {
                guard let given = object[key], "\(given)" != "\(value)" else { continue }
                throw object.problem(key, "it is \(value) in the raw data")
            }
        }
    }

    /// The fields of the advertising data that are given one by one.
    private static func fields(of object: DescribedObject) throws(DeviceFile.Problem) -> [ADField] {
        var fields: [ADField] = []
        if let uuids = try object.uuids("services"), !uuids.isEmpty { fields.append(.services(uuids)) }
        if case .object(let pairs)? = object["serviceData"] {
            for (key, value) in pairs {
                guard let uuid = BluetoothUUID(key) else {
                    throw object.problem("serviceData.\(key)", "\"\(key)\" is not a UUID")
                }
                guard let bytes = value.text.flatMap({ [UInt8](hexadecimal: $0) }) else {
                    throw object.problem("serviceData.\(key)", "\(value) is not hexadecimal")
                }
                fields.append(.serviceData(uuid, bytes))
            }
        } else if object["serviceData"] != nil {
            throw object.problem("serviceData", "it is not an object")
        }
        fields +=
            try object.elements("mfr") { value, place throws(DeviceFile.Problem) -> ADField in
                let data = try DescribedObject(value, at: place, keys: ["id", "data"])
                let digits = try data.text("id") ?? ""
                guard digits.hasPrefix("0x"), digits.utf8.count == 6, let id = UInt16(digits.dropFirst(2), radix: 16)
                else { throw data.problem("id", "it is not a company identifier such as 0x004C") }
                let bytes = try data.required("data", data.bytes("data", limit: extendedCapacity))
                return .manufacturerData(CompanyIdentifier(id), bytes)
            } ?? []
        if let name = try object.text("name") { fields.append(.localName(name)) }
        if let power = try object.integer("tx", in: -127...127) { fields.append(.txPowerLevel(Int8(power))) }
        return fields
    }
}

extension AdvertisementData {
    /// The fields that `ble scan --json` prints and files contain.
    package var jsonFields: [(String, JSONValue)] {
        let data = manufacturerData.map { data in
            JSONValue.object([
                ("id", .string("0x" + hexadecimal(data.company.rawValue, digits: 4))),
                ("data", .string(data.data.hexadecimal)),
            ])
        }
        return [
            ("name", JSONValue(localName)), ("services", .array(services.map { .string("\($0)") })),
            ("mfr", .array(data)),
            ("serviceData", .object(serviceData.map { ("\($0.service)", .string($0.data.hexadecimal)) })),
        ]
    }
}
