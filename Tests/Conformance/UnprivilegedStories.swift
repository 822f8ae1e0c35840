import BluetoothPrimitives
import BluetoothHCI
import Testing

/// The kernel's behaviour towards a process without CAP_NET_ADMIN and CAP_NET_RAW.
@Suite(.serialized, .enabled(if: Fixture.canBeUnprivileged), .timeLimit(.minutes(3)))
struct ConformanceUnprivileged {
    @Test func theEnvironmentSaysSo() async throws {
        try await Fixture.run(privileged: false) { fixture in
            let environment = fixture.kernel.environment()
            #expect(environment.socketError == nil)
            #expect(!environment.hasNetRaw)
            #expect(!environment.hasNetAdmin)
        }
    }

    @Test func managementAnswersQuestionsAndDeniesChanges() async throws {
        try await Fixture.run(privileged: false) { fixture in
            _ = try await fixture.management.succeed(.readIndexList)
            _ = try await fixture.management.succeed(.readInformation, on: fixture.central)
            let answer = try await fixture.management.command(
                ManagementCommand.setLE.rawValue, fixture.central.index, [1])
            #expect(answer.status == 0x14)
        }
    }

    @Test func rawSocketsTakeQuestionsOnly() async throws {
        try await Fixture.run(privileged: false) { fixture in
            let user = try await fixture.openHCI(fixture.central)
            _ = try await user.succeed(HCIReadBDADDR())
            _ = try await user.succeed(HCIReadLocalSupportedCommands())
            let scan = try LESetScanEnable(true, duplicates: .disabled).packet()
            let outcome = await fixture.kernel.onLoop { user.socket.send(scan) }
            #expect(outcome == .failed(KernelError("send", .notPermitted)))
            _ = try await user.succeed(HCIReadBDADDR())
        }
    }

    @Test func theMonitorIsClosed() async throws {
        try await Fixture.run(privileged: false) { fixture in
            await #expect(throws: KernelError("bind", .notPermitted)) {
                _ = try await MonitorUser(fixture.kernel)
            }
        }
    }

    @Test func connectingAndListeningAreAllowed() async throws {
        try await Fixture.run(privileged: false) { fixture in
            _ = try await fixture.listen(on: fixture.peripheral.address)
            _ = try await fixture.listen(on: fixture.peripheral.address, channel: .dynamic(psm: 0x0080))
            let nobody = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)
            let end = try await fixture.connect(
                from: fixture.central.address, to: nobody,
                options: L2CAPOptions(receiveBuffer: 1 << 20, connectTimeout: .seconds(1)))
            #expect(await end.end()?.call == "connect")
        }
    }

    @Test func wellKnownServicesCannotBeOffered() async throws {
        try await Fixture.run(privileged: false) { fixture in
            await #expect(throws: KernelError("bind", .accessDenied)) {
                _ = try await fixture.listen(on: fixture.peripheral.address, channel: .dynamic(psm: 0x0025))
            }
        }
    }
}
