import ArgumentParser
import BluetoothLE
import BluetoothProfiles
import ExampleSupport
import Synchronization

struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Update the firmware of a device with MCUboot and MCUmgr.",
        discussion: """
            Uploads FILE, an image that imgtool has signed (zephyr.signed.bin), has the device test it, and restarts the \
            device: the new image runs once, and is kept if you confirm it. What is there already is not uploaded \
            again, and an upload that was interrupted continues, also when you run the command again. Without FILE, \
            lists the device's images; with --confirm, keeps the one that runs. \(AdapterOptions.several)

            With --simulate the device is a second simulated machine. To offer one to another program: \
            ble serve firmware

            EXAMPLES:
              ble update -n Updatable
              ble update -n Updatable zephyr.signed.bin
              ble update -n Updatable --confirm
              ble update -n Updatable zephyr.signed.bin --upload-only
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The image to upload; without it, the images are listed.", completion: .file())
    var file: String?

    @Flag(exclusivity: .exclusive)
    var way: Way?

    @Flag(inversion: .prefixedNo, help: "Restart the device; by default after an image was marked.")
    var reset: Bool?

    @Option(help: ArgumentHelp("The number of the image, such as 1, for a device with several.", valueName: "number"))
    var image = 0

    @Flag(help: "Have the device refuse an image that is not newer than the one that runs.")
    var upgrade = false

    @Flag(help: "Upload a file that is no MCUboot image.")
    var anyFile = false

    /// What becomes of the image.
    enum Way: String, EnumerableFlag {
        case test, confirm, uploadOnly

        static func help(for value: Way) -> ArgumentHelp? {
            switch value {
            case .test: "Have the image run once after the restart. This is the default."
            case .confirm: "Keep the image without a test; without FILE, the one that runs."
            case .uploadOnly: "Upload the image, and leave it at that."
            }
        }
    }

    func validate() throws {
        try checkRange(image, 0...255, "--image")
        guard file == nil, way == .test || way == .uploadOnly else { return }
        throw ValidationError("--\(way == .test ? "test" : "upload-only") needs the image: ble update FILE.")
    }

    func run() async throws {
        let command = self
        try await common.run("ble update", reading: [file]) { console in
            var common = command.common
            if common.simulate, common.name == nil, common.address == nil { common.name = FirmwareServer.name }
            let chosen = common
            try chosen.validateDevice()
            let upload = try await command.readUpload()
            guard chosen.simulate else {
                return try await chosen.withRadio(console) { try await command.update(upload, chosen, on: $0, console) }
            }
            try await chosen.withAdapter(
                console, visitedBy: { try await FirmwareServer(on: $0, nil).run(once: false) }
            ) { try await command.update(upload, chosen, on: $0, console) }
        }
    }

    /// The file, and its image if it is one.
    private struct Upload: Sendable {
        var bytes: [UInt8]
        var image: FirmwareImage?
    }

    private func readUpload() async throws -> Upload? {
        guard let file else { return nil }
        let bytes = try await contents(of: file, limit: 256 << 20)
        do throws(MalformedValue) {
            return Upload(bytes: bytes, image: try FirmwareImage(bytes))
        } catch {
            if anyFile { return Upload(bytes: bytes, image: nil) }
            throw ProgramError(
                .badData, "\(file) is not an MCUboot image. \(error).",
                remedy: "Give the file that imgtool has signed, such as zephyr.signed.bin, or add: --any-file")
        }
    }

    /// Updates on one link after the other, as long as each brings the upload forward.
    private func update(
        _ upload: Upload?, _ common: CommonOptions, on radio: ChosenRadio, _ console: Console
    ) async throws {
        let bar = Mutex(ProgressBar("uploading", total: upload?.bytes.count ?? 0, style: console.messages))
        defer { bar.withLock { $0.clear() } }
        let reached = Mutex(-1)
        while true {
            let before = reached.withLock { $0 }
            do {
                return try await common.withConnection(on: radio, console, link: link.settings) { connection in
                    try await update(upload, over: connection, common.timeout(or: .seconds(40)), console) { count in
                        reached.withLock { $0 = max($0, count) }
                        bar.withLock { $0.update(count) }
                    }
                }
            } catch let error as BluetoothError where error.code == .disconnected {
                guard reached.withLock({ $0 > before }) else { throw error }
                console.message(console.messages.yellow("\(error.message) Continuing."))
            }
        }
    }

    private func update(
        _ upload: Upload?, over connection: Connection, _ timeout: Duration?, _ console: Console,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws {
        let updater = try await FirmwareUpdater(connection, timeout: timeout)
        var slots = try await updater.images()
        var hash = upload?.image?.hash
        if let upload {
            if let hash, let slot = slots.first(where: { $0.image == image && $0.hash == hash }) {
                console.message("\(slot.version) is in slot \(slot.slot) already.")
            } else {
                try await updater.upload(upload.bytes, image: image, isUpgrade: upgrade, progress: progress)
                console.uploaded(upload.bytes, upload.image)
                slots = try await updater.images()
            }
            hash = hash ?? slots.last { $0.image == image && !$0.isActive }?.hash
        }
        // Without a hash, a device confirms its first image.
        if upload == nil, image != 0 {
            hash = slots.first { $0.image == image && $0.isActive }?.hash
            guard hash != nil else { throw ProgramError(.protocolError, "The device runs no image \(image).") }
        }
        let isMarked = upload == nil ? way == .confirm : way != .uploadOnly
        if isMarked {
            let slot = slots.first { $0.image == image && $0.hash == hash && !$0.hash.isEmpty }
            if upload != nil, slot == nil {
                throw ProgramError(.protocolError, "The device does not list the image, so that it cannot be marked.")
            }
            if way == .confirm {
                slots = try await updater.confirm(slot?.hash)
            } else if let slot, !slot.isActive {
                slots = try await updater.test(slot.hash)
            }
        }
        console.show(slots)
        guard reset ?? (upload != nil && isMarked && slots.contains { $0.isPending }) else { return }
        try await updater.reset()
        console.result("restarted", "the device restarts", [])
    }
}

extension Console {
    fileprivate func uploaded(_ bytes: [UInt8], _ image: FirmwareImage?) {
        result(
            "uploaded", "uploaded \(quantity(bytes.count, "byte"))\(image.map { ", version \($0.version)" } ?? "")",
            [("bytes", .integer(bytes.count)), ("version", JSONValue(image?.version))])
    }

    /// Prints the images of a device.
    func show(_ slots: [FirmwareSlot]) {
        for slot in slots {
            let states = [
                slot.isActive ? "active" : nil, slot.isConfirmed ? "confirmed" : nil, slot.isPending ? "pending" : nil,
                slot.isPermanent ? "permanent" : nil, slot.isBootable ? nil : "not bootable",
            ].compactMap { $0 }
            result(
                "image",
                "image \(slot.image) slot \(slot.slot): \(printable(slot.version))"
                    + states.map { "  \($0)" }.joined() + "  \(slot.hash.hexadecimal)",
                [
                    ("image", .integer(slot.image)), ("slot", .integer(slot.slot)), ("version", .string(slot.version)),
                    ("hash", .string(slot.hash.hexadecimal)), ("states", .array(states.map { .string($0) })),
                ])
        }
    }
}
