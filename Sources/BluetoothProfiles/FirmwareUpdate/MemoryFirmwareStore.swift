import BluetoothCryptography
import Synchronization

/// The two slots of a device with MCUboot, in memory: for tests, and to try an update without a device.
///
/// An image that is tested runs after the next reset, and gives way to the one before it at the reset after that unless
/// it is confirmed.
public final class MemoryFirmwareStore: FirmwareStore {
    private struct State {
        var running: FirmwareSlot
        var other: FirmwareSlot?
        var upload: FirmwareUpload?
        var bytes: [UInt8] = []
    }

    private let capacity: Int
    private let state: Mutex<State>
    private let onReset: @Sendable () async -> Void

    /// A device.
    /// - Parameters:
    ///   - version: the version of the image that runs, which is confirmed.
    ///   - capacity: the size of a slot in bytes.
    ///   - onReset: called when the device restarts, such as to end its links.
    public init(
        running version: String = "1.0.0", capacity: Int = 1 << 20, onReset: @escaping @Sendable () async -> Void = {}
    ) {
        var running = FirmwareSlot(slot: 0, version: version, hash: SHA256.hash(of: version.utf8))
        (running.isBootable, running.isActive, running.isConfirmed) = (true, true, true)
        state = Mutex(State(running: running))
        (self.capacity, self.onReset) = (capacity, onReset)
    }

    /// The bytes of the last upload that are stored.
    public var storedBytes: [UInt8] { state.withLock { $0.bytes } }

    /// The images in the slots.
    public func images() -> [FirmwareSlot] { state.withLock { [$0.running] + ($0.other.map { [$0] } ?? []) } }

    /// Prepares for an upload; refuses one that is too large, and any while an image is pending.
    public func begin(_ upload: FirmwareUpload) throws {
        guard upload.image == 0 else { throw FirmwareStatus.noFreeSlot }
        guard upload.length <= capacity else { throw FirmwareStatus.tooLarge }
        try state.withLock { state in
            guard state.other?.isPending != true else { throw FirmwareStatus(group: 1, code: 28) }
            (state.other, state.upload, state.bytes) = (nil, upload, [])
        }
    }

    /// Stores the bytes that follow.
    public func append(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }

    /// Completes the upload; refuses a file that is no MCUboot image.
    public func finish() throws {
        try state.withLock { state in
            guard let image = try? FirmwareImage(state.bytes) else { throw FirmwareStatus(group: 1, code: 23) }
            if state.upload?.isUpgrade == true, !image.version.isNewer(than: state.running.version) {
                throw FirmwareStatus.notNewer
            }
            state.other = FirmwareSlot(slot: 1, version: image.version, hash: image.hash)
        }
    }

    /// Starts an image at the next reset once, or keeps it.
    public func select(_ hash: [UInt8]?, isConfirmed: Bool) throws {
        try state.withLock { state in
            if hash == nil || hash == state.running.hash {
                guard isConfirmed else { throw FirmwareStatus(group: 1, code: hash == nil ? 24 : 33) }
                state.running.isConfirmed = true
                state.other?.isConfirmed = false
            } else {
                guard state.other?.hash == hash else { throw FirmwareStatus.unknownHash }
                state.other?.isPending = true
                state.other?.isPermanent = isConfirmed
            }
        }
    }

    /// Restarts the device.
    public nonisolated(nonsending) func reset() async {
        state.withLock { state in
            guard var next = state.other, next.isPending || !state.running.isConfirmed else { return }
            let isReverted = !next.isPending
            (next.slot, next.isActive, next.isConfirmed) = (0, true, next.isPermanent || isReverted)
            (next.isPending, next.isPermanent) = (false, false)
            var former = state.running
            (former.slot, former.isActive) = (1, false)
            if next.isConfirmed { former.isConfirmed = false }
            (state.running, state.other) = (next, former)
        }
        await onReset()
    }
}

extension String {
    /// Whether a version is newer, compared number by number.
    fileprivate func isNewer(than other: String) -> Bool {
        let (own, other) = (
            split(separator: ".").map { Int($0) ?? 0 }, other.split(separator: ".").map { Int($0) ?? 0 }
        )
        return other.lexicographicallyPrecedes(own)
    }
}
