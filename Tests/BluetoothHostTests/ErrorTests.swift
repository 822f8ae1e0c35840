import BluetoothHost
import BluetoothPrimitives
import BluetoothHCI
import Testing

@Suite struct ErrorTests {
    private static let operation = BluetoothError.Operation(
        "read", peer: BluetoothAddress(0xC098_E512_3456, kind: .random), attribute: 0x0012, adapter: "hci0")

    @Test(
        arguments: [
            (nil, nil, "It failed."),
            (.kernel(KernelError("connect", .connectionRefused)), nil, "It failed. [connect: ECONNREFUSED]"),
            (.attribute(.readNotPermitted), nil, "It failed. [ATT Read Not Permitted (0x02)]"),
            (.controller(.connectionTimeout), nil, "It failed. [HCI connection timeout (0x08)]"),
            (.host(.init(10, "mgmt busy (0x0A)")), "Wait.", "It failed. [mgmt busy (0x0A)]\nWait."),
        ] as [(BluetoothError.Cause?, String?, String)])
    func theStatusBeneathIsNamedWithItsLayer(cause: BluetoothError.Cause?, remedy: String?, text: String) {
        let error = BluetoothError(.failed, Self.operation, "It failed.", remedy: remedy, cause: cause)
        #expect(error.description == "read 0x0012 of C0:98:E5:12:34:56 on hci0: \(text)")
        #expect(error.peer == Self.operation.peer)
        #expect(error.attribute == Self.operation.attribute)
    }

    @Test(
        arguments: [
            (.noBluetooth, 69), (.noAdapter, 69), (.adapterOff, 69), (.adapterBlocked, 69), (.busy, 69),
            (.notPermitted, 77), (.notFound, 68), (.connectionFailed, 74), (.disconnected, 74), (.overflow, 74),
            (.timedOut, 75), (.attributeProtocol, 76), (.protocolViolation, 76), (.unsupported, 76),
            (.storageFailed, 74),
            (.linkLimitReached, 74), (.pairingFailed, 76), (.invalidArgument, 64), (.cancelled, 130), (.failed, 1),
            (BluetoothError.Code(rawValue: "new"), 1),
        ] as [(BluetoothError.Code, Int32)])
    func everyErrorHasItsExitStatus(code: BluetoothError.Code, status: Int32) {
        #expect(BluetoothError(code, Self.operation, "").exitStatus == status)
    }

    @Test func pairingThatTheDaemonHasTakenIsAnAdapterThatIsInUse() {
        var error = BluetoothError(.pairingFailed, Self.operation, "")
        error.pairingFailure = .ownedByDaemon
        #expect(error.exitStatus == 69)
    }

    @Test func anErrorOfTheProgramIsKept() {
        struct Empty: Error, Equatable { var isEmpty = true }
        let error = BluetoothError(Empty(), Self.operation)
        #expect(error.code == .failed)
        #expect(error.underlyingError as? Empty == Empty())
        #expect(error.exitStatus == 1)
        #expect(error.description == "\(Self.operation): Empty(isEmpty: true)")
        #expect(error == BluetoothError(Empty(), Self.operation))
        #expect(error != BluetoothError(Empty(isEmpty: false), Self.operation))
        #expect(BluetoothError(CancellationError(), Self.operation) == .cancelled(Self.operation))
        let own = BluetoothError(.notFound, .init("connect"), "There is none.")
        #expect(BluetoothError(own, Self.operation) == own)
        #expect(own.underlyingError == nil)
    }

    @Test(arguments: [
        (29_999, "30 s"), (1999, "2 s"), (2000, "2 s"), (1500, "1.5 s"), (999, "1 s"), (250, "0.25 s"), (12, "0.012 s"),
    ])
    func theRestOfATimeLimitIsTheLimit(_ milliseconds: Int, _ text: String) {
        #expect(Duration.milliseconds(milliseconds).inSeconds == text)
    }

    @Test func aStatusThatTheMessageNamesIsGivenOnce() {
        let error = BluetoothError(
            .attributeProtocol, Self.operation, "The peer refused: Read Not Permitted (0x02).",
            cause: .attribute(.readNotPermitted))
        #expect(
            error.description
                == "read 0x0012 of C0:98:E5:12:34:56 on hci0: The peer refused: Read Not Permitted (0x02).")
    }

    @Test(arguments: [
        (1500, "1.5 s"), (30_000, "30 s"), (250, "0.25 s"), (1001, "1 s"), (1999, "2 s"), (55, "0.055 s"),
    ])
    func timesAreToldWithTheDecimalsTheyNeed(milliseconds: Int, text: String) {
        let error = BluetoothError.timedOut(Self.operation, after: .milliseconds(milliseconds))
        #expect(error.message == "No response within \(text).")
        #expect(error.isRetryable)
    }

    @Test func everyReasonOfAControllerHasAMeaning() {
        let meanings: [DisconnectReason: [UInt8]] = [
            .remote: [0x13], .remoteLowResources: [0x14], .remotePowerOff: [0x15], .localHost: [0x16],
            .supervisionTimeout: [0x08, 0x22], .failedToBeEstablished: [0x3E], .parameters: [0x28, 0x3B],
            .authentication: [0x05, 0x06, 0x0E, 0x18, 0x25, 0x29, 0x2F, 0x3D],
        ]
        for status in UInt8.min ... .max {
            let expected = meanings.first { $0.value.contains(status) }?.key ?? .other
            #expect(DisconnectReason(HCIStatus(rawValue: status)) == expected)
        }
    }

    @Test func aPairingThatFailedTellsHowTheLinkEnded() {
        var end = BluetoothError(
            .disconnected, Self.operation, "The link ended.", cause: .controller(.connectionTimeout))
        end.disconnectReason = .supervisionTimeout
        let error = BluetoothError.pairing(Self.operation, .linkLost, end: end)
        #expect(error.code == .pairingFailed)
        #expect(error.pairingFailure == .linkLost)
        #expect(error.disconnectReason == .supervisionTimeout)
        #expect(error.cause == end.cause)
        #expect(error.isRetryable)
        #expect(!BluetoothError.pairing(Self.operation, .rejected).isRetryable)
    }
}
