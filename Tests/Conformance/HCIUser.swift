import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

/// A program with a raw HCI socket.
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

    /// Closes the socket; must be called on the loop.
    func close() {
        socket.close()
        events.detach()
    }

    /// The return parameters of a command, status first.
    func command(_ command: some HCICommand) async throws -> [UInt8] { try await self.command(AnyHCICommand(command)) }

    /// The return parameters of a command, status first.
    func command(_ command: AnyHCICommand) async throws -> [UInt8] {
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
            guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { continue }
            if let complete = try? event.commandComplete(), complete.opcode == opcode {
                return complete.returnParameters.withUnsafeBytes { Array($0) }
            }
            if let status = try? event.as(HCICommandStatus.self), status.opcode == opcode {
                return [status.status.rawValue]
            }
        }
        return nil
    }

    /// The return parameters of a command after the status; throws if it fails.
    func succeed(_ command: some HCICommand) async throws -> [UInt8] { try await succeed(AnyHCICommand(command)) }

    /// The return parameters of a command after the status; throws if it fails.
    func succeed(_ command: AnyHCICommand) async throws -> [UInt8] {
        let answer = try await self.command(command)
        try #require(answer.first == 0, "\(command.opcode) ended with status \(answer.first ?? 0xFF)")
        return Array(answer.dropFirst())
    }

    /// The commands that the controller reports as supported.
    private func support() async throws -> HCICommandSupport {
        var support = HCICommandSupport()
        for (octet, bits) in try await succeed(HCIReadLocalSupportedCommands()).enumerated() {
            for bit in 0..<8 where bits >> bit & 1 == 1 { support.insert(.init(octet: octet, bit: bit)) }
        }
        return support
    }

    /// Whether the controller reports a command as supported.
    func has(_ command: HCICommandSupport.Bit) async throws -> Bool {
        try await support().contains(command)
    }

    /// The family of commands with which the kernel scans on this controller.
    func scanFamily() async throws -> HCICommandFamily {
        try await support().scanFamily
    }

    /// Whether the controller has advertising sets, in which case the kernel uses them.
    func hasAdvertisingSets() async throws -> Bool {
        // LE Read Local Supported Features: bit 12 is LE Extended Advertising.
        let features = try await succeed(LEReadLocalSupportedFeatures())
        return features.count > 1 && features[1] & 0x10 != 0
    }

    /// The command that sets the parameters of a scan, in the kernel's family.
    func scanParameters(_ type: LEScanType) async throws -> AnyHCICommand {
        let timing = LEScanTiming(type: type, interval: 0x60, window: 0x60)
        return try await scanFamily() == .legacy
            ? AnyHCICommand(LESetScanParameters(timing: timing))
            : AnyHCICommand(LESetExtendedScanParameters(le1M: timing))
    }

    /// The command that enables or disables a scan, in the kernel's family.
    func scanEnable(_ isOn: Bool, duplicates: LEDuplicateFilter = .disabled) async throws -> AnyHCICommand {
        try await scanFamily() == .legacy
            ? AnyHCICommand(LESetScanEnable(isOn, duplicates: duplicates))
            : AnyHCICommand(LESetExtendedScanEnable(isEnabled: isOn, duplicates: duplicates))
    }

    /// Scans, by default actively and without duplicate filtering.
    func startScan(_ type: LEScanType = .active, duplicates: LEDuplicateFilter = .disabled) async throws {
        _ = try await succeed(try await scanParameters(type))
        _ = try await succeed(try await scanEnable(true, duplicates: duplicates))
    }

    /// Stops scanning.
    func stopScan() async throws {
        _ = try await succeed(try await scanEnable(false))
    }

    /// Whether any program's scan is on: parameters are refused then.
    func isAnybodyScanning() async throws -> Bool {
        let status = HCIStatus(rawValue: try await command(try await scanParameters(.passive)).first ?? 0xFF)
        try #require(status == .success || status == .commandDisallowed)
        return status == .commandDisallowed
    }

    /// The number of reports from `address` whose data contains `part`.
    func reportCount(from address: BluetoothAddress, containing part: [UInt8]) -> Int {
        Self.reportCount(in: events.journal.entries, from: address, containing: part)
    }

    private static func reportCount(
        in entries: [SocketRecorder.Entry], from address: BluetoothAddress, containing part: [UInt8]
    ) -> Int {
        entries.count { report(in: [$0], from: address, containing: part) != nil }
    }

    /// Whether `count` such reports arrive within `limit`.
    func hears(
        _ count: Int, from address: BluetoothAddress, containing part: [UInt8], limit: Duration = .seconds(30)
    ) async -> Bool {
        await events.journal.wait(on: kernel.loop, limit: limit) { entries in
            Self.reportCount(in: entries, from: address, containing: part) >= count
        } != nil
    }

    /// The last address of an advertiser whose data contains `part`; nil if none is received.
    func advertiser(of part: [UInt8]) async -> BluetoothAddress? {
        let entries = await events.journal.wait(on: kernel.loop) { !Self.advertisers(in: $0, of: part).isEmpty }
        return Self.advertisers(in: entries ?? [], of: part).last
    }

    private static func advertisers(in entries: [SocketRecorder.Entry], of part: [UInt8]) -> [BluetoothAddress] {
        var found: [BluetoothAddress] = []
        for case .packet(let packet) in entries {
            guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { continue }
            guard var reports = try? event.advertisingReports() else { continue }
            while let report = try? reports.next() {
                let data = report.data.withUnsafeBytes { Array($0) }
                if data.contains(part), let address = report.address { found.append(address) }
            }
        }
        return found
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
            guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { continue }
            guard var reports = try? event.advertisingReports() else { continue }
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

/// A received advertising report.
struct HeardReport: Sendable {
    var data: [UInt8]
    var isConnectable: Bool
    var layout: AdvertisingReports.Layout
}
