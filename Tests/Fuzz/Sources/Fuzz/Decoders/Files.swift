import BluetoothCryptography
@testable import BluetoothDeviceFile
@testable import BluetoothGATT
import BluetoothHost
import BluetoothJSON
@testable import BluetoothLE
import BluetoothPrimitives

/// The files that the library stores or is given.
let fileDecoders: [FuzzTarget] = [
    FuzzTarget(name: "json") { input in
        guard let value = try? JSONValue(reading: Array(input)) else { return }
        for text in [value.description, value.formatted()] {
            let again = try? JSONValue(reading: Array(text.utf8))
            require(again?.description == value.description, "\(text) became \(again?.description ?? "none")")
        }
    },
    FuzzTarget(name: "device-file") { input in
        guard let file = try? DeviceFile(reading: Array(input)) else { return }
        for device in file.devices {
            let again = try? DeviceFile(reading: device.file).devices
            require(again == [device], "\(device) became \(again as Any)")
        }
    },
    FuzzTarget(name: "attribute-cache") { input in
        _ = try? CachedDatabase(decoding: Array(input), for: cacheKey)
        // Fields for the right key, with the right checksum.
        let key = CachedDatabase(services: [], hash: nil).encoded(for: cacheKey)?.dropFirst(10).dropLast(16) ?? []
        let sealed = RecordFormat("BLE-GATT", version: 1).seal(key + Array(input))
        guard let database = try? CachedDatabase(decoding: sealed, for: cacheKey) else { return }
        let again = database.encoded(for: cacheKey).flatMap { try? CachedDatabase(decoding: $0, for: cacheKey) }
        require(again == database, "\(database) became \(again as Any)")
    },
    FuzzTarget(name: "bond-file") { input in
        _ = try? Bond(decoding: Array(input), adapter: adapter)
        let addresses = try? Bond(identity: peer).encoded(for: adapter).dropFirst(10).prefix(14)
        let format = RecordFormat("BLE-BOND", version: 1, trustsLaterVersions: true)
        guard let bond = try? Bond(decoding: format.seal((addresses ?? []) + Array(input)), adapter: adapter) else {
            return
        }
        _ = "\(bond)"
        let again = try? Bond(decoding: bond.encoded(for: adapter), adapter: adapter)
        require(again == bond, "\(bond) became \(again as Any)")
    },
    FuzzTarget(name: "local-identity") { input in
        let format = RecordFormat("BLE-SELF", version: 1, trustsLaterVersions: true)
        for bytes in [Array(input), format.seal(Array(input)), format.seal([3, 0] + Array("usb".utf8) + Array(input))] {
            guard let identity = try? LocalIdentity(decoding: bytes, place: "usb") else { continue }
            require(identity.encoded(forAdapterAt: "usb") == bytes, "\(identity) changed")
        }
    },
    FuzzTarget(name: "identity-file") { input in
        guard let identities = try? IdentityFile.parse(Array(input), "keys") else { return }
        _ = identities.map { "\($0)" }
        require(Set(identities.map(\.name)).count == identities.count, "two have the same name")
    },
    FuzzTarget(name: "out-of-band-data") { input in
        guard let data = try? OutOfBandData(Array(input)) else { return }
        require((try? OutOfBandData(data.structures)) == data, "the structures are others")
        require((try? OutOfBandData(data.nfcMessage)) == data, "the NFC message is another")
        require((try? OutOfBandData(text: data.text)) == data, "the text is another")
    },
]

private let adapter: BluetoothAddress = "00:11:22:33:44:55/public"
private let peer: BluetoothAddress = "C0:98:E5:12:34:56/random"
private let cacheKey = AttributeCacheKey(adapter: adapter, peer: peer)
