// The snippets of Docs/Guide/Capture.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Capture.md
enum CapturePage {
    /// Capturing packets
    static func capturingPackets() async throws {
        let trace = try await PacketTrace.open("session.btsnoop")
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(trace: trace))
        // … scan, connect, read …
        await adapter.close()
        await trace.close()  // the file is complete when this returns
    }
}
