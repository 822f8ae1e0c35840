/// The status with which a device refuses a request of the Simple Management Protocol, which has a group.
public struct FirmwareStatus: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of the group whose statuses these are: 0 for those of all groups, 1 for those of images.
    public var group: Int
    /// The number of the status in its group.
    public var code: Int

    /// A status of a group.
    public init(group: Int, code: Int) { (self.group, self.code) = (group, code) }

    /// Unknown error.
    public static let unknown = FirmwareStatus(group: 0, code: 1)
    /// Error in an argument.
    public static let invalidArgument = FirmwareStatus(group: 0, code: 3)
    /// The command is not permitted in this state.
    public static let badState = FirmwareStatus(group: 0, code: 6)
    /// The command is not supported.
    public static let unsupported = FirmwareStatus(group: 0, code: 8)
    /// Another command is being executed.
    public static let busy = FirmwareStatus(group: 0, code: 10)
    /// There is no slot for the image.
    public static let noFreeSlot = FirmwareStatus(group: 1, code: 9)
    /// There is no image with this hash.
    public static let unknownHash = FirmwareStatus(group: 1, code: 24)
    /// The image is not newer than the one that runs.
    public static let notNewer = FirmwareStatus(group: 1, code: 27)
    /// The image does not fit into a slot.
    public static let tooLarge = FirmwareStatus(group: 1, code: 30)

    /// The name of the status with its number: `no free slot (group 1, 9)`.
    public var description: String {
        let names = group == 0 ? Self.names : group == 1 ? Self.imageNames : []
        let name = names.indices.contains(code) ? names[code] : "status"
        return "\(name) (group \(group), \(code))"
    }

    private static let names = [
        "success", "unknown error", "out of memory", "invalid argument", "timed out", "no entry", "bad state",
        "response too long", "not supported", "corrupt", "busy", "access denied", "protocol version too old",
        "protocol version too new",
    ]

    private static let imageNames = [
        "success", "unknown error", "flash configuration unknown", "no image", "image without TLVs", "invalid TLV",
        "several hashes", "TLV of invalid size", "no hash", "no free slot", "flash not opened", "flash not read",
        "flash not written", "flash not erased", "invalid slot", "out of memory", "flash already open",
        "flash not open", "no flash device", "invalid page offset", "no offset", "no length", "image too short",
        "not an image", "invalid hash", "invalid flash address", "version unknown", "the running image is newer",
        "an image is pending already", "invalid vector table", "image too large", "more data than announced",
        "confirmation denied", "the running image cannot be tested",
    ]
}

extension FirmwareStatus {
    /// The status in the body of a response, which is a map in the second version; nil for success.
    init?(_ body: CBOR) {
        if let error = body["err"], let code = error["rc"]?.integer, code != 0 {
            self.init(group: error["group"]?.integer ?? 0, code: code)
        } else if let code = body["rc"]?.integer, code != 0 {
            self.init(group: 0, code: code)
        } else {
            return nil
        }
    }

    /// The body of a response in a version; the first has no groups.
    func body(version: UInt8) -> [String: CBOR] {
        guard version > 0 else { return ["rc": CBOR(group == 0 ? code : Self.unknown.code)] }
        return ["err": .map(["group": CBOR(group), "rc": CBOR(code)])]
    }
}
