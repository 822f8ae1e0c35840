import BluetoothHCI
import BluetoothManagement

/// An advertising instance with a program's parameters and data.
struct AdvertisedInstance {
    var flags: AdvertisingInstanceFlags
    var duration: UInt16 = 0
    var intervals: ManagementAddExtendedAdvertisingParameters.Intervals?
    var transmitPower: Int8?
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
    /// Whether it has parameters but no data yet.
    var isPending = false
    var timer: ScheduledEvent?

    /// Whether every structure ends where its length indicates and none is reserved to the kernel
    /// (`tlv_data_is_valid`).
    static func isWellFormed(
        _ data: [UInt8], _ flags: AdvertisingInstanceFlags, isScanResponse: Bool
    ) -> Bool {
        let writesFlags = !flags.isDisjoint(with: [.generalDiscoverable, .limitedDiscoverable, .managedFlags])
        var reader = ByteReader(data.span.bytes)
        while let length = try? reader.readUInt8() {
            guard length > 0 else { continue }
            guard let type = try? reader.readUInt8(), (try? reader.skip(Int(length) - 1)) != nil else { return false }
            switch type {
            case 0x01: if isScanResponse || writesFlags { return false }
            case 0x08, 0x09: if flags.contains(.localName) { return false }
            case 0x0A: if flags.contains(.transmitPower) { return false }
            case 0x19: if flags.contains(.appearance) { return false }
            default: break
            }
        }
        return true
    }

    // MARK: Data that the kernel adds

    /// The advertising data: the program's with the kernel's additions.
    func advertisingData(isBREDREnabled: Bool) -> [UInt8] {
        var bits: UInt8 = 0
        if flags.contains(.limitedDiscoverable) { bits |= 0x01 }
        if flags.contains(.generalDiscoverable) { bits |= 0x02 }
        let hasFlags = bits != 0 || flags.contains(.managedFlags)
        if hasFlags, !isBREDREnabled { bits |= 0x04 }
        var data: [UInt8] = bits != 0 ? [2, 0x01, bits] : []
        data += self.data
        if flags.contains(.transmitPower) {
            data += [2, 0x0A, UInt8(bitPattern: transmitPower ?? 0)]
        }
        return data
    }

    /// The scan response data: the program's with the kernel's additions.
    func scanResponseData(localName: String, maximumLength: Int) -> [UInt8] {
        var data = scanResponse
        if flags.contains(.localName) {
            let room = maximumLength - data.count - 2
            let name = Array(localName.utf8)
            if room > 0, !name.isEmpty {
                let part = name.prefix(room)
                data += [UInt8(part.count + 1), part.count == name.count ? 0x09 : 0x08] + part
            }
        }
        return data
    }
}
