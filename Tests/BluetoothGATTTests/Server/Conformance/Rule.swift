import TestSupport
import Testing

/// A rule of the specification: the requests to ``ServerFixture/services`` and the responses, in hexadecimal, at the
/// minimum ATT_MTU and at a large one.
struct Rule: Sendable, CustomTestStringConvertible {
    /// The ATT_MTUs of each test.
    static let mtus = [23, 517]

    /// The section of the specification; `F` and `G` are the parts of Core Vol 3.
    fileprivate(set) var section = ""
    /// The statement of the rule.
    let name: String
    let request: String
    /// The response at an ATT_MTU of 23; empty for none.
    let answer: String
    /// The response at an ATT_MTU of 517.
    let largeAnswer: String

    init(_ name: String, _ request: String, _ answer: String, large: String? = nil) {
        (self.name, self.request, self.answer, largeAnswer) = (name, request, answer, large ?? answer)
    }

    var testDescription: String { "\(section): \(name)" }

    func answer(mtu: Int) -> String { mtu == 23 ? answer : largeAnswer }
}

/// The rules of one section.
func rules(_ section: String, _ rules: [Rule]) -> [Rule] {
    rules.map { rule in
        var rule = rule
        rule.section = section
        return rule
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
