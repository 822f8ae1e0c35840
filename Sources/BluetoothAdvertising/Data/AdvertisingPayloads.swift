import BluetoothPrimitives

/// An advertising payload and a scan response of limited size, built from fields.
public struct AdvertisingPayloads: Hashable, Sendable {
    /// The permitted treatments of a field that does not fit into the advertising payload.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits.
        public var rawValue: UInt8

        /// The options with the bits `rawValue`.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Move the field to the scan response, except the flags (CSS Part A §1.3).
        public static let usesScanResponse = Options(rawValue: 1 << 0)
        /// Shorten a name that fits into neither payload, in the one with more room for it.
        public static let shortensName = Options(rawValue: 1 << 1)
        /// Include as many services as fit and mark the list as incomplete.
        public static let splitsServices = Options(rawValue: 1 << 2)

        /// All options.
        public static let all: Options = [.usesScanResponse, .shortensName, .splitsServices]
    }

    /// A field, or the rest of a list, that is in neither payload.
    public struct LeftOver: Hashable, Sendable {
        /// The field.
        public var field: ADField
        /// The reason for which it is not in the advertising payload.
        public var reason: AdvertisementDataError
    }

    /// The advertising payload.
    public private(set) var advertising: [UInt8] = []
    /// The scan response.
    public private(set) var scanResponse: [UInt8] = []
    /// The fields in neither payload, in order.
    public private(set) var leftOver: [LeftOver] = []

    /// Payloads with `fields` in order: each in the advertising payload if it fits, otherwise as `options` permit.
    ///
    /// The fields of `scanResponse` go into the scan response only, before all others. A field that does not fit, or is
    /// repeated although it may occur once, becomes ``leftOver``. Services and solicited services are placed separately
    /// for each width.
    public init(
        _ fields: [ADField], scanResponse answer: [ADField] = [],
        capacity: Int = AdvertisementDataBuilder.legacyCapacity,
        scanResponseCapacity: Int = AdvertisementDataBuilder.legacyCapacity, options: Options = .all
    ) {
        var advertising = AdvertisementDataBuilder(capacity: capacity)
        var answering = AdvertisementDataBuilder(capacity: scanResponseCapacity)
        for field in answer {
            do throws(AdvertisementDataError) {
                try answering.add(field)
            } catch {
                leftOver.append(LeftOver(field: field, reason: error))
            }
        }
        let usesScanResponse = options.contains(.usesScanResponse)
        var scanResponse = usesScanResponse ? answering : AdvertisementDataBuilder(capacity: 0)
        for field in fields.flatMap({ $0.parts }) {
            do throws(AdvertisementDataError) {
                try advertising.add(field)
            } catch {
                var rest: ADField? = field
                if case .doesNotFit = error.kind {
                    rest = Self.place(field, advertising: &advertising, scanResponse: &scanResponse, options: options)
                }
                if let rest { leftOver.append(LeftOver(field: rest, reason: error)) }
            }
        }
        self.advertising = advertising.bytes
        self.scanResponse = usesScanResponse ? scanResponse.bytes : answering.bytes
    }

    /// Both payloads as decoded by a scanner.
    public var data: AdvertisementData { AdvertisementData(advertising: advertising, scanResponse: scanResponse) }

    /// Places a field that does not fit into the advertising payload; returns the part that was not placed.
    private static func place(
        _ field: ADField, advertising: inout AdvertisementDataBuilder, scanResponse: inout AdvertisementDataBuilder,
        options: Options
    ) -> ADField? {
        if field.type != .flags, (try? scanResponse.add(field)) != nil { return nil }
        switch field.kind {
        case .localName(let name, complete: true) where options.contains(.shortensName):
            let inScanResponse =
                scanResponse.room(for: .shortenedLocalName) ?? 0 > advertising.room(for: .shortenedLocalName) ?? 0
            let whole =
                inScanResponse
                ? try? scanResponse.addShortening(localName: name) : try? advertising.addShortening(localName: name)
            return whole == nil ? field : nil
        case .services(let uuids, complete: _) where options.contains(.splitsServices):
            // The complete list did not fit, so both lists are incomplete.
            let rest = scanResponse.addFitting(services: advertising.addFitting(services: uuids), complete: false)
            return rest.isEmpty ? nil : .services(rest, complete: false)
        default: return field
        }
    }
}

extension AdvertisingPayloads: CustomStringConvertible {
    /// Both payloads in hexadecimal, and the fields left out.
    public var description: String {
        let rest = leftOver.map { "; left out: \($0.field) (\($0.reason))" }.joined()
        return "advertising \(advertising.hexadecimal), scan response \(scanResponse.hexadecimal)\(rest)"
    }
}
