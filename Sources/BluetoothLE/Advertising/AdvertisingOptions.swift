import Advertising
import BluetoothPrimitives
import HCI
import Management

/// How to advertise.
public struct AdvertisingOptions: Hashable, Sendable {
    /// What scanners may do with the advertisement.
    public enum Kind: Hashable, Sendable {
        /// Connect to it. In the legacy format they may ask for the scan response as well.
        case connectable
        /// Ask for the scan response.
        case scannable
        /// Listen.
        case nonConnectable
    }

    /// The packets that are sent.
    public enum Format: Hashable, Sendable {
        /// Those of Bluetooth 4, which every scanner hears: 31 bytes, and 31 of scan response.
        case legacy
        /// Those of Bluetooth 5: up to 251 bytes through the kernel, sent on this PHY; what announces them is sent on LE
        /// 1M, or on LE Coded where that is the PHY. Connectable ones have no scan response, and scannable ones nothing
        /// else, so that everything goes there.
        case extended(LEPHY)
    }

    /// What scanners may do with it.
    public var kind: Kind
    /// The packets that are sent.
    public var format: Format
    /// How often: 20 ms to 10.24 s, and in the extended format up to 10 485 s. The controller chooses within the range.
    /// Controllers before Bluetooth 5 refuse less than 100 ms for what takes no connections.
    public var interval: ClosedRange<Duration>
    /// The power to send with in dBm, −127 to 20; the controller takes the nearest that it has. Nil leaves it the choice.
    public var transmitPower: Int?
    /// Whether it goes on while a device is connected that found this machine by it, so that others can connect as well.
    ///
    /// A connection ends a connectable advertisement. The kernel begins it again when the link has ended; with this it is
    /// begun again at once, as far as the controller can advertise while it has links.
    public var continuesWhileConnected = true
    /// What becomes of it when the adapter is powered off, blocked or unplugged; at first it ends with the reason.
    public var whenAdapterLeaves = AdapterLeavePolicy.end

    /// Options with the usual choices: connectable, in the legacy format, every 100 to 150 ms.
    public init(
        kind: Kind = .connectable, format: Format = .legacy,
        interval: ClosedRange<Duration> = .milliseconds(100) ... .milliseconds(150), transmitPower: Int? = nil,
        continuesWhileConnected: Bool = true, whenAdapterLeaves: AdapterLeavePolicy = .end
    ) {
        self.kind = kind
        self.format = format
        self.interval = interval
        self.transmitPower = transmitPower
        self.continuesWhileConnected = continuesWhileConnected
        self.whenAdapterLeaves = whenAdapterLeaves
    }
}

/// What the kernel is to be told of an advertising set, made from what the program wants and the adapter can.
struct AdvertisingPlan: Hashable, Sendable {
    var flags: AdvertisingInstanceFlags
    var intervals: ExtendedAdvertisingInstanceParameters.Intervals
    var transmitPower: Int8?
    var payloads: AdvertisingPayloads

    /// - Throws: `.invalidArgument` for what no adapter can do, `.unsupported` for what this one cannot.
    init(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ features: AdvertisingFeatures,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        intervals = try options.intervals(operation)
        flags = options.kind == .connectable ? .connectable : []
        switch content.discoverability {
        case .none: break
        case .limited: flags.insert(.limitedDiscoverable)
        case .general: flags.insert(.generalDiscoverable)
        }
        if content.includesTransmitPower { flags.insert(.transmitPower) }
        var isExtended = false
        if case .extended(let phy) = options.format {
            isExtended = true
            flags.insert(try Self.flag(of: phy, operation))
        }
        if let power = options.transmitPower {
            guard let power = Int8(exactly: power), (-127...20).contains(power) else {
                throw .invalidArgument(operation, "The transmit power is -127 to 20 dBm.")
            }
            guard features.supportedFlags.contains(.canSetTransmitPower) else {
                throw BluetoothError(.unsupported, operation, "The adapter cannot choose its transmit power.")
            }
            transmitPower = power
        }
        let missing = flags.subtracting(features.supportedFlags)
        guard missing.isEmpty else {
            throw BluetoothError(.unsupported, operation, "The adapter cannot do that: \(missing).")
        }
        let capacities = try Self.capacities(content, options.kind, isExtended: isExtended, features, operation)
        do throws(AdvertisementDataError) {
            payloads = try content.payloads(
                capacity: capacities.advertising, scanResponseCapacity: capacities.scanResponse)
        } catch {
            throw BluetoothError(
                .invalidArgument, operation, "The advertisement cannot be made: \(error).",
                remedy: "Say less, or leave out what does not fit: AdvertisementContent.overflow.")
        }
        if options.kind != .connectable, !payloads.scanResponse.isEmpty || options.kind == .scannable {
            flags.insert(.scanResponse)
        }
    }

    private static func flag(
        of phy: LEPHY, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> AdvertisingInstanceFlags {
        switch phy {
        case .le1M: return .secondaryLE1M
        case .le2M: return .secondaryLE2M
        case .leCoded: return .secondaryLECoded
        default: throw .invalidArgument(operation, "There is no advertising on \(phy).")
        }
    }

    /// How many bytes there are for what is sent unasked and for the answer to a scan request.
    private static func capacities(
        _ content: AdvertisementContent, _ kind: AdvertisingOptions.Kind, isExtended: Bool,
        _ features: AdvertisingFeatures, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> (advertising: Int, scanResponse: Int) {
        let most = (
            advertising: Int(features.maximumAdvertisingDataLength),
            scanResponse: Int(features.maximumScanResponseLength)
        )
        let legacy = AdvertisementDataBuilder.legacyCapacity
        switch (isExtended, kind) {
        case (_, .nonConnectable) where !content.scanResponse.isEmpty:
            throw .invalidArgument(operation, "Only a scannable or connectable advertisement has a scan response.")
        case (true, .connectable) where !content.scanResponse.isEmpty:
            throw .invalidArgument(
                operation, "A connectable advertisement in the extended format has no scan response.")
        case (true, .scannable):
            // Such a set has no data but its scan response (Core Vol 4 Part E §7.8.54).
            guard content.automaticByteCount == 0 else {
                throw .invalidArgument(
                    operation,
                    "A scannable advertisement in the extended format has no room for flags or transmit power; ask for discoverability none."
                )
            }
            return (0, most.scanResponse)
        case (true, _): return (max(0, most.advertising - content.automaticByteCount), 0)
        case (false, .nonConnectable): return (max(0, min(legacy, most.advertising) - content.automaticByteCount), 0)
        case (false, _):
            return (
                max(0, min(legacy, most.advertising) - content.automaticByteCount), min(legacy, most.scanResponse)
            )
        }
    }
}

extension AdvertisingOptions {
    /// The interval in the controller's units of 0.625 ms.
    fileprivate func intervals(
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ExtendedAdvertisingInstanceParameters.Intervals {
        let most: Int64 = format == .legacy ? 0x4000 : 0xFF_FFFF
        let bounds = [interval.lowerBound, interval.upperBound].map { $0.clampedNanoseconds / 625_000 }
        guard bounds[0] >= 0x20, bounds[1] <= most else {
            throw .invalidArgument(
                operation,
                "The advertising interval is 20 ms to \(format == .legacy ? "10.24 s" : "10485.76 s").")
        }
        return .init(minimum: UInt32(clamping: bounds[0]), maximum: UInt32(clamping: bounds[1]))
    }
}
