import BluetoothHost
import BluetoothLE
import Synchronization

extension KeptConnection {
    /// Uploads a firmware image; continues on the next link when one ends.
    /// - Parameters:
    ///   - bytes: the bytes of the file, as of ``FirmwareImage/bytes``.
    ///   - image: the number of the image, for a device with several.
    ///   - isUpgrade: whether the device is to refuse an image that is not newer than the one that runs.
    ///   - timeout: the time limit for each response; nil for none. A link is waited for without limit.
    ///   - progress: called with the number of bytes that the device has, after each message.
    /// - Throws: the reason for which a link ended when five have ended without progress, besides what
    ///   ``FirmwareUpdater/upload(_:image:isUpgrade:progress:)`` and `KeptConnection.connected(timeout:)` throw.
    public nonisolated(nonsending) func uploadFirmware(
        _ bytes: [UInt8], image: Int = 0, isUpgrade: Bool = false, timeout: Duration? = .seconds(40),
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws(BluetoothError) {
        let reached = Mutex(0)
        var (before, failures) = (0, 0)
        while true {
            let connection = try await connected(timeout: nil)
            do throws(BluetoothError) {
                let updater = try await FirmwareUpdater(connection, timeout: timeout)
                return try await updater.upload(bytes, image: image, isUpgrade: isUpgrade) { count in
                    reached.withLock { $0 = max($0, count) }
                    progress?(count)
                }
            } catch {
                let now = reached.withLock { $0 }
                failures = now > before ? 0 : failures + 1
                before = now
                guard error.code == .disconnected, failures < 5 else { throw error }
            }
        }
    }
}
