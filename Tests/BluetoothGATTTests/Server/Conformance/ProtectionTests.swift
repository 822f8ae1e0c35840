import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// The security of a value is checked on every path to it, in the specified order
/// (Core Vol 3 Part F §3.2.5, §4; Part C §10.3).
/// ```
/// 0001 service AAA0   0002 0003 open value 01
///                     FFFD FFFE protected value 02 of the same type, FFFF CCCD
/// ```
@Suite struct ProtectionTests {
    /// The security that a value requires.
    enum Protection: CaseIterable {
        case encrypted, authenticated, authorized, authorizedAndAuthenticated, bonded

        var permissions: AttributePermissions {
            switch self {
            case .encrypted: [.readEncrypted, .writeEncrypted]
            case .authenticated: [.readAuthenticated, .writeAuthenticated]
            case .authorized: [.readAuthorized, .writeAuthorized]
            case .authorizedAndAuthenticated:
                [.readAuthorized, .writeAuthorized, .readAuthenticated, .writeAuthenticated]
            case .bonded: [.readBonded, .writeBonded]
            }
        }
    }

    /// A link with its error codes for each kind of protection; 0 for none.
    struct Link: Sendable, CustomTestStringConvertible {
        var name: String
        var security: BearerSecurity
        var isAuthorized = false
        var minimumKeySize = 7
        var codes: [UInt8]
        var testDescription: String { name }
    }

    static let links = [
        Link(name: "just made", security: .none, codes: [0x05, 0x05, 0x08, 0x05, 0x05]),
        Link(name: "authorised", security: .none, isAuthorized: true, codes: [0x05, 0x05, 0, 0x05, 0x05]),
        Link(
            name: "bonded, not encrypted", security: BearerSecurity(hasLongTermKey: true),
            codes: [0x0F, 0x05, 0x08, 0x05, 0x05]),
        Link(
            name: "bonded with authentication, not encrypted, authorised",
            security: BearerSecurity(isAuthenticated: true, hasLongTermKey: true), isAuthorized: true,
            codes: [0x0F, 0x0F, 0, 0x0F, 0x0F]),
        Link(name: "encrypted", security: .encrypted, codes: [0, 0x05, 0x08, 0x05, 0x05]),
        Link(name: "encrypted with authentication", security: .authenticated, codes: [0, 0, 0x08, 0x08, 0x08]),
        Link(
            name: "encrypted with the unauthenticated key of a bond",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 16, hasLongTermKey: true, isBonded: true),
            codes: [0, 0x05, 0x08, 0x05, 0x05]),
        Link(
            name: "encrypted with the authenticated key of a bond",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 16, isAuthenticated: true, hasLongTermKey: true, isBonded: true),
            codes: [0, 0, 0x08, 0x08, 0]),
        Link(
            name: "encrypted with a key of 6 bytes",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 6, isAuthenticated: true, hasLongTermKey: true),
            isAuthorized: true, codes: [0x0C, 0x0C, 0, 0x0C, 0x0C]),
        Link(
            name: "encrypted with a key of 7 bytes",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 7, isAuthenticated: true, hasLongTermKey: true),
            isAuthorized: true, codes: [0, 0, 0, 0, 0x08]),
        Link(
            name: "encrypted with a key of 15 bytes where 16 are asked for",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 15, isAuthenticated: true, hasLongTermKey: true),
            isAuthorized: true, minimumKeySize: 16, codes: [0x0C, 0x0C, 0, 0x0C, 0x0C]),
    ]

    /// A path to a value: the PDUs with `T` for its type, and the response to the last one when access is granted.
    struct Path: Sendable {
        enum Refusal {
            /// An Error Response with the value's handle.
            case error
            /// Another response, as if the value did not exist.
            case answer(String)
        }

        var section: String
        var requests: [String]
        var granted: String
        var refused = Refusal.error
        /// Whether the path supports 128-bit types.
        var takesLongTypes = true
    }

    static let paths = [
        Path(section: "F §3.4.4.3 Read", requests: ["0A FEFF"], granted: "0B 02"),
        Path(section: "F §3.4.4.5 Read Blob", requests: ["0C FEFF 0000"], granted: "0D 02"),
        Path(section: "F §3.4.4.5 Read Blob, behind its end", requests: ["0C FEFF 0200"], granted: "01 0C FEFF 07"),
        Path(section: "F §3.4.4.1 Read By Type, first", requests: ["08 0400 FFFF T"], granted: "09 03 FEFF 02"),
        Path(
            section: "F §3.4.4.1 Read By Type, later", requests: ["08 0100 FFFF T"], granted: "09 03 0300 01 FEFF 02",
            refused: .answer("09 03 0300 01")),
        Path(
            section: "F §3.4.3.3 Find By Type Value", requests: ["06 0100 FFFF T 02"], granted: "07 FEFF FEFF",
            refused: .answer("01 06 0100 0A"), takesLongTypes: false),
        Path(section: "F §3.4.4.7 Read Multiple, first", requests: ["0E FEFF 0300"], granted: "0F 02 01"),
        Path(section: "F §3.4.4.7 Read Multiple, last", requests: ["0E 0300 FEFF"], granted: "0F 01 02"),
        Path(
            section: "F §3.4.4.11 Read Multiple Variable, first", requests: ["20 FEFF 0300"],
            granted: "21 0100 02 0100 01"),
        Path(
            section: "F §3.4.4.11 Read Multiple Variable, last", requests: ["20 0300 FEFF"],
            granted: "21 0100 01 0100 02"),
        Path(section: "F §3.4.5.1 Write", requests: ["12 FEFF 03"], granted: "13"),
        Path(
            section: "F §3.4.5.1 Write, too long", requests: ["12 FEFF 03040506"], granted: "01 12 FEFF 0D"),
        Path(section: "F §3.4.6.1 Prepare Write", requests: ["16 FEFF 0000 03"], granted: "17 FEFF 0000 03"),
        Path(
            section: "F §3.4.5.3 Write Command", requests: ["52 FEFF 03", "0A 0300"], granted: "0B 01",
            refused: .answer("0B 01")),
        Path(
            section: "F §3.4.5.4 Signed Write Command", requests: ["D2 FEFF 03 000000000000000000000000"],
            granted: "", refused: .answer("")),
        Path(
            section: "F §3.4.4.9 Read By Group Type, of its service", requests: ["10 0100 FFFF 0028"],
            granted: "11 06 0100 FFFF A0AA", refused: .answer("11 06 0100 FFFF A0AA")),
        Path(
            section: "F §3.4.3.1 Find Information, of its type", requests: ["04 FFFF FFFF"],
            granted: "05 01 FFFF 0229", refused: .answer("05 01 FFFF 0229")),
    ]

    static let types: [(uuid: BluetoothUUID, bytes: String)] = [
        (0xAAAA, "AAAA"), (ServerFixture.linble, "E8F37690FFB854915A46EB35CAC9AD27"),
    ]

    static func makeFixture(
        _ protection: Protection, on link: Link, mtu: Int, type: BluetoothUUID,
        value: AttributeValue = .stored([2])
    ) throws -> ServerFixture {
        let service = GATTService(
            0xAAA0,
            characteristics: [
                GATTCharacteristic(type, properties: .read, value: .stored([1])),
                GATTCharacteristic(
                    type, properties: [.read, .write, .notify, .indicate],
                    permissions: protection.permissions.union([.read, .write]), value: value,
                    valueLengths: 1...3, handle: 0xFFFD),
            ])
        var fixture = try ServerFixture(
            [service], mtu: mtu, security: link.security,
            limits: .init(minimumEncryptionKeySize: link.minimumKeySize))
        if link.isAuthorized { fixture.server.client.authorize(.all) }
        return fixture
    }

    @Test("a protected value is refused on every path", arguments: links, Rule.mtus)
    func paths(link: Link, mtu: Int) throws {
        for (protection, code) in zip(Protection.allCases, link.codes) {
            for path in Self.paths {
                for type in Self.types where path.takesLongTypes || type.bytes.count == 4 {
                    var fixture = try Self.makeFixture(protection, on: link, mtu: mtu, type: type.uuid)
                    var answer = ""
                    for request in path.requests {
                        answer = fixture.send(request.replacing("T", with: type.bytes))
                    }
                    let expected =
                        switch path.refused {
                        case _ where code == 0: hex(path.granted).hexadecimal
                        case .error: "01\(path.requests[0].prefix(2))FEFF\([code].hexadecimal)"
                        case .answer(let answer): hex(answer).hexadecimal
                        }
                    #expect(answer == expected, "\(path.section), \(protection)")
                    let isChanged = fixture.database.attribute(at: 0xFFFE)?.storedValue != [2]
                    let isWritten = path.requests[0].hasPrefix("52") || path.granted == "13"
                    #expect(isChanged == (isWritten && code == 0), "\(path.section), \(protection)")
                }
            }
        }
    }

    @Test("F §3.4.6.3: security lost after the preparation refuses all prepared writes", arguments: links)
    func execution(link: Link) throws {
        let strongest = Link(
            name: "everything",
            security: BearerSecurity(
                isEncrypted: true, encryptionKeySize: 16, isAuthenticated: true, hasLongTermKey: true, isBonded: true),
            isAuthorized: true, codes: [])
        for (protection, code) in zip(Protection.allCases, link.codes) {
            var fixture = try Self.makeFixture(protection, on: strongest, mtu: 23, type: 0xAAAA)
            #expect(fixture.send("16 FEFF 0000 03").hasPrefix("17"))
            fixture.server.security = link.security
            if !link.isAuthorized { fixture.server.client.endAuthorization(in: .all) }
            if link.minimumKeySize > 7 { continue }
            #expect(fixture.send("18 01") == (code == 0 ? "19" : "0118FEFF\([code].hexadecimal)"), "\(protection)")
            #expect(fixture.database.attribute(at: 0xFFFE)?.storedValue == (code == 0 ? [3] : [2]))
            #expect(fixture.send("18 01") == "19")
        }
    }

    @Test("G §4.10, §4.11: a value that a link may not read is not sent over it", arguments: links)
    func sending(link: Link) throws {
        for (protection, code) in zip(Protection.allCases, link.codes) {
            var fixture = try Self.makeFixture(protection, on: link, mtu: 23, type: 0xAAAA)
            #expect(fixture.send("12 FFFF 0300") == "13")
            let expected = code == 0 ? nil : GATTServerError.insufficientSecurity(0xFFFE, ATTErrorCode(code))
            #expect(throwing { _ = try fixture.encodeNotification(of: 0xFFFE, [9]) } == expected)
            #expect(fixture.written.hexadecimal == (code == 0 ? "1BFEFF09" : ""))
            #expect(throwing { _ = try fixture.encodeIndication(of: 0xFFFE, [9]) } == expected)
            #expect(fixture.written.hexadecimal == (code == 0 ? "1DFEFF09" : ""))
        }
    }
}

/// The error that `body` throws, or nil.
private func throwing(_ body: () throws -> Void) -> GATTServerError? {
    do {
        try body()
        return nil
    } catch {
        return error as? GATTServerError
    }
}
