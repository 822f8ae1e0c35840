import TestSupport
import Testing

import BluetoothGATT

/// A rule of the specification: the requests to ``ServerFixture/services`` and the responses, in hexadecimal, at the
/// minimum ATT_MTU and at a large one.
struct Rule: Sendable, CustomTestStringConvertible {
    /// The ATT_MTUs of each test.
    static let mtus = [23, 517]

    /// The section of the specification; `F` and `G` are the parts of Core Vol 3.
    let section: String
    /// The statement of the rule.
    let name: String
    let request: String
    /// The response at an ATT_MTU of 23; empty for none.
    let answer: String
    /// The response at an ATT_MTU of 517.
    let largeAnswer: String

    var testDescription: String { "\(section): \(name)" }

    func answer(mtu: Int) -> String { mtu == 23 ? answer : largeAnswer }
}

/// A row in a table of rules.
struct Row {
    let name: String
    let request: String
    let answer: String
    var large: String?

    init(_ name: String, _ request: String, _ answer: String, large: String? = nil) {
        (self.name, self.request, self.answer, self.large) = (name, request, answer, large)
    }
}

/// The rules of one section.
func rules(_ section: String, _ rows: [Row]) -> [Rule] {
    rows.map {
        Rule(
            section: section, name: $0.name, request: $0.request, answer: $0.answer, largeAnswer: $0.large ?? $0.answer)
    }
}

@Suite struct ServerRuleTests {
    static let all = DiscoveryRules.all + ReadingRules.all + WritingRules.all

    @Test("a request to a server on a new bearer", arguments: all, Rule.mtus)
    func rule(_ rule: Rule, mtu: Int) throws {
        var fixture = try ServerFixture(mtu: mtu)
        #expect(fixture.send(rule.request) == hex(rule.answer(mtu: mtu)).hexadecimal)
        #expect(!fixture.server.isWaitingForProgram)
    }
}
