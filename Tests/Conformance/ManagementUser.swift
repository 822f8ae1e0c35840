import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import TestSupport
import Testing

/// The management commands that the tests use, by their opcodes.
enum ManagementCommand: UInt16, Sendable {
    case readIndexList = 0x0003
    case readInformation = 0x0004
    case setPowered = 0x0005
    case setBondable = 0x0009
    case setSecureSimplePairing = 0x000B
    case setLE = 0x000D
    case loadLongTermKeys = 0x0013
    case disconnect = 0x0014
    case setIOCapability = 0x0018
    case pairDevice = 0x0019
    case cancelPairDevice = 0x001A
    case unpairDevice = 0x001B
    case userConfirmationReply = 0x001C
    case userConfirmationNegativeReply = 0x001D
    case userPasskeyReply = 0x001E
    case userPasskeyNegativeReply = 0x001F
    case startDiscovery = 0x0023
    case stopDiscovery = 0x0024
    case setSecureConnections = 0x002D
    case setPrivacy = 0x002F
    case loadIdentityResolvingKeys = 0x0030
    case addDevice = 0x0033
    case removeDevice = 0x0034
    case readAdvertisingFeatures = 0x003D
    case addAdvertising = 0x003E
    case removeAdvertising = 0x003F
    case getPHYConfiguration = 0x0044
    case setPHYConfiguration = 0x0045
    case readDefaultSystemConfiguration = 0x004B
    case setDefaultSystemConfiguration = 0x004C
    case addExtendedAdvertisingParameters = 0x0054
    case addExtendedAdvertisingData = 0x0055
}

/// A parsed management event.
struct ManagementEvent: Sendable, Equatable {
    static let commandComplete: UInt16 = 0x0001
    static let commandStatus: UInt16 = 0x0002
    static let indexAdded: UInt16 = 0x0004
    static let indexRemoved: UInt16 = 0x0005
    static let newSettings: UInt16 = 0x0006
    static let newLongTermKey: UInt16 = 0x000A
    static let deviceConnected: UInt16 = 0x000B
    static let deviceDisconnected: UInt16 = 0x000C
    static let userConfirmationRequest: UInt16 = 0x000F
    static let userPasskeyRequest: UInt16 = 0x0010
    static let authenticationFailed: UInt16 = 0x0011
    static let discovering: UInt16 = 0x0013
    static let deviceUnpaired: UInt16 = 0x0016
    static let passkeyNotify: UInt16 = 0x0017
    static let newIdentityResolvingKey: UInt16 = 0x0018
    static let advertisingAdded: UInt16 = 0x0023
    static let advertisingRemoved: UInt16 = 0x0024

    var code: UInt16
    var index: UInt16
    var payload: [UInt8]

    init?(_ packet: [UInt8]) {
        var reader = ByteReader(packet.span.bytes)
        guard let code = try? reader.readUInt16(), let index = try? reader.readUInt16(),
            let count = try? reader.readUInt16(), Int(count) == reader.remaining
        else { return nil }
        self.code = code
        self.index = index
        payload = Array(packet.dropFirst(6))
    }

    /// The status and the return parameters, if the event answers `opcode`.
    func answer(to opcode: UInt16, _ index: UInt16) -> (status: UInt8, parameters: [UInt8])? {
        guard code == Self.commandComplete || code == Self.commandStatus, self.index == index, payload.count >= 3,
            payload[0] == UInt8(truncatingIfNeeded: opcode), payload[1] == UInt8(opcode >> 8)
        else { return nil }
        return (payload[2], Array(payload.dropFirst(3)))
    }
}

/// A management command failed with a status.
struct ManagementFailure: Error, CustomStringConvertible {
    var command: UInt16
    var status: UInt8
    var description: String { "management command \(command) ended with status \(status)" }
}

/// A program with a management socket.
struct ManagementUser: Sendable {
    /// The index of commands that concern no single adapter.
    static let noIndex: UInt16 = 0xFFFF
    private static let busy: UInt8 = 0x0A

    let kernel: any BluetoothKernel
    let socket: any PacketSocket
    let events: SocketRecorder

    init(_ kernel: any BluetoothKernel) async throws {
        self.kernel = kernel
        (socket, events) = try await kernel.onLoop {
            let events = SocketRecorder()
            let socket = try kernel.openManagement { events.handle($0) }
            events.attach(socket)
            return (socket, events)
        }
    }

    func close() async {
        await kernel.onLoop {
            socket.close()
            events.detach()
        }
    }

    /// A command packet.
    static func packet(_ opcode: UInt16, _ index: UInt16, _ parameters: [UInt8]) -> [UInt8] {
        [opcode, index, UInt16(parameters.count)].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
            + parameters
    }

    /// The reply to a command.
    func command(
        _ opcode: UInt16, _ index: UInt16, _ parameters: [UInt8] = []
    ) async throws -> (status: UInt8, parameters: [UInt8]) {
        let start = events.journal.entries.count
        let packet = Self.packet(opcode, index, parameters)
        let outcome = await kernel.onLoop { socket.send(packet) }
        try #require(outcome == .sent)
        let entries = await events.journal.wait(on: kernel.loop) { entries in
            Self.answer(in: entries.dropFirst(start), opcode, index) != nil
        }
        return try #require(Self.answer(in: (entries ?? []).dropFirst(start), opcode, index))
    }

    private static func answer(
        in entries: ArraySlice<SocketRecorder.Entry>, _ opcode: UInt16, _ index: UInt16
    ) -> (status: UInt8, parameters: [UInt8])? {
        for case .packet(let packet) in entries {
            if let answer = ManagementEvent(packet)?.answer(to: opcode, index) { return answer }
        }
        return nil
    }

    /// The return parameters of a command; throws if it fails.
    func succeed(
        _ command: ManagementCommand, on adapter: KernelAdapter? = nil, _ parameters: [UInt8] = []
    ) async throws -> [UInt8] {
        let index = adapter?.index ?? Self.noIndex
        var answer = try await self.command(command.rawValue, index, parameters)
        // Linux answers Set Powered a little before it is ready for the next command: with Busy, or with the settings of
        // before, and does nothing.
        func isUndone() -> Bool {
            guard command == .setPowered, answer.status == 0 else { return answer.status == Self.busy }
            return answer.parameters.first.map { $0 & 1 } != parameters.first
        }
        for _ in 0..<20 where isUndone() {
            await kernel.loop.pause(for: .milliseconds(50))
            answer = try await self.command(command.rawValue, index, parameters)
        }
        guard answer.status == 0 else { throw ManagementFailure(command: command.rawValue, status: answer.status) }
        return answer.parameters
    }

    /// The first event with `code` of an adapter; nil if none arrives.
    func event(_ code: UInt16, of adapter: KernelAdapter) async -> ManagementEvent? {
        @Sendable func first(_ entries: [SocketRecorder.Entry]) -> ManagementEvent? {
            for case .packet(let packet) in entries {
                if let event = ManagementEvent(packet), event.code == code, event.index == adapter.index {
                    return event
                }
            }
            return nil
        }
        return first(await events.journal.wait(on: kernel.loop) { first($0) != nil } ?? [])
    }
}

/// The current settings in the replies of Set Powered and similar commands, and in New Settings.
struct ManagementSettings: OptionSet, Sendable {
    let rawValue: UInt32

    static let powered = ManagementSettings(rawValue: 1 << 0)
    static let le = ManagementSettings(rawValue: 1 << 9)

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ bytes: some Collection<UInt8>) throws {
        let bytes = Array(bytes)
        var reader = ByteReader(bytes.span.bytes)
        rawValue = try reader.readUInt32()
    }
}

extension EventLoop {
    /// Waits for `duration` on the loop's clock.
    fileprivate func pause(for duration: Duration) async {
        let over = Journal<Void>()
        await over.wait(on: self, limit: duration) { _ in false }
    }
}

extension SocketRecorder {
    /// The codes of the received management events, in order.
    var codes: [UInt16] { packets.compactMap { ManagementEvent($0)?.code } }

    /// Whether a management event with this code was received.
    func has(_ code: UInt16) -> Bool { codes.contains(code) }
}
