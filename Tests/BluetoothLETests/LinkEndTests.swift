import BluetoothHCI
import BluetoothKernelHost
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The end of a link and its reason, and links that are being encrypted.
@Suite struct LinkEndTests {
    @Test(
        arguments: [
            (0x13, DisconnectReason.remote), (0x14, .remoteLowResources), (0x15, .remotePowerOff), (0x16, .localHost),
            (0x08, .supervisionTimeout), (0x22, .supervisionTimeout), (0x3E, .failedToBeEstablished),
            (0x05, .authentication), (0x06, .authentication), (0x3D, .authentication), (0x3B, .parameters),
            (0x28, .parameters), (0x1F, .other), (0xEE, .other),
        ] as [(UInt8, DisconnectReason)])
    func theControllersReasonIsReported(_ status: UInt8, _ reason: DisconnectReason) async throws {
        for isPrivileged in [true, false] {
            try await Fixture.withLink { fixture, _, peripheral, connection in
                fixture.kernel.hasNetRaw = isPrivileged
                let pending = fixture.begin { try await connection.read(AttributeHandle(1)) }
                peripheral.breakLinks(reason: HCIStatus(rawValue: status))
                let end = await connection.disconnected()
                #expect(end.code == .disconnected)
                #expect(end.disconnectReason == reason)
                #expect(end.cause == .controller(HCIStatus(rawValue: status)))
                // All waiting callers get the same error.
                let error = await failure { _ = try await pending.value }
                #expect(error?.disconnectReason == reason)
                #expect(error?.cause == end.cause)
                #expect(await failure { _ = try await connection.rssi() }?.disconnectReason == reason)
            }
        }
    }

    @Test func theReasonIsTheOneOfThisLinkAlthoughItsHandleIsUsedAgain() async throws {
        try await Fixture.withLink { fixture, adapter, peripheral, connection in
            let other = try fixture.makePeripheral()
            let second = try await adapter.connect(to: other.address)
            // Another program's link with the same handles ends for another reason.
            fixture.kernel.emit([0x04, 0x05, 0x04, 0x00, 0xFF, 0x0E, 0x08])
            peripheral.breakLinks(reason: .remoteDevicePoweringOff)
            other.breakLinks(reason: .connectionTimeout)
            #expect(await connection.disconnected().disconnectReason == .remotePowerOff)
            #expect(await second.disconnected().disconnectReason == .supervisionTimeout)
            let third = try await adapter.connect(to: peripheral.address)
            peripheral.disconnect()
            #expect(await third.disconnected().disconnectReason == .remote)
        }
    }

    @Test func aLocalDisconnectionIsReportedAsLocal() async throws {
        try await Fixture.withLink { _, _, _, connection in
            await connection.disconnect()
            let end = await connection.disconnected()
            #expect(end.disconnectReason == .local)
            #expect(end.code == .disconnected)
        }
    }

    @Test(arguments: Ending.allCases) func theEndOfTheAdapterIsTheReason(_ ending: Ending) async throws {
        try await Fixture.withLink { fixture, _, _, connection in
            ending.happen(to: fixture.kernel)
            let end = await connection.disconnected()
            #expect(end.disconnectReason == ending.disconnectReason)
            #expect(end.code == ending.code)
            #expect(!end.isRetryable)
        }
    }

    @Test func withoutAControllerTheSocketsErrorDecides() {
        for (number, reason) in [
            (ErrorNumber.timedOut, DisconnectReason.supervisionTimeout), (.connectionReset, .remote),
            (.accessDenied, .authentication), (.notImplemented, .other), (.connectionAborted, .localHost),
            (.networkDown, .adapterOff), (.noSuchDevice, .adapterRemoved),
        ] as [(ErrorNumber, DisconnectReason)] {
            let error = BluetoothError.disconnected(.zero, KernelError("recv", number))
            #expect(error.disconnectReason == reason)
            #expect(error.cause == .kernel(KernelError("recv", number)))
        }
        let presences: [(AdapterPresence, DisconnectReason)] = [
            (.up, .localHost), (.down, .adapterOff), (.absent, .adapterRemoved),
        ]
        for (presence, reason) in presences {
            let error = BluetoothError.disconnected(
                .zero, KernelError("recv", .connectionAborted), status: .connectionTerminatedByLocalHost,
                isFollowed: true
            ) { presence }
            #expect(error.disconnectReason == reason)
            // The kernel's own disconnection: a controller that is monitored would have reported the peer's.
            for number in [ErrorNumber.connectionReset, .connectionAborted] {
                let untold = BluetoothError.disconnected(
                    .zero, KernelError("recv", number), status: nil, isFollowed: true
                ) { presence }
                #expect(untold.disconnectReason == reason)
                #expect(untold.cause == .kernel(KernelError("recv", number)))
            }
        }
    }

    @Test func waitingCallsEndWithTheLink() async throws {
        try await Fixture.withLink { fixture, _, peripheral, connection in
            let changes = try await connection.linkChanges()
            peripheral.setSending(false)
            peripheral.setReceiving(false)
            let parameters = fixture.begin { try await connection.requestParameters(.lowPower, timeout: nil) }
            let phys = fixture.begin { try await connection.setPHYs(transmit: .le2M, receive: nil, timeout: nil) }
            try await fixture.radio.sleep(for: .seconds(1))
            peripheral.breakLinks(reason: .connectionTimeout)
            for error in [await failure { _ = try await parameters.value }, await failure { _ = try await phys.value }]
            {
                #expect(error?.code == .disconnected)
                #expect(error?.disconnectReason == .supervisionTimeout)
            }
            let end = await failure { for try await _ in changes {} }
            #expect(end?.disconnectReason == .supervisionTimeout)
        }
    }

    // MARK: Encryption

    @Test func packetsWaitWhileTheLinkIsEncrypted() async throws {
        try await withConnection(Exchange("0a0300", "0b07"), Exchange("52030001")) { connection, socket in
            socket.setEncrypting(true)
            async let value = connection.read(AttributeHandle(3))
            async let command: Void = connection.writeCommand([1], to: AttributeHandle(3))
            await connection.settle { await connection.isWaitingForRoom }
            socket.setEncrypting(false)
            #expect(try await value == [7])
            try await command
        }
    }

    @Test func aLinkThatIsNotEncryptedIn30SecondsEnds() async throws {
        try await withConnection { connection, socket in
            socket.setEncrypting(true)
            let start = connection.loop.now
            let error = await failure { _ = try await connection.read(AttributeHandle(3)) }
            #expect(error?.code == .disconnected)
            #expect(error?.disconnectReason == .authentication)
            #expect(start.duration(to: connection.loop.now) == .seconds(30))
            #expect(socket.isClosed)
        }
    }

    @Test func theEndOfALinkDuringEncryptionIsReported() async throws {
        try await withConnection { connection, socket in
            socket.setEncrypting(true)
            let reading = Task(executorPreference: connection.loop) { try await connection.read(AttributeHandle(3)) }
            await connection.settle { await connection.isWaitingForRoom }
            socket.end(KernelError("recv", .accessDenied))
            let error = await failure { _ = try await reading.value }
            #expect(error?.disconnectReason == .authentication)
        }
    }

    @Test func aLinkThatIsEncryptedFromTheBeginningIsFollowed() async throws {
        try await Fixture.withPeripheral { _, adapter, peripheral in
            var options = ConnectionOptions()
            options.security.level = .medium
            let connection = try await adapter.connect(to: peripheral.address, options: options)
            #expect(try await connection.rssi() == -50)
            peripheral.breakLinks(reason: .remoteDevicePoweringOff)
            #expect(await connection.disconnected().disconnectReason == .remotePowerOff)
        }
    }
}

extension Connection {
    /// Whether a packet waits for room in the socket.
    fileprivate var isWaitingForRoom: Bool {
        get async { await core { (try? $0.bearer(for: .init("look")))?.core.isCongested ?? false } }
    }
}
