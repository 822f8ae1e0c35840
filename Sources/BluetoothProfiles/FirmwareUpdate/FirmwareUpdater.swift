import BluetoothCryptography
import BluetoothHost
import BluetoothLE
import BluetoothPrimitives

extension BluetoothUUID {
    /// The service of the Simple Management Protocol.
    public static let firmwareUpdate: BluetoothUUID = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
    /// The characteristic of the Simple Management Protocol, for requests and responses.
    public static let firmwareUpdateMessages: BluetoothUUID = "DA2E7828-FBCE-4E01-AE9E-261174997C48"
}

/// A client of MCUmgr's Simple Management Protocol, by which devices with MCUboot take new firmware.
///
/// ```swift
/// let updater = try await FirmwareUpdater(connection)
/// let image = try FirmwareImage(bytes)
/// try await updater.upload(image.bytes)
/// try await updater.test(image.hash)
/// try await updater.reset()
/// ```
///
/// One call at a time: a further one throws `.busy`. A device's refusal is an error of code `.refused` whose cause is
/// a ``FirmwareStatus``: `error.cause == .firmware(.notNewer)`.
///
/// A call that is cancelled ends after the rest of its request is sent. Where a link that accepts nothing prevents that
/// until the time limit, the next call of this client sends the rest first, since the device waits for it: another client
/// on the same connection cannot. The late response to a call that has ended is dropped.
public actor FirmwareUpdater {
    /// The time limit for each response; nil for none.
    public let timeout: Duration?
    private let connection: Connection
    private let values: BoundedStream<[UInt8]>.Iterator
    private var assembler = SMPAssembler(limit: 1 << 14)
    /// The rest of a request that was broken off at its time limit.
    private var unsent: ArraySlice<[UInt8]> = []
    /// The first is any, since a late response to another client may arrive on the same link.
    private var sequence = UInt8.random(in: 0 ... .max)
    private var isBusy = false
    /// The length of the longest message that the device takes; nil while unknown.
    private var bufferSize: Int?
    private var droppedCount = 0

    /// The executor of the connection, so that a message costs no change of threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    /// A client on a connection. It subscribes to responses, and asks for the size of the device's buffer.
    /// - Parameters:
    ///   - connection: the connection.
    ///   - timeout: the time limit for each response; nil for none. A device may erase its flash memory before the first.
    /// - Throws: `.notFound` for a device without the service, besides what subscribing and requests throw.
    public init(_ connection: Connection, timeout: Duration? = .seconds(40)) async throws(BluetoothError) {
        self.connection = connection
        self.timeout = timeout
        values = try await connection.subscribe(
            to: .firmwareUpdateMessages, in: .firmwareUpdate, kind: .notification, timeout: timeout
        ).makeAsyncIterator()
        do throws(BluetoothError) {
            bufferSize = try await request(.read, .parameters, [:], "ask for the buffer size")["buf_size"]?.integer
        } catch {
            // An optional command, without which a message is what fits into a write.
            guard error.code == .refused else { throw error }
        }
    }

    /// The number of messages that no request has asked for, such as late responses.
    public var unwantedMessageCount: Int { droppedCount }

    /// The text that the device returns for `text`: the same.
    public func echo(_ text: String) async throws(BluetoothError) -> String {
        try claim("echo")
        defer { isBusy = false }
        let response = try await request(.write, .echo, ["d": .text(text)], "echo")
        guard let text = response["r"]?.text else { throw malformed("echo", MalformedValue("r", "it is missing")) }
        return text
    }

    /// The images in the device's slots.
    public func images() async throws(BluetoothError) -> [FirmwareSlot] {
        try await slots(.read, [:], "list images")
    }

    /// Uploads an image, or the rest of one.
    ///
    /// The device names an upload by the SHA-256 of the file, and continues one that was interrupted, also on another
    /// link. Where the first message has no room for the hash, an interrupted upload begins again.
    /// - Parameters:
    ///   - bytes: the bytes of the file, as of ``FirmwareImage/bytes``.
    ///   - image: the number of the image, for a device with several.
    ///   - isUpgrade: whether the device is to refuse an image that is not newer than the one that runs.
    ///   - progress: called with the number of bytes that the device has, after each message.
    /// - Throws: `.disconnected` when the link ends, after which a new client continues; `.failed` when the device finds
    ///   that the upload has another hash.
    public func upload(
        _ bytes: [UInt8], image: Int = 0, isUpgrade: Bool = false, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws(BluetoothError) {
        let name = "upload"
        try claim(name)
        defer { isBusy = false }
        guard !bytes.isEmpty else { throw .invalidArgument(operation(name), "The image has no bytes.") }
        let limit =
            if let bufferSize { min(max(0, bufferSize), 0xFFFF) } else { await connection.maximumCommandLength }
        let hash = await Self.hash(of: bytes)
        var (offset, standstills) = (0, 0)
        repeat {
            let body = try chunk(of: bytes, from: offset, image, isUpgrade, hash, limit)
            let response = try await request(.write, .imageUpload, body, name)
            guard let next = response["off"]?.integer, (0...bytes.count).contains(next) else {
                throw malformed(name, MalformedValue("off", "it is no offset in the image"))
            }
            if response["match"] == .bool(false) {
                throw BluetoothError(
                    .failed, operation(name), "The device has received other bytes: the hashes differ.")
            }
            standstills += next <= offset ? 1 : 0
            guard standstills <= Self.mostStandstills else {
                throw malformed(name, MalformedValue("off", "it has not increased \(standstills) times"))
            }
            offset = next
            progress?(offset)
        } while offset < bytes.count
    }

    /// Starts an image at the next reset once; it is kept only if it is confirmed then.
    /// - Parameter hash: the hash of the image, as of ``FirmwareImage/hash``.
    /// - Returns: the images in the device's slots.
    @discardableResult
    public func test(_ hash: [UInt8]) async throws(BluetoothError) -> [FirmwareSlot] {
        try await slots(.write, ["hash": .bytes(hash), "confirm": .bool(false)], "test an image")
    }

    /// Keeps an image: the one that runs, or without a test one that starts at the next reset.
    /// - Parameter hash: the hash of the image; nil for the one that runs.
    /// - Returns: the images in the device's slots.
    @discardableResult
    public func confirm(_ hash: [UInt8]? = nil) async throws(BluetoothError) -> [FirmwareSlot] {
        var body = ["confirm": CBOR.bool(true)]
        if let hash { body["hash"] = .bytes(hash) }
        return try await slots(.write, body, "confirm an image")
    }

    /// Restarts the device, which ends the link soon.
    /// - Parameter isForced: whether the device is to restart even while it is busy.
    public func reset(isForced: Bool = false) async throws(BluetoothError) {
        try claim("reset")
        defer { isBusy = false }
        let wasConnected = await connection.isConnected
        do throws(BluetoothError) {
            _ = try await request(.write, .reset, isForced ? ["force": CBOR(1)] : [:], "reset")
        } catch {
            // A device may restart before it responds.
            guard wasConnected, error.code == .disconnected else { throw error }
        }
    }

    // MARK: Uploading

    /// The hash of a file, which takes long for a large one: not on the loop, where all links would wait.
    @concurrent private nonisolated static func hash(of bytes: [UInt8]) async -> [UInt8] { SHA256.hash(of: bytes) }

    /// The number of responses whose offset may be the one before or less: a device that has restarted begins again.
    private static let mostStandstills = 16

    /// The body of a message with as many bytes from `offset` on as fit into `limit` bytes.
    private func chunk(
        of bytes: [UInt8], from offset: Int, _ image: Int, _ isUpgrade: Bool, _ hash: [UInt8], _ limit: Int
    ) throws(BluetoothError) -> [String: CBOR] {
        var body: [String: CBOR] = ["off": CBOR(offset), "data": .bytes([])]
        // Two bytes more for the length of the data.
        func room() -> Int { limit - SMPHeader.length - CBOR.map(body).encoded.count - 2 }
        if offset == 0 {
            body["len"] = CBOR(bytes.count)
            if image != 0 { body["image"] = CBOR(image) }
            if isUpgrade { body["upgrade"] = .bool(true) }
            body["sha"] = .bytes(hash)
            // The first message needs the whole header of the image.
            if room() < min(32, bytes.count) { body["sha"] = nil }
        }
        let count = min(room(), bytes.count - offset)
        guard count > 0 else {
            throw BluetoothError(
                .unsupported, operation("upload"), "Messages of at most \(limit) bytes have no room for the image.")
        }
        body["data"] = .bytes(Array(bytes[offset..<offset + count]))
        return body
    }

    /// Reads or changes the state of the images.
    private func slots(
        _ kind: SMPHeader.Operation, _ body: [String: CBOR], _ name: String
    ) async throws(BluetoothError) -> [FirmwareSlot] {
        try claim(name)
        defer { isBusy = false }
        let response = try await request(kind, .imageState, body, name)
        do throws(MalformedValue) { return try FirmwareSlot.list(response) } catch { throw malformed(name, error) }
    }

    // MARK: Requests

    private func operation(_ name: String) -> BluetoothError.Operation { .init(name, peer: connection.peer) }

    private func malformed(_ name: String, _ problem: MalformedValue) -> BluetoothError {
        BluetoothError(.protocolViolation, operation(name), "The response is malformed: \(problem).")
    }

    private func claim(_ name: String) throws(BluetoothError) {
        guard !isBusy else {
            throw BluetoothError(
                .busy, operation(name), "Another call of this client has not ended.", isRetryable: true)
        }
        isBusy = true
    }

    /// Sends a request and returns the body of its response.
    private func request(
        _ kind: SMPHeader.Operation, _ command: SMPCommand, _ body: [String: CBOR], _ name: String
    ) async throws(BluetoothError) -> CBOR {
        sequence &+= 1
        let header = SMPHeader(kind, command, sequence: sequence)
        let content: CBOR
        do throws(BluetoothError) {
            content = try await withTimeLimit(timeout, on: connection.loop) {
                try await self.exchange(header, header.message(body), name)
            }
        } catch {
            var error = error
            error.operation.name = name
            throw error
        }
        if let status = FirmwareStatus(content) {
            throw BluetoothError(
                .refused, operation(name), "The device refuses the request.", cause: .firmware(status))
        }
        return content
    }

    private func exchange(
        _ header: SMPHeader, _ message: [UInt8], _ name: String
    ) async throws -> CBOR {
        let parts = message.fragments(await connection.maximumCommandLength)
        // In a task of its own, which is not cancelled: the device would take the next request for the rest of this one.
        try await Task(executorPreference: connection.loop) { try await self.send(parts) }.value
        while true {
            do throws(MalformedValue) {
                while let frame = try assembler.next() {
                    if frame.header.answers(header) { return try CBOR(decoding: frame.body) }
                    droppedCount += 1
                }
            } catch {
                throw malformed(name, error)
            }
            var values = values
            guard let value = try await values.next(isolation: self) else {
                throw BluetoothError(.disconnected, operation(name), "The subscription to responses has ended.")
            }
            // The rest of an earlier response need not come: the one to this request begins anew.
            if SMPHeader(value)?.answers(header) == true { assembler.removeAll() }
            assembler.append(value)
        }
    }

    /// Sends a request, after the rest of an earlier one.
    private func send(_ parts: [[UInt8]]) async throws(BluetoothError) {
        let end = timeout.map { connection.loop.now.advanced(by: $0) }
        unsent += parts
        // The device need not receive a request of which it has nothing.
        defer { if unsent.count >= parts.count { unsent.removeLast(parts.count) } }
        while let part = unsent.first {
            try await connection.write(
                part, to: .firmwareUpdateMessages, in: .firmwareUpdate, type: .withoutResponse,
                timeout: end?.remaining(at: connection.loop.now))
            unsent.removeFirst()
        }
    }
}

extension SMPHeader {
    /// Whether it is that of the response to a request; some devices respond to a write as if it were a read.
    fileprivate func answers(_ request: SMPHeader) -> Bool {
        operation.isResponse && sequence == request.sequence && command == request.command
    }
}

extension BluetoothError.Cause {
    /// A device refuses a request of the Simple Management Protocol with this status.
    public static func firmware(_ status: FirmwareStatus) -> BluetoothError.Cause {
        .host(BluetoothError.HostStatus(status.group << 16 | status.code, "SMP \(status)"))
    }
}
