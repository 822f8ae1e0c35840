import BluetoothPrimitives
import Testing

@testable import BluetoothLE

/// The rules by which a key from pairing becomes a bond.
@Suite struct BondAdmissionTests {
    private static let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
    private static let other = BluetoothAddress(0xC0DE_0000_0002, kind: .random)

    private static func link(
        _ peer: BluetoothAddress, minimum: Int = 16, refusesJustWorks: Bool = false, mayReplace: Bool = true
    ) -> PairedLink {
        PairedLink(
            peer: peer, minimumNewKeySize: minimum, refusesJustWorks: refusesJustWorks, mayHavePaired: true,
            mayReplaceBond: mayReplace)
    }

    private static func key(
        _ kind: LongTermKey.Kind = .unauthenticated, size: Int = 16, value: UInt8 = 1
    ) throws -> LongTermKey {
        LongTermKey(
            address: own, kind: kind, isCentral: true, encryptionSize: size,
            value: try #require(SecurityKey([UInt8](repeating: value, count: 16))))
    }

    private static func objection(
        to key: LongTermKey, replacing bond: LongTermKey? = nil, on links: PairedLink...
    ) -> NewBondKey.Objection? {
        let bond = bond.map { Bond(identity: own, longTermKeys: [$0]) }
        return NewBondKey(key: key, bond: bond, links: links).objection
    }

    @Test func aNewBondIsMade() throws {
        #expect(Self.objection(to: try Self.key(), on: Self.link(Self.own)) == nil)
        #expect(Self.objection(to: try Self.key(), on: Self.link(Self.other)) == nil, "its first address was private")
        #expect(Self.objection(to: try Self.key(size: 7), on: Self.link(Self.own, minimum: 7)) == nil)
    }

    @Test(arguments: [7, 15])
    func aShortKeyIsNotStored(_ size: Int) throws {
        let link = Self.link(Self.own)
        #expect(Self.objection(to: try Self.key(size: size), on: link) == .failure(.keyTooShort))
        let bond = try Self.key(value: 2)
        #expect(Self.objection(to: try Self.key(size: size), replacing: bond, on: link) == .failure(.keyTooShort))
        #expect(Self.objection(to: try Self.key(size: size)) == .isForeign)
    }

    @Test func anIdentityIsProven() throws {
        let bond = try Self.key(value: 2)
        #expect(
            Self.objection(to: try Self.key(), replacing: bond, on: Self.link(Self.other)) == .failure(.identityClaimed)
        )
        #expect(
            Self.objection(to: try Self.key(), replacing: bond, on: Self.link(Self.own), Self.link(Self.other))
                == .failure(.identityClaimed))
        // The device of that address is there, not bonded.
        #expect(
            Self.objection(to: try Self.key(), on: Self.link(Self.own), Self.link(Self.other))
                == .failure(.identityClaimed))
    }

    @Test(
        arguments: [
            (.authenticated, .unauthenticated), (.authenticated, .authenticatedLegacy),
            (.unauthenticated, .unauthenticatedLegacy),
            (.authenticatedLegacy, .unauthenticatedLegacy), (.authenticatedLegacy, .unauthenticated),
        ] as [(LongTermKey.Kind, LongTermKey.Kind)])
    func lessReplacesNothing(_ before: LongTermKey.Kind, _ kind: LongTermKey.Kind) throws {
        let bond = try Self.key(before, value: 2)
        #expect(
            Self.objection(to: try Self.key(kind), replacing: bond, on: Self.link(Self.own)) == .failure(.keyMissing))
    }

    @Test func moreMayReplaceABond() throws {
        let kinds: [LongTermKey.Kind] = [.unauthenticatedLegacy, .unauthenticated, .authenticated]
        for (before, kind) in zip(kinds, kinds.dropFirst()) {
            let bond = try Self.key(before, value: 2)
            #expect(Self.objection(to: try Self.key(kind), replacing: bond, on: Self.link(Self.own)) == nil)
        }
    }

    @Test func aShorterKeyReplacesNothing() throws {
        let link = Self.link(Self.own, minimum: 7)
        let (long, short) = (try Self.key(value: 2), try Self.key(size: 15))
        #expect(Self.objection(to: short, replacing: long, on: link) == .failure(.keyMissing))
        #expect(Self.objection(to: long, replacing: short, on: link) == nil)
    }

    @Test func nothingIsReplacedInSilence() throws {
        let (bond, key) = (try Self.key(value: 2), try Self.key())
        let silent = Self.link(Self.own, mayReplace: false)
        #expect(Self.objection(to: key, replacing: bond, on: silent) == .failure(.keyMissing))
        #expect(Self.objection(to: key, replacing: bond, on: Self.link(Self.own)) == nil)
        #expect(Self.objection(to: bond, replacing: bond, on: silent) == nil, "it is the same key")
        // The pairing of another program.
        #expect(Self.objection(to: key, replacing: bond) == .isForeign)
        #expect(Self.objection(to: key) == .isForeign)
        #expect(NewBondKey(key: key, bond: nil, links: [], isOwn: true).objection == nil, "its link has ended")
        // Legacy pairing makes a key for each role, and only then one joins a bond without a link.
        var other = try Self.key(.unauthenticatedLegacy, value: 2)
        other.isCentral = false
        let legacy = Bond(identity: Self.own, longTermKeys: [other])
        let second = try Self.key(.unauthenticatedLegacy)
        for isSecond in [false, true] {
            let new = NewBondKey(key: second, bond: legacy, links: [], isOwn: true, isSecond: isSecond)
            #expect(new.objection == (isSecond ? nil : .isForeign))
        }
    }

    @Test func aPasskeyIsExpected() throws {
        let link = Self.link(Self.own, refusesJustWorks: true)
        #expect(Self.objection(to: try Self.key(), on: link) == .failure(.insufficientLevel))
        #expect(Self.objection(to: try Self.key(.authenticated), on: link) == nil)
    }

    @Test func noticesAreLimited() {
        var refusals = PairingRefusals()
        let start = KernelInstant(nanoseconds: 0)
        for _ in 0..<10 { #expect(refusals.nextNotice(at: start) == (true, 0)) }
        for _ in 0..<500 { #expect(refusals.nextNotice(at: start.advanced(by: .seconds(59))) == (false, 0)) }
        #expect(refusals.nextNotice(at: start.advanced(by: .seconds(60))) == (true, 500))
        #expect(refusals.nextNotice(at: start.advanced(by: .seconds(60))) == (true, 0))
    }

    @Test func aRefusedKeyIsRecentForASecond() {
        var refusals = PairingRefusals()
        let start = KernelInstant(nanoseconds: 0)
        #expect(!refusals.isRecent(Self.own, at: start))
        refusals.refused(Self.own, at: start)
        #expect(refusals.isRecent(Self.own, at: start.advanced(by: .milliseconds(999))))
        #expect(!refusals.isRecent(Self.own, at: start.advanced(by: .seconds(1))))
        #expect(!refusals.isRecent(Self.other, at: start))
    }

    @Test func theBondLongestUnusedMakesRoom() throws {
        func bond(_ number: UInt64, _ kind: LongTermKey.Kind, paired: UInt64, used: UInt64?) throws -> Bond {
            var bond = Bond(
                identity: BluetoothAddress(0xC0DE_0000_0000 + number, kind: .random),
                longTermKeys: [try Self.key(kind)], time: paired)
            bond.lastUse = used
            return bond
        }
        let bonds = [
            try bond(1, .unauthenticated, paired: 10, used: 90), try bond(2, .unauthenticated, paired: 20, used: nil),
            try bond(3, .authenticated, paired: 1, used: 5), try bond(4, .unauthenticated, paired: 2, used: 3),
        ]
        let limit = BondLimit(4, whenFull: .replaceLongestUnused)
        func displaced(_ isAuthenticated: Bool, connected: Int? = nil) -> Int? {
            limit.displaced(from: bonds, forAuthenticated: isAuthenticated) { identity in
                connected.map { bonds[$0 - 1].identity == identity } ?? false
            }.flatMap { bond in bonds.firstIndex(of: bond).map { $0 + 1 } }
        }
        #expect(displaced(false) == 4)
        #expect(displaced(false, connected: 4) == 2)
        #expect(displaced(true, connected: 4) == 3)
    }
}
