import BluetoothCryptography
import BluetoothPrimitives

/// A firmware image in the format of MCUboot, read from its file.
public struct FirmwareImage: Hashable, Sendable {
    /// The bytes of the file.
    public let bytes: [UInt8]
    /// The version: `1.2.3`, or `1.2.3.4` with a build number.
    public let version: String
    /// The hash by which devices name the image: that in its trailer, not that of the file.
    public let hash: [UInt8]

    /// An image from the bytes of its file.
    ///
    /// The hash in the trailer is compared with the content where it is SHA-256 and the content is not encrypted.
    /// - Throws: ``MalformedValue`` for a file of another kind, or one that is damaged.
    public init(_ bytes: [UInt8]) throws(MalformedValue) {
        self.bytes = bytes
        do {
            (version, hash) = try Self.parse(bytes)
        } catch let error as MalformedValue {
            throw error
        } catch {
            throw MalformedValue("MCUboot image", "\(error)")
        }
    }

    private static func parse(_ bytes: [UInt8]) throws -> (String, [UInt8]) {
        var reader = ByteReader(bytes.span.bytes)
        guard try reader.readUInt32() == 0x96F3_B83D else {
            throw MalformedValue("Magic", "it is not that of an MCUboot image")
        }
        try reader.skip(4)
        let (headerLength, protectedLength) = (Int(try reader.readUInt16()), Int(try reader.readUInt16()))
        let (contentLength, flags) = (Int(try reader.readUInt32()), try reader.readUInt32())
        let (major, minor) = (try reader.readUInt8(), try reader.readUInt8())
        let (revision, build) = (try reader.readUInt16(), try reader.readUInt32())
        let version = "\(major).\(minor).\(revision)" + (build == 0 ? "" : ".\(build)")
        try reader.skip(headerLength + contentLength - reader.offset)
        try reader.skip(protectedLength)
        let hashed = bytes.prefix(reader.offset)

        guard try reader.readUInt16() == 0x6907 else { throw MalformedValue("Trailer", "its magic is missing") }
        let trailerLength = Int(try reader.readUInt16())
        var trailer = ByteReader(try reader.read(trailerLength - 4))
        while !trailer.isAtEnd {
            let (type, length) = (try trailer.readUInt16(), Int(try trailer.readUInt16()))
            let value = [UInt8](try trailer.read(length))
            // SHA-256, SHA-384 and SHA-512.
            guard (0x10...0x12).contains(type) else { continue }
            let isEncrypted = flags & 0x0C != 0
            if type == 0x10, !isEncrypted, SHA256.hash(of: hashed) != value {
                throw MalformedValue("Hash", "it is not that of the content: the file is damaged")
            }
            return (version, value)
        }
        throw MalformedValue("Trailer", "it has no hash")
    }
}

/// The state of an image in a slot of a device.
public struct FirmwareSlot: Hashable, Sendable {
    /// The number of the image, for a device with several.
    public var image: Int
    /// The number of the slot: 0 holds the image that runs.
    public var slot: Int
    /// The version: `1.2.3`, or `1.2.3.4` with a build number.
    public var version: String
    /// The hash that names the image; empty when the device does not send it.
    public var hash: [UInt8]
    /// Whether the boot loader can start it.
    public var isBootable = true
    /// Whether it starts at the next reset.
    public var isPending = false
    /// Whether it is kept: one that is not confirmed gives way to the image before it at the next reset.
    public var isConfirmed = false
    /// Whether it runs.
    public var isActive = false
    /// Whether it is kept when it starts at the next reset.
    public var isPermanent = false

    /// An image that has not been started.
    public init(image: Int = 0, slot: Int, version: String, hash: [UInt8]) {
        (self.image, self.slot, self.version, self.hash) = (image, slot, version, hash)
    }
}

extension FirmwareSlot {
    /// An element of the list of images.
    init(_ item: CBOR) throws(MalformedValue) {
        guard let slot = item["slot"]?.integer else { throw MalformedValue("slot", "the number is missing") }
        guard let version = item["version"]?.text else { throw MalformedValue("version", "the text is missing") }
        self.init(
            image: item["image"]?.integer ?? 0, slot: slot, version: version, hash: item["hash"]?.bytes ?? [])
        isBootable = item.isTrue("bootable")
        isPending = item.isTrue("pending")
        isConfirmed = item.isTrue("confirmed")
        isActive = item.isTrue("active")
        isPermanent = item.isTrue("permanent")
    }

    /// The element of the list of images.
    var item: CBOR {
        .map([
            "image": CBOR(image), "slot": CBOR(slot), "version": .text(version), "hash": .bytes(hash),
            "bootable": .bool(isBootable), "pending": .bool(isPending), "confirmed": .bool(isConfirmed),
            "active": .bool(isActive), "permanent": .bool(isPermanent),
        ])
    }

    /// The slots in the body of a response.
    static func list(_ body: CBOR) throws(MalformedValue) -> [FirmwareSlot] {
        guard let items = body["images"]?.items else { throw MalformedValue("images", "the list is missing") }
        var slots: [FirmwareSlot] = []
        for item in items { slots.append(try FirmwareSlot(item)) }
        return slots
    }
}
