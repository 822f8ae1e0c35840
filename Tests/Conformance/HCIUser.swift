import BluetoothKernel
import BluetoothPrimitives
import HCI
import TestSupport
import Testing

/// Somebody with a raw HCI socket.
struct HCIUser: Sendable {
    let kernel: any BluetoothKernel
    let socket: any HCISocket
    let events: SocketRecorder

    init(_ kernel: any BluetoothKernel, _ adapter: UInt16, filter: HCISocketFilter?) async throws {
        self.kernel = kernel
        (socket, events) = try await kernel.onLoop {
            let events = SocketRecorder()
            let socket = try kernel.openHCI(adapter: adapter) { events.handle($0) }
            if let filter { try socket.setFilter(filter) }
            events.attach(socket)
            return (socket, events)
        }
    }

    /// Called on the loop.
    func close() {
        socket.close()
        events.detach()
    }

    /// What the controller returns to a command, status first.
    func command(_ command: HCICommand) async throws -> [UInt8] {
        let start = events.journal.entries.count
        let packet = try command.packet()
        let outcome = await kernel.onLoop { socket.send(packet) }
        try #require(outcome == .sent)
        let opcode = command.opcode
        let entries = await events.journal.wait(on: kernel.loop) { entries in
            Self.answer(in: entries.dropFirst(start), to: opcode) != nil
        }
        return try #require(Self.answer(in: (entries ?? []).dropFirst(start), to: opcode))
    }

    private static func answer(in entries: ArraySlice<SocketRecorder.Entry>, to opcode: HCIOpcode) -> [UInt8]? {
        for case .packet(let packet) in entries {
            guard let event = try? HCIEvent(decoding: packet.span.bytes) else { continue }
            switch event {
            case .commandComplete(let complete) where complete.opcode == opcode:
                return complete.returnParameters.withUnsafeBytes { Array($0) }
            case .commandStatus(let status) where status.opcode == opcode: return [status.status.rawValue]
            default: continue
            }
        }
        return nil
    }

    /// What a command returns after its status, when it succeeds.
    func succeed(_ command: HCICommand) async throws -> [UInt8] {
        let answer = try await self.command(command)
        try #require(answer.first == 0, "\(command.opcode) ended with status \(answer.first ?? 0xFF)")
        return Array(answer.dropFirst())
    }

    /// The commands that the controller says it has.
    private func support() async throws -> HCICommandSupport {
        var support = HCICommandSupport()
        for (octet, bits) in try await succeed(.readLocalSupportedCommands).enumerated() {
            for bit in 0..<8 where bits >> bit & 1 == 1 { support.insert(.init(octet: octet, bit: bit)) }
        }
        return support
    }

    /// Whether the controller has a command, by its own account.
    func has(_ command: HCICommandSupport.Bit) async throws -> Bool {
        try await support().contains(command)
    }

    /// Which commands the kernel scans with on this controller.
    func scanFamily() async throws -> HCICommandFamily {
        try await support().scanFamily
    }

    /// Whether the controller has advertising sets, so that the kernel uses those.
    func hasAdvertisingSets() async throws -> Bool {
        // LE Read Local Supported Features: bit 12 is LE Extended Advertising.
        let features = try await succeed(.leReadLocalSupportedFeatures)
        return features.count > 1 && features[1] & 0x10 != 0
    }

    /// Scans, actively and with every report.
    func startScan() async throws {
        let timing = LEScanTiming(type: .active, interval: 0x60, window: 0x60)
        switch try await scanFamily() {
        case .legacy:
            _ = try await succeed(.leSetScanParameters(LEScanParameters(timing: timing)))
            _ = try await succeed(.leSetScanEnable(true, duplicates: .disabled))
        case .extended:
            _ = try await succeed(.leSetExtendedScanParameters(LEExtendedScanParameters(le1M: timing)))
            _ = try await succeed(.leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: true)))
        }
    }

    /// Stops scanning.
    func stopScan() async throws {
        switch try await scanFamily() {
        case .legacy: _ = try await succeed(.leSetScanEnable(false, duplicates: .disabled))
        case .extended: _ = try await succeed(.leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: false)))
        }
    }

    /// The first report from `address` whose data contains `part`; nil if none comes.
    func report(from address: BluetoothAddress, containing part: [UInt8]) async -> HeardReport? {
        let entries = await events.journal.wait(on: kernel.loop) {
            Self.report(in: $0, from: address, containing: part) != nil
        }
        return Self.report(in: entries ?? [], from: address, containing: part)
    }

    private static func report(
        in entries: [SocketRecorder.Entry], from address: BluetoothAddress, containing part: [UInt8]
    ) -> HeardReport? {
        for case .packet(let packet) in entries {
            guard let event = try? HCIEvent(decoding: packet.span.bytes) else { continue }
            guard case .leMeta(.advertisingReports(var reports)) = event else { continue }
            let layout = reports.layout
            while let report = try? reports.next() {
                let data = report.data.withUnsafeBytes { Array($0) }
                if report.address == address, data.contains(part) {
                    return HeardReport(
                        data: data, isConnectable: report.properties.contains(.connectable), layout: layout)
                }
            }
        }
        return nil
    }
}

/// What a scan heard.
struct HeardReport: Sendable {
    var data: [UInt8]
    var isConnectable: Bool
    var layout: AdvertisingReports.Layout
}
