import CoreBluetooth
import Testing

@Suite struct UUIDTests {
    @Test func widthsAreKeptAndEqual() {
        let short = CBUUID(string: "180d")
        let long = CBUUID(string: "0000180D-0000-1000-8000-00805f9b34fb")
        #expect(short == long)
        #expect(short.hash == long.hash)
        #expect(short.uuidString == "180D")
        #expect(long.uuidString == "0000180D-0000-1000-8000-00805F9B34FB")
        #expect(short.data == Data([0x18, 0x0D]))
        #expect(long.data.count == 16)
        let middle = CBUUID(data: Data([0, 0, 0x18, 0x0D]))
        #expect(middle == short)
        #expect(middle.uuidString == "0000180D")
        #expect(Set([short, middle, long]).count == 1)
        #expect([short: 1][long] == 1)
        #expect(CBUUID(string: "180D") != CBUUID(string: "180F"))
    }

    @Test func fromFoundation() throws {
        let uuid = try #require(UUID(uuidString: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"))
        #expect(CBUUID(nsuuid: uuid) == CBUUID(string: "27adc9ca-35eb-465a-9154-b8ff9076f3e8"))
        #expect(CBUUID(nsuuid: uuid).uuidString == uuid.uuidString)
        #expect(CBUUID(nsuuid: uuid).description == uuid.uuidString)
        #expect(CBUUID(data: CBUUID(nsuuid: uuid).data) == CBUUID(nsuuid: uuid))
        let slice = Data([9, 9, 0x2A, 0x37])[2...]
        #expect(CBUUID(data: slice).uuidString == "2A37")
    }

    @Test func patternsAndCopies() {
        switch CBUUID(string: "2A37") {
        case CBUUID(string: "2A38"): Issue.record("another one")
        case CBUUID(string: "00002A37-0000-1000-8000-00805F9B34FB"): break
        default: Issue.record("not found")
        }
        let uuid = CBUUID(string: "2A37")
        #expect(uuid.copy() as? CBUUID === uuid)
        #expect(CBUUIDClientCharacteristicConfigurationString == "2902")
    }

    /// A placeholder, as in many programs.
    @Test func noneInParticular() {
        #expect(CBUUID() == CBUUID())
        #expect(CBUUID() == CBUUID(data: Data(count: 16)))
        #expect(CBUUID() != CBUUID(string: "0000"))
        #expect(CBUUID().uuidString == "00000000-0000-0000-0000-000000000000")
    }
}

@Suite struct ErrorTests {
    /// A printed error has a description, as on Apple's systems.
    @Test func whatIsPrinted() {
        func prints(_ error: (any Error)?, _ domain: String, _ code: Int, _ sentence: String) throws {
            let error = try #require(error)
            let text =
                "Error Domain=\(domain) Code=\(code) \"\(sentence)\" UserInfo={NSLocalizedDescription=\(sentence)}"
            #expect("\(error)" == text)
            #expect(String(describing: error) == text)
            #expect(String(reflecting: error) == text)
            // Foundation creates an error of its own, and prints that.
            #expect("\(error as NSError)".contains(sentence))
            #expect("\(String(describing: Optional(error)))" == "Optional(\(text))")
            #expect(error.localizedDescription == sentence)
            #expect((error as NSError).localizedDescription == sentence)
        }
        #expect(throws: Never.self) {
            try prints(
                CBError(.connectionTimeout), CBErrorDomain, 6, "The device was lost: the connection has timed out.")
            try prints(CBATTError(.attributeNotFound), CBATTErrorDomain, 10, "The attribute could not be found.")
            let own = "own (null)"
            try prints(CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: own]), CBErrorDomain, 0, own)
        }
        #expect(
            "\(CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: "own", "key": 1]))"
                == "Error Domain=CBErrorDomain Code=0 \"own\" UserInfo={NSLocalizedDescription=own, key=1}")
        #expect((CBError(.unknown) as NSError).isEqual(CBError(.unknown) as NSError))
        #expect(CBError(.unknown) == CBError(.unknown) && CBError(.unknown) != CBError(.notConnected))
    }

    @Test func aCodeIsSeenInEveryWay() throws {
        let error: any Error = CBError(.connectionTimeout)
        #expect((error as? CBError)?.code == .connectionTimeout)
        #expect((error as NSError).domain == "CBErrorDomain")
        #expect((error as NSError).code == 6)
        #expect(error.localizedDescription == "The device was lost: the connection has timed out.")
        #expect((error as NSError).localizedDescription == error.localizedDescription)
        #expect(error as? CBATTError == nil)
        do {
            throw error
        } catch CBError.connectionTimeout {
        } catch {
            Issue.record("not caught by its code")
        }
        switch error {
        case CBError.peripheralDisconnected: Issue.record("another one")
        case CBError.connectionTimeout: break
        default: Issue.record("not found")
        }
        #expect(CBError(.unknownDevice) == CBError(.unkownDevice))
        #expect(CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: "own"]).localizedDescription == "own")
    }

    @Test func codesOfServicesAreValues() throws {
        let code = try #require(CBATTError.Code(rawValue: 0x80))
        let error: any Error = CBATTError(code)
        #expect((error as? CBATTError)?.errorCode == 0x80)
        #expect((error as NSError).domain == CBATTErrorDomain)
        #expect(error.localizedDescription == "The device refused with code 0x80.")
        switch code {
        case .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu,
            .insufficientAuthentication, .requestNotSupported, .invalidOffset, .insufficientAuthorization,
            .prepareQueueFull, .attributeNotFound, .attributeNotLong, .insufficientEncryptionKeySize,
            .invalidAttributeValueLength, .unlikelyError, .insufficientEncryption, .unsupportedGroupType,
            .insufficientResources:
            Issue.record("a code of the protocol")
        @unknown default: break
        }
        #expect(CBATTError.Code.insufficientEncryption.rawValue == 15)
        #expect(CBATTError(.attributeNotFound).localizedDescription == "The attribute could not be found.")
    }
}
