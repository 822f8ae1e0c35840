import BluetoothATT
import TestSupport
import Testing

@Suite("Handles and ranges")
struct HandleTests {
    @Test("Handles order, increment and print by value")
    func handles() {
        let handle: AttributeHandle = 0x002A
        #expect(handle.description == "0x002A")
        #expect(handle.next == 0x002B)
        #expect(handle.previous == 0x0029)
        #expect(AttributeHandle.last.next == nil)
        #expect(AttributeHandle.first.previous == nil)
        #expect(AttributeHandle.none.previous == nil)
        #expect(AttributeHandle(2).previous == .first)
        #expect(AttributeHandle.none.next == .first)
        #expect(!AttributeHandle.none.isValid)
        #expect(AttributeHandle.first.isValid)
        #expect(AttributeHandle(2) < 3)
        #expect(AttributeHandle(rawValue: 0x1234).rawValue == 0x1234)
    }

    @Test(
        "A range counts and contains, and is valid only in order and without 0x0000",
        arguments: [
            (0x0001, 0xFFFF, true, 65535), (0x0003, 0x0003, true, 1), (0x0000, 0x0003, false, 4),
            (0x0004, 0x0003, false, 0), (0xFFFF, 0x0000, false, 0), (0x0000, 0xFFFF, false, 65536),
        ] as [(UInt16, UInt16, Bool, Int)])
    func ranges(_ start: UInt16, _ end: UInt16, _ isValid: Bool, _ count: Int) {
        let range = AttributeHandleRange(start: AttributeHandle(start), end: AttributeHandle(end))
        #expect(range.isValid == isValid)
        #expect(range.count == count)
        #expect(range.contains(3) == (start <= 3 && 3 <= end))
        #expect((range.closedRange == nil) == (start > end))
        #expect(range.closedRange.map { AttributeHandleRange($0) } ?? range == range)
    }

    @Test("The range of all handles prints both ends")
    func all() {
        #expect(AttributeHandleRange.all.description == "0x0001-0xFFFF")
    }
}

@Suite("Opcodes and errors")
struct OpcodeTests {
    @Test(
        "Each opcode has its type, direction and answer (Core Vol 3 Part F §3.4.8)",
        arguments: [
            (0x01, .response, nil), (0x02, .request, 0x03), (0x03, .response, nil), (0x04, .request, 0x05),
            (0x05, .response, nil), (0x06, .request, 0x07), (0x07, .response, nil), (0x08, .request, 0x09),
            (0x09, .response, nil), (0x0A, .request, 0x0B), (0x0B, .response, nil), (0x0C, .request, 0x0D),
            (0x0D, .response, nil), (0x0E, .request, 0x0F), (0x0F, .response, nil), (0x10, .request, 0x11),
            (0x11, .response, nil), (0x12, .request, 0x13), (0x13, .response, nil), (0x16, .request, 0x17),
            (0x17, .response, nil), (0x18, .request, 0x19), (0x19, .response, nil), (0x1B, .notification, nil),
            (0x1D, .indication, 0x1E), (0x1E, .confirmation, nil), (0x20, .request, 0x21), (0x21, .response, nil),
            (0x23, .notification, nil), (0x52, .command, nil), (0xD2, .command, nil),
            // not assigned, without and with the command flag
            (0x24, .request, nil), (0x14, .request, nil), (0x40, .command, nil), (0xFF, .command, nil),
        ] as [(UInt8, ATTPDUType, UInt8?)])
    func types(_ rawValue: UInt8, _ type: ATTPDUType, _ answer: UInt8?) {
        let opcode = ATTOpcode(rawValue)
        #expect(opcode.type == type)
        #expect(opcode.answer?.rawValue == answer)
        let fromClient = type == .request || type == .command || type == .confirmation
        #expect(opcode.isSentByClient == fromClient)
        #expect(opcode.isCommand == (type == .command))
    }

    @Test("An opcode without a meaning has no name")
    func unknown() {
        #expect(ATTOpcode(rawValue: 0x0A) == .readRequest)
        #expect(ATTOpcode(0x3F).description == "Unknown Opcode 0x3F")
        #expect(ATTOpcode(0x3F).name == nil)
    }

    @Test("Every error code of the specification has its name (Core Vol 3 Part F §3.4.1.1)")
    func errorCodes() {
        let assigned = (UInt8.min...UInt8.max).filter { ATTErrorCode($0).name != nil }
        #expect(assigned == Array(0x01...0x13) + Array(0xFC...0xFF))
        #expect(Set(assigned.map { ATTErrorCode($0).description }).count == assigned.count)
        let codes: [ATTErrorCode] = [
            .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPDU, .insufficientAuthentication,
            .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
            .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
            .insufficientEncryption, .unsupportedGroupType, .insufficientResources, .databaseOutOfSync,
            .valueNotAllowed, .writeRequestRejected,
            .clientCharacteristicConfigurationDescriptorImproperlyConfigured, .procedureAlreadyInProgress,
            .outOfRange,
        ]
        #expect(codes.map(\.rawValue) == assigned)
        #expect(ATTErrorCode.attributeNotFound.description == "Attribute Not Found (0x0A)")
        #expect(ATTErrorCode(0x80).description == "Application Error (0x80)")
        #expect(ATTErrorCode(0xE0).description == "Reserved Error (0xE0)")
        #expect(ATTErrorCode(0x00).description == "Reserved Error (0x00)")
        #expect(ATTErrorCode(0x9F).isApplicationError && !ATTErrorCode(0xA0).isApplicationError)
        #expect(ATTErrorCode(0xE0).isCommonProfileOrServiceError && !ATTErrorCode(0xDF).isCommonProfileOrServiceError)
    }

    @Test("An error prints the request, the attribute and the reason")
    func errors() {
        #expect(
            ATTError(requestOpcode: .readRequest, handle: 3, code: .readNotPermitted).description
                == "Read Request failed at 0x0003: Read Not Permitted (0x02)")
        #expect(
            ATTError(requestOpcode: .exchangeMTURequest, code: .requestNotSupported).description
                == "Exchange MTU Request failed: Request Not Supported (0x06)")
    }
}

@Suite("Constants")
struct ConstantTests {
    @Test("Nothing is outstanding by default")
    func outstanding() {
        let none = OutstandingTransactions()
        #expect(none.isEmpty && none.request == nil && !none.isConfirmationDue && !none.isCancellationDue)
        #expect(!none.isPeerWaiting && !none.hasTimedOut)
    }

    /// An Error Response that names no request answers it, as on the bearer.
    @Test(
        "An answer ends the request",
        arguments: [
            ("0B01", true), ("01 0A 0300 05", true), ("01", true), ("01 0C 0300 05", false), ("13", false),
            ("1E", false),
        ])
    func answers(pdu: String, isAnswer: Bool) {
        var outstanding = OutstandingTransactions(request: .readRequest, isConfirmationDue: true)
        outstanding.receive(hex(pdu).span.bytes)
        #expect((outstanding.request == nil) == isAnswer)
        #expect(outstanding.isConfirmationDue == (pdu != "1E"))
        #expect(outstanding.isAnswerDue)
    }

    @Test("The constants are the specification's")
    func numbers() {
        #expect(AttributeProtocol.defaultMTU == 23)
        #expect(AttributeProtocol.maximumAttributeValueLength == 512)
        #expect(AttributeProtocol.transactionTimeout == .seconds(30))
        #expect(AttributeProtocol.enhancedProtocolServiceMultiplexer == 0x0027)
    }

    @Test(
        "The ATT_MTU is the smaller offer and at least 23 (Core Vol 3 Part F §3.4.2.2)",
        arguments: [(517, 247, 247), (247, 517, 247), (23, 517, 23), (0, 517, 23), (22, 22, 23), (65535, 65535, 65535)]
            as [(UInt16, UInt16, Int)])
    func mtu(client: UInt16, server: UInt16, expected: Int) {
        #expect(AttributeProtocol.mtu(clientReceiveMTU: client, serverReceiveMTU: server) == expected)
    }

    @Test("The space for a value follows from the header of its PDU")
    func limits() {
        let least = ATTValueLimits(mtu: 23)
        #expect(least.notification == 20)
        #expect(least.write == 20)
        #expect(least.prepareWrite == 18)
        #expect(least.read == 22)
        #expect(least.readMultiple == 22)
        #expect(least.findByTypeValue == 16)
        #expect(least.readByType == 19)
        #expect(least.readByGroupType == 17)

        let most = ATTValueLimits(mtu: 65535)
        #expect(most.notification == 512)
        #expect(most.write == 512)
        #expect(most.prepareWrite == 512)
        #expect(most.read == 65534)
        #expect(most.findByTypeValue == 512)
        #expect(most.readByType == 253)
        #expect(most.readByGroupType == 251)
    }

    @Test("No ATT_MTU makes a length negative", arguments: [Int.min, -1, 0, 1, 3])
    func noSpace(mtu: Int) {
        let limits = ATTValueLimits(mtu: mtu)
        #expect(limits.notification == 0)
        #expect(limits.write == 0)
        #expect(limits.prepareWrite == 0)
        #expect(limits.findByTypeValue == 0)
        #expect(limits.readByType == 0)
        #expect(limits.readByGroupType == 0)
    }
}
