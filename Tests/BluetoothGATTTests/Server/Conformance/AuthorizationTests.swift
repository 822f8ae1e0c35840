import BluetoothATT
import TestSupport
import Testing

import BluetoothGATT

/// The program decides every access that requires authorization (Core Vol 3 Part F §3.2.5, §4).
@Suite struct AuthorizationTests {
    typealias Protection = ProtectionTests.Protection

    private static func makeFixture(
        _ protection: Protection = .authorized, mtu: Int = 23, security: BearerSecurity = .authenticated,
        value: AttributeValue = .stored([2])
    ) throws -> ServerFixture {
        let link = ProtectionTests.Link(name: "", security: security, codes: [])
        var fixture = try ProtectionTests.makeFixture(protection, on: link, mtu: mtu, type: 0xAAAA, value: value)
        fixture.server.asksForAuthorization = true
        return fixture
    }

    /// The paths to the value with two possible responses.
    static let paths = ProtectionTests.paths.filter { !$0.requests[0].hasPrefix("52") }

    @Test(
        "granted, denied and granted permanently equal authorized and unauthorized links",
        arguments: Rule.mtus)
    func paths(mtu: Int) throws {
        for path in Self.paths {
            let request = path.requests[0].replacing("T", with: "AAAA")
            var fixture = try Self.makeFixture(mtu: mtu)
            let unasked = fixture.send(request)
            guard fixture.server.isWaitingForProgram else {
                #expect(unasked == hex(path.granted).hexadecimal, "\(path.section)")
                continue
            }
            #expect(unasked == "", "\(path.section)")
            #expect(try fixture.authorize() == hex(path.granted).hexadecimal, "\(path.section)")
            // A second request asks again, except one that continues a prepared write.
            if !request.hasPrefix("16") {
                #expect(fixture.send(request) == "", "\(path.section)")
                let refused =
                    switch path.refused {
                    case .error: "01\(request.prefix(2))FEFF08"
                    case .answer(let answer): hex(answer).hexadecimal
                    }
                #expect(try fixture.refuseAuthorization() == refused, "\(path.section)")
            }
            fixture.server.client.authorize(AttributeHandleRange(start: 1, end: 0xFFFF))
            let isWrite = request.hasPrefix("12")
            #expect(fixture.send(request) == hex(path.granted).hexadecimal || isWrite, "\(path.section)")
            #expect(!fixture.server.isWaitingForProgram)
        }
    }

    @Test("C §10.5: the program is asked on no path before the link has the required security")
    func order() throws {
        for path in ProtectionTests.paths {
            var fixture = try Self.makeFixture(.authorizedAndAuthenticated, security: .encrypted)
            _ = fixture.send(path.requests[0].replacing("T", with: "AAAA"))
            #expect(fixture.events.isEmpty && !fixture.server.isWaitingForProgram, "\(path.section)")
        }
        var fixture = try Self.makeFixture(.authorizedAndAuthenticated, security: .encrypted)
        #expect(fixture.send("0A FEFF") == "010AFEFF05")
        // Nor does an authorization replace the security.
        fixture.server.client.authorize(.all)
        #expect(fixture.send("0A FEFF") == "010AFEFF05")
        fixture.server.client.endAuthorization(in: .all)
        fixture.server.security = .authenticated
        #expect(fixture.send("0A FEFF") == "")
        #expect(try fixture.refuseAuthorization() == "010AFEFF08")
    }

    @Test("security lost while the program decides refuses the request in spite of the authorization")
    func lostSecurity() throws {
        var fixture = try Self.makeFixture(.authorizedAndAuthenticated)
        #expect(fixture.send("0A FEFF") == "")
        fixture.server.security = .none
        #expect(try fixture.authorize() == "010AFEFF05")
        fixture.server.security = .none
        #expect(
            fixture.authorize(AttributeWrite(0xFFFE, value: [5])) == [])
    }

    @Test("the bond of a client is asked about when it is not known, on every path")
    func bond() throws {
        for path in Self.paths {
            let request = path.requests[0].replacing("T", with: "AAAA")
            var fixture = try Self.makeFixture(.bonded)
            guard fixture.send(request).isEmpty, fixture.server.isWaitingForProgram else { continue }
            #expect(try fixture.authorize() == hex(path.granted).hexadecimal, "\(path.section)")
            // The program's lasting authorization is no bond.
            fixture.server.client.authorize(.all)
            if !request.hasPrefix("16") { #expect(fixture.send(request) == "", "\(path.section)") }
        }
        var fixture = try Self.makeFixture(.bonded)
        #expect(fixture.send("52 FEFF 05") == "")
        #expect(fixture.events == [.commandAuthorizationRequested(AttributeWrite(0xFFFE, value: [5]))])
        #expect(fixture.send("0A FEFF") == "")
        #expect(try fixture.refuseAuthorization() == "010AFEFF08")
    }

    @Test("the program is not asked for accesses without permission")
    func permission() throws {
        var fixture = try ServerFixture([
            GATTService(
                0xFFF0,
                characteristics: [
                    GATTCharacteristic(0xFFF1, properties: .write, permissions: [.write, .readAuthorized])
                ])
        ])
        fixture.server.asksForAuthorization = true
        #expect(fixture.send("0A 0300") == "010A030002")
        #expect(fixture.events.isEmpty)
    }

    @Test("a dynamic value is requested once its reader is authorized")
    func dynamic() throws {
        var fixture = try Self.makeFixture(value: .dynamic)
        #expect(fixture.send("0A FEFF") == "")
        #expect(try fixture.authorize() == "")
        #expect(try fixture.answer("09") == "0B09")
        #expect(fixture.send("12 FEFF 08") == "")
        #expect(try fixture.authorize() == "")
        #expect(try fixture.requestedWrites() == [AttributeWrite(0xFFFE, value: [8])])
        #expect(try fixture.accept() == "13")
    }

    @Test("a prepared write is authorized once, with its first part")
    func preparedWrites() throws {
        var fixture = try Self.makeFixture()
        #expect(fixture.send("16 FEFF 0000 05") == "")
        #expect(try fixture.authorize() == "17FEFF000005")
        #expect(fixture.send("16 FEFF 0100 06") == "17FEFF010006")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == [5, 6])
        #expect(fixture.send("16 FEFF 0000 07") == "")
        #expect(try fixture.refuseAuthorization() == "0116FEFF08")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == [5, 6])
    }

    @Test("an authorization revoked after the preparation is requested again at the execution")
    func takenBack() throws {
        for isGranted in [true, false] {
            var fixture = try Self.makeFixture()
            fixture.server.client.authorize(.all)
            #expect(fixture.send("16 FEFF 0000 05") == "17FEFF000005")
            fixture.server.client.endAuthorization(in: .all)
            #expect(fixture.send("18 01") == "")
            #expect(
                try (isGranted ? fixture.authorize() : fixture.refuseAuthorization())
                    == (isGranted ? "19" : "0118FEFF08"))
            #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == (isGranted ? [5] : [2]))
        }
    }

    @Test("a command that requires authorization has no response and delays nothing")
    func command() throws {
        var fixture = try Self.makeFixture()
        #expect(fixture.send("52 FEFF 05") == "")
        #expect(fixture.events == [.commandAuthorizationRequested(AttributeWrite(0xFFFE, value: [5]))])
        #expect(!fixture.server.isWaitingForProgram)
        #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == [2])
        #expect(
            fixture.authorize(AttributeWrite(0xFFFE, value: [5]))
                == [.storedValueChanged(0xFFFE)])
        #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == [5])
        // The answer grants nothing else.
        #expect(
            fixture.authorize(AttributeWrite(0xFFFE, value: [5, 6, 7, 8])) == [])
        #expect(fixture.authorize(AttributeWrite(0x0003, value: [9])) == [])
        fixture.server.client.authorize(.all)
        #expect(fixture.send("52 FEFF 06") == "")
        #expect(fixture.events == [.storedValueChanged(0xFFFE)])
    }

    @Test("a repeated answer, or one for another request, has no effect")
    func stale() throws {
        var fixture = try Self.makeFixture()
        _ = fixture.send("0A FEFF")
        let first = fixture.events
        #expect(try fixture.authorize() == "0B02")
        fixture.events = first
        #expect(try fixture.authorize() == "")
        _ = fixture.send("0A FEFF")
        fixture.events = first
        #expect(try fixture.refuseAuthorization() == "")
        #expect(fixture.server.isWaitingForProgram)
    }

    @Test("a request is refused as a whole")
    func givenUp() throws {
        var fixture = try Self.makeFixture(value: .dynamic)
        #expect(fixture.send("08 0100 FFFF AAAA") == "")
        fixture.refusePending(.insufficientAuthorization)
        #expect(fixture.written.hexadecimal == "0108FEFF08")
        #expect(!fixture.server.isWaitingForProgram)
        fixture.refusePending(.unlikelyError)
        #expect(fixture.written.isEmpty)
        fixture.server.client.authorize(.all)
        #expect(fixture.send("16 FEFF 0000 05").hasPrefix("17"))
        #expect(fixture.send("18 01") == "")
        fixture.refusePending(.unlikelyError)
        #expect(fixture.written.hexadecimal == "0118FEFF0E")
        #expect(fixture.send("18 01") == "19")
    }

    @Test("values are sent to a permanently authorized client until the authorization is revoked")
    func sending() throws {
        var fixture = try Self.makeFixture()
        #expect(fixture.send("12 FFFF 0100") == "13")
        func notify() throws -> String { try fixture.encodeNotification(of: 0xFFFE, [1]).hexadecimal }
        #expect(throws: GATTServerError.insufficientSecurity(0xFFFE, .insufficientAuthorization)) { try notify() }
        fixture.server.client.authorize(AttributeHandleRange(start: 0xFFFE, end: 0xFFFE))
        #expect(try notify() == "1BFEFF01")
        fixture.server.client.endAuthorization(in: AttributeHandleRange(start: 0xFFFE, end: 0xFFFE))
        #expect(throws: GATTServerError.insufficientSecurity(0xFFFE, .insufficientAuthorization)) { try notify() }
    }
}

extension ServerFixture {
    /// Authorizes the pending access once.
    fileprivate mutating func authorize() throws -> String { try answerAuthorization(.success([])) }

    fileprivate mutating func refuseAuthorization() throws -> String {
        try answerAuthorization(.failure(.insufficientAuthorization))
    }

    private mutating func answerAuthorization(_ result: Result<[UInt8], ATTErrorCode>) throws -> String {
        guard case .authorizationRequested = try #require(events.first) else { throw TestFailure.unexpectedEvent }
        return answer(events.first, result)
    }

    /// Authorizes a command; returns the events.
    fileprivate mutating func authorize(_ command: AttributeWrite) -> [GATTServerEvent] {
        _ = answer(.commandAuthorizationRequested(command), .success([]))
        return events
    }

    fileprivate mutating func refusePending(_ code: ATTErrorCode) { _ = answer(nil, .failure(code)) }
}
