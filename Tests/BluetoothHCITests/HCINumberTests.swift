import BluetoothHCI
import Testing

/// The assigned numbers, in their order.
@Suite("Assigned numbers of HCI")
struct HCINumberTests {
    @Test("status codes (Core Vol 1 Part F §1.3)")
    func statuses() {
        let statuses: [HCIStatus] = [
            .success, .unknownHCICommand, .unknownConnectionIdentifier, .hardwareFailure, .pageTimeout,
            .authenticationFailure, .pinOrKeyMissing, .memoryCapacityExceeded, .connectionTimeout,
            .connectionLimitExceeded, .synchronousConnectionLimitExceeded, .connectionAlreadyExists,
            .commandDisallowed, .rejectedLimitedResources, .rejectedSecurityReasons, .rejectedUnacceptableAddress,
            .connectionAcceptTimeout, .unsupportedFeatureOrParameterValue, .invalidHCICommandParameters,
            .remoteUserTerminatedConnection, .remoteDeviceLowResources, .remoteDevicePoweringOff,
            .connectionTerminatedByLocalHost, .repeatedAttempts, .pairingNotAllowed, .unknownLMPPDU,
            .unsupportedRemoteFeature, .scoOffsetRejected, .scoIntervalRejected, .scoAirModeRejected,
            .invalidLinkLayerParameters, .unspecifiedError, .unsupportedLinkLayerParameterValue,
            .roleChangeNotAllowed, .linkLayerResponseTimeout, .linkLayerProcedureCollision, .lmpPDUNotAllowed,
            .encryptionModeNotAcceptable, .linkKeyCannotBeChanged, .requestedQoSNotSupported, .instantPassed,
            .pairingWithUnitKeyNotSupported, .differentTransactionCollision, .qosUnacceptableParameter, .qosRejected,
            .channelAssessmentNotSupported, .insufficientSecurity, .parameterOutOfMandatoryRange, .roleSwitchPending,
            .reservedSlotViolation, .roleSwitchFailed, .extendedInquiryResponseTooLarge,
            .secureSimplePairingNotSupportedByHost, .hostBusyPairing, .rejectedNoSuitableChannel, .controllerBusy,
            .unacceptableConnectionParameters, .advertisingTimeout, .connectionTerminatedMICFailure,
            .connectionFailedToBeEstablished, .coarseClockAdjustmentRejected, .type0SubmapNotDefined,
            .unknownAdvertisingIdentifier, .limitReached, .operationCancelledByHost, .packetTooLong,
        ]
        let assigned = [0x00...0x2A, 0x2C...0x30, 0x32...0x32, 0x34...0x3E, 0x40...0x45].flatMap {
            (range: ClosedRange<UInt8>) in
            Array(range)
        }
        #expect(statuses.map(\.rawValue) == assigned)
        let named = (UInt8.min...UInt8.max).filter {
            !HCIStatus(rawValue: $0).description.hasPrefix("unknown status")
        }
        #expect(named == assigned)
    }

    @Test("features (Core Vol 6 Part B §4.6)")
    func features() {
        let features: [LEFeatures] = [
            .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeaturesExchange,
            .ping, .dataPacketLengthExtension, .linkLayerPrivacy, .le2M, .leCoded, .extendedAdvertising,
            .periodicAdvertising,
        ]
        #expect(features.map(\.rawValue.trailingZeroBitCount) == [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13])
        #expect(
            features.map(\.description) == [
                "encryption", "connection parameters request", "extended reject indication",
                "peripheral-initiated features exchange", "ping", "data packet length extension", "link layer privacy",
                "LE 2M", "LE Coded", "extended advertising", "periodic advertising",
            ])
        #expect(LMPFeatures.brEDRNotSupported.rawValue == 0x20_0000_0000)
        #expect(LMPFeatures.leSupported.rawValue == 0x40_0000_0000)
    }

    @Test("event masks (Core Vol 4 Part E §7.3.1, §7.8.1)")
    func eventMasks() {
        let events: [HCIEventMask] = [
            .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
            .encryptionKeyRefreshComplete, .leMeta,
        ]
        #expect(events.map(\.rawValue.trailingZeroBitCount) == [4, 7, 11, 15, 47, 61])
        #expect(LEEventMask(HCIEventCode(subevent: 64)).rawValue == 1 << 63)
        for subevent in [0, 65] as [UInt8] { #expect(LEEventMask(HCIEventCode(subevent: subevent)) == []) }
    }

    @Test("supported commands (Core Vol 4 Part E §6.27)")
    func commands() {
        let bits: [HCICommandSupport.Bit] = [
            .readRSSI, .leSetScanParameters, .leSetScanEnable, .leCreateConnection, .leSetDataLength, .leReadPHY,
            .leSetPHY, .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
        ]
        let octets = HCICommandSupport(bits).octets
        #expect(octets.indices.filter { octets[$0] != 0 } == [15, 26, 33, 35, 37])
        #expect(octets.filter { $0 != 0 } == [0x20, 0x1C, 0x40, 0x50, 0xE0])
        #expect(bits.map(\.octet) == [15, 26, 26, 26, 33, 35, 35, 37, 37, 37])
    }

    @Test("properties of advertising events and reports (Core Vol 4 Part E §7.8.53, §7.7.65.13)")
    func advertising() {
        let properties: [LEAdvertisingEventProperties] = [
            .connectable, .scannable, .directed, .highDutyCycleDirected, .legacy, .anonymous, .includeTransmitPower,
        ]
        #expect(properties.map(\.rawValue) == [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40])
        #expect(
            properties.map(\.description) == [
                "connectable", "scannable", "directed", "high duty cycle", "legacy", "anonymous", "transmit power",
            ])
    }

    @Test("packets with a key, a passkey or out-of-band data")
    func secrets() {
        let opcodes = (UInt16.min...UInt16.max).map { HCIOpcode(rawValue: $0) }
        #expect(
            opcodes.filter(\.carriesSecret).map(\.rawValue) == [
                0x040B, 0x040D, 0x042E, 0x0430, 0x0435, 0x0436, 0x0445, 0x0C11, 0x2017, 0x2019, 0x201A, 0x2027, 0x2068,
                0x2069, 0x206B,
            ])
        #expect(opcodes.filter(\.returnsSecret).map(\.rawValue) == [0x0C57, 0x0C7D, 0x2017, 0x2018])
        let codes = (UInt8.min...UInt8.max).filter { $0 != 0x3E && HCIEventCode($0).carriesSecret }
        #expect(codes == [0x15, 0x18, 0x33, 0x3B])
        #expect((UInt8.min...UInt8.max).filter { HCIEventCode(subevent: $0).carriesSecret } == [0x09])
    }
}
