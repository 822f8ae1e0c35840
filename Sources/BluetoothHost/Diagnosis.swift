/// What stands between this program and Bluetooth, point by point, each with its fix.
public struct Diagnosis: Hashable, Sendable {
    /// How a point stands.
    public enum Verdict: String, Sendable {
        /// As it should be.
        case good = "OK"
        /// Works, but not everything does, or not always.
        case warning = "WARN"
        /// Keeps Bluetooth from working.
        case failure = "FAIL"
    }

    /// One point that was looked at.
    public struct Finding: Hashable, Sendable {
        /// What was looked at.
        public var subject: String
        /// How it stands.
        public var verdict: Verdict
        /// What was found.
        public var detail: String
        /// The exact fix, where one is needed.
        public var remedy: String?

        /// A finding from its parts.
        public init(_ subject: String, _ verdict: Verdict, _ detail: String, remedy: String? = nil) {
            self.subject = subject
            self.verdict = verdict
            self.detail = detail
            self.remedy = remedy
        }
    }

    /// The points in the order in which they are worth fixing.
    public var findings: [Finding]
    /// The adapters found.
    public var adapters: [AdapterInformation]

    package init(findings: [Finding] = [], adapters: [AdapterInformation] = []) {
        self.findings = findings
        self.adapters = adapters
    }

    /// Whether a program can scan and connect here, given that it powers the adapter on.
    public var isUsable: Bool { !findings.contains { $0.verdict == .failure } }
}
