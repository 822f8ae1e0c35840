/// The result of a diagnosis: each requirement of Bluetooth on this machine, with a fix where one is needed.
public struct Diagnosis: Hashable, Sendable {
    /// The verdict on one requirement.
    public enum Verdict: String, Sendable {
        /// The requirement is met.
        case good = "OK"
        /// It works, but not completely or not always.
        case warning = "WARN"
        /// Bluetooth does not work.
        case failure = "FAIL"
    }

    /// The finding about one requirement.
    public struct Finding: Hashable, Sendable {
        /// The requirement checked.
        public var subject: String
        /// The verdict.
        public var verdict: Verdict
        /// A description of what was found.
        public var detail: String
        /// The exact fix, where one is needed.
        public var remedy: String?

        /// Creates a finding from its parts.
        package init(_ subject: String, _ verdict: Verdict, _ detail: String, remedy: String? = nil) {
            self.subject = subject
            self.verdict = verdict
            self.detail = detail
            self.remedy = remedy
        }
    }

    /// The findings in the order in which they are worth fixing.
    public var findings: [Finding]
    /// The adapters found.
    public var adapters: [AdapterInformation]

    package init(findings: [Finding] = [], adapters: [AdapterInformation] = []) {
        self.findings = findings
        self.adapters = adapters
    }

    /// Whether a program can scan and connect here, provided that it powers the adapter on.
    public var isUsable: Bool { !findings.contains { $0.verdict == .failure } }
}
