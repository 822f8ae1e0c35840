import BluetoothKernel
import BluetoothPrimitives
import HCI
import TestSupport
import Testing

/// What is left to a process without CAP_NET_ADMIN and CAP_NET_RAW.
@Suite(.serialized, .enabled(if: Rig.canBeUnprivileged), .timeLimit(.minutes(3)))
struct ConformanceUnprivileged {
    @Test func theEnvironmentSaysSo() async throws {
        try await Rig.run(privileged: false) { rig in
            let environment = rig.kernel.environment()
            #expect(environment.socketError == nil)
            #expect(!environment.hasNetRaw)
            #expect(!environment.hasNetAdmin)
        }
    }

    @Test func managementAnswersQuestionsAndDeniesChanges() async throws {
        try await Rig.run(privileged: false) { rig in
            _ = try await rig.management.succeed(.readIndexList)
            _ = try await rig.management.succeed(.readInformation, on: rig.central)
            let answer = try await rig.management.command(
                ManagementCommand.setLE.rawValue, rig.central.index, [1])
            #expect(answer.status == 0x14)
        }
    }

    @Test func rawSocketsTakeQuestionsOnly() async throws {
        try await Rig.run(privileged: false) { rig in
            let user = try await rig.openHCI(rig.central)
            _ = try await user.succeed(.readBDADDR)
            _ = try await user.succeed(.readLocalSupportedCommands)
            let scan = try HCICommand.leSetScanEnable(true, duplicates: .disabled).packet()
            let outcome = await rig.kernel.onLoop { user.socket.send(scan) }
            #expect(outcome == .failed(KernelError("send", .notPermitted)))
            _ = try await user.succeed(.readBDADDR)
        }
    }

    @Test func theMonitorIsClosed() async throws {
        try await Rig.run(privileged: false) { rig in
            await #expect(throws: KernelError("bind", .notPermitted)) {
                _ = try await MonitorUser(rig.kernel)
            }
        }
    }

    @Test func connectingAndListeningAreAllowed() async throws {
        try await Rig.run(privileged: false) { rig in
            _ = try await rig.listen(on: rig.peripheral.address)
            _ = try await rig.listen(on: rig.peripheral.address, channel: .dynamic(psm: 0x0080))
            let nobody = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)
            let end = try await rig.connect(
                from: rig.central.address, to: nobody,
                options: L2CAPOptions(receiveBuffer: 1 << 20, connectTimeout: .seconds(1)))
            let error = await end.end()
            #expect(error?.call == "connect")
        }
    }

    @Test func wellKnownServicesCannotBeOffered() async throws {
        try await Rig.run(privileged: false) { rig in
            await #expect(throws: KernelError("bind", .accessDenied)) {
                _ = try await rig.listen(on: rig.peripheral.address, channel: .dynamic(psm: 0x0025))
            }
        }
    }
}
